"""Small dense matrices."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Matrix:
    rows: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, *rows):
        if len({len(row) for row in rows}) > 1:
            raise ValueError("rows differ in length")
        return cls(tuple(tuple(row) for row in rows))

    def __len__(self):
        return len(self.rows)

    @property
    def width(self):
        return len(self.rows[0]) if self.rows else 0

    def column(self, index):
        return tuple(row[index] for row in self.rows)


def product(left, right):
    if left.width != len(right):
        raise ValueError("shapes do not fit")
    return Matrix.of(*[[dot(row, right.column(j)) for j in range(len(right))] for row in left.rows])


def dot(row, column):
    return sum(a * b for a, b in zip(row, column))


def transposed(matrix):
    return Matrix.of(*(matrix.column(index) for index in range(matrix.width)))
