import pytest

from cart import Basket


@pytest.fixture
def basket():
    return Basket([])


def test_an_empty_basket_costs_nothing(basket):
    assert basket.total() == 0


def test_one_article(basket):
    basket.add("pen", 250)
    assert basket.total() == 250


def test_quantities_count(basket):
    basket.add("pen", 250, 3)
    basket.add("ink", 900)
    assert basket.subtotal() == 1650


def test_removed_articles_cost_nothing(basket):
    basket.add("pen", 250)
    basket.add("ink", 900)
    basket.remove("ink")
    assert basket.total() == 250


def test_discount_from_a_hundred_on(basket):
    basket.add("desk", 10_000)
    assert basket.total() == 9_000


def test_no_negative_quantities(basket):
    with pytest.raises(ValueError, match="positive"):
        basket.add("pen", 250, 0)
