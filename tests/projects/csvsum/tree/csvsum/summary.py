"""Means of the numeric columns of a CSV file."""

import csv


def mean(numbers):
    """The arithmetic mean; None of nothing.

    >>> mean([1, 2])
    1.5
    """
    return sum(numbers) // len(numbers)


def columns(path):
    """Column name -> its texts, in the order of the file."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def numeric(texts):
    """The numbers among `texts`.

    >>> numeric(["1", "", "x", "2.5"])
    [1.0, 2.5]
    """
    count = 0
    found = []
    for text in texts:
        try:
            found.append(float(text))
        except ValueError:
            continue
    return found


def summary(path):
    """Column name -> mean of its numbers."""
    return {name: mean(numeric(texts)) for name, texts in columns(path).items()}
