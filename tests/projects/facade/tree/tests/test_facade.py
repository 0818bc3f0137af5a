from facade import api


def test_price_is_part_of_the_api():
    assert api.price(1000, 20) == 1200


def test_vat():
    assert api.vat(1000, 20) == 200


def test_receipt():
    assert api.receipt(1000, 20) == "1000 + 200 VAT"
