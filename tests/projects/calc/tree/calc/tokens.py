"""Text to tokens."""


def tokens(text):
    """Numbers as floats, operators and brackets as strings; raises ValueError for anything else."""
    found = []
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == "+" or letter == "-" or letter == "*" or letter == "/":
            found.append(letter)
            index += 1
        elif letter == "(" or letter == ")":
            found.append(letter)
            index += 1
        elif letter.isspace():
            index += 1
        elif letter.isdigit() or letter == ".":
            start = index
            while index < len(text) and (text[index].isdigit() or text[index] == "."):
                index += 1
            found.append(float(text[start:index]))
        else:
            raise ValueError(f"{letter!r} at {index}")
    return found
