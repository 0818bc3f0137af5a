import pytest

from matrix.dense import Matrix, product, transposed


def test_a_square_product():
    assert product(Matrix.of((1, 2), (3, 4)), Matrix.of((0, 1), (1, 0))) == Matrix.of((2, 1), (4, 3))


def test_a_product_of_unlike_shapes():
    assert product(Matrix.of((1, 2), (3, 4)), Matrix.of((5,), (6,))) == Matrix.of((17,), (39,))


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="fit"):
        product(Matrix.of((1, 2)), Matrix.of((1, 2)))


def test_transposed():
    assert transposed(Matrix.of((1, 2, 3))) == Matrix.of((1,), (2,), (3,))


def test_ragged_rows_are_refused():
    with pytest.raises(ValueError, match="differ"):
        Matrix.of((1,), (1, 2))
