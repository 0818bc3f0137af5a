"""`coderefine demo`: make a small faulty repository and repair it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from coderefine import proc
from coderefine.app.project import find_project
from coderefine.app.request import Destination, Request
from coderefine.cli.fix import run_and_report
from coderefine.cli.screen import screen
from coderefine.errors import SurroundingsError, UsageError


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print only the folder's name; the exit code is the result.")
@click.option("--no-model", is_flag=True, help="Use no model, even with a key in the environment.")
def demo(folder: Path | None, *, quiet: bool, no_model: bool) -> int:
    """Make a small git repository with failing tests and lint (in FOLDER, default: a temporary one) and fix it."""
    place = _made(folder)
    click.echo(f"made      {place}: two modules, three bugs, two lint findings")
    settings = {"python": sys.executable, "message": "fix: repair the shop"}
    request = Request(("demo",), settings, Destination(commit=True), model=not no_model)
    with screen(quiet=quiet, format_="text", diff=True) as display:
        code = run_and_report(find_project((str(place),), settings, display.listen), request, display)
    click.echo(f"look      git -C {place} show")
    return code


def _made(folder: Path | None) -> Path:
    """Create the repository with one commit."""
    place = Path(tempfile.mkdtemp(prefix="coderefine-demo-")) if folder is None else folder.absolute()
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty; name a folder that does not exist yet")
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    steps = (
        ("init", "--quiet"),
        ("config", "user.name", "coderefine demo"),
        ("config", "user.email", "demo@localhost"),
        ("add", "--all"),
        ("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "--message", "A shop with faults"),
    )
    for step in steps:
        result = proc.run(("git", *step), cwd=place, env=proc.clean_env({"PATH": os.environ.get("PATH", "")}))
        if result.returncode:
            raise SurroundingsError(f"git {step[0]} failed in {place}: {result.complaint}")
    return place


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
