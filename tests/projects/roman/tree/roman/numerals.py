"""Roman numerals from 1 to 3999."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
PARTS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def to_number(numeral):
    """The number `numeral` stands for; raises KeyError for other letters."""
    values = [VALUES[letter] for letter in numeral]
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += value
    return total


def from_number(number):
    """The shortest numeral; raises ValueError outside 1..3999."""
    if not 0 <= number < 4000:
        raise ValueError('{} is out of range'.format(number))
    letters = []
    for value, part in PARTS:
        count, number = divmod(number, value)
        letters.append(part * count)
    return "".join(letters)
