from pathlib import Path

from csvsum.summary import columns, summary

DATA = Path(__file__).with_name("data") / "prices.csv"


def test_columns_keep_their_order():
    assert list(columns(DATA)) == ["article", "price", "stock", "remark"]


def test_means():
    found = summary(DATA)
    assert (found["price"], found["stock"]) == (5.75, 3.5)


def test_an_empty_column():
    assert summary(DATA)["remark"] is None
