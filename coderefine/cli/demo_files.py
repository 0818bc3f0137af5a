"""The small faulty repository that `coderefine demo` makes: three bugs, two lint findings, in two modules."""

CART = '''\
"""A shopping cart; prices are in cents."""

import os
from dataclasses import dataclass, field

FREE_SHIPPING = 5000
SHIPPING = 490


@dataclass
class Cart:
    lines: list = field(default_factory=list)

    def add(self, name, price, quantity=1):
        self.lines.append((name, price, quantity))

    def subtotal(self):
        return sum(price * quantity for _, price, quantity in self.lines)

    def shipping(self):
        """Free for an empty cart, and from FREE_SHIPPING on."""
        if not self.lines or self.subtotal() > FREE_SHIPPING:
            return 0
        return SHIPPING

    def receipt(self):
        head = f"Your order"
        rows = [f"{quantity} x {name}" for name, _, quantity in self.lines]
        return "\\n".join([head, *rows])
'''

STOCK = '''\
"""What lies in the warehouse."""


def short(levels, minimum):
    """Names of what is below `minimum`, the scarcest first."""
    missing = {name: minimum - count for name, count in levels.items() if count <= minimum}
    return sorted(missing, key=missing.get, reverse=True)


def batches(items, size):
    """`items` cut into lists of `size`; the last one may be shorter."""
    return [items[start : start + size] for start in range(0, len(items) - 1, size)]
'''

TEST_CART = """\
from shop.cart import Cart


def cart(*prices):
    made = Cart()
    for number, price in enumerate(prices):
        made.add(f"item {number}", price)
    return made


def test_subtotal():
    assert cart(100, 250).subtotal() == 350


def test_an_empty_cart_ships_free():
    assert cart().shipping() == 0


def test_a_small_cart_pays_shipping():
    assert cart(4999).shipping() == 490


def test_free_shipping_from_fifty_on():
    assert cart(5000).shipping() == 0


def test_receipt():
    assert cart(100).receipt() == "Your order\\n1 x item 0"
"""

TEST_STOCK = """\
from shop.stock import batches, short


def test_nothing_is_short():
    assert short({"tea": 9}, 5) == []


def test_scarcest_first():
    assert short({"tea": 4, "salt": 1, "rice": 5}, 5) == ["salt", "tea"]


def test_even_batches():
    assert batches([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]


def test_the_last_batch_may_be_short():
    assert batches([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]


def test_no_items_no_batches():
    assert batches([], 3) == []
"""

PYPROJECT = """\
[project]
name = "shop"
version = "0"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "shop/__init__.py": '"""A shop."""\n',
    "shop/cart.py": CART,
    "shop/stock.py": STOCK,
    "tests/test_cart.py": TEST_CART,
    "tests/test_stock.py": TEST_STOCK,
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
}
