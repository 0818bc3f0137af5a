"""Closed integer intervals as (start, end) pairs."""


def merge(intervals):
    """The fewest intervals that cover the same numbers, in ascending order."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def covers(intervals, number):
    return any(start <= number <= end for start, end in intervals)


def gaps(intervals):
    """What lies strictly between neighbours."""
    found = []
    for (_, left), (right, _) in zip(intervals, intervals[1:], strict=False):
        if right - left > 1:
            found.append((left + 1, right - 1))
    return found
