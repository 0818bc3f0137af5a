import pytest

from urls.parse import port, query, unescaped


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", [], id="none"),
        pytest.param("a=1&b=2", [("a", "1"), ("b", "2")], id="two"),
        pytest.param("a=b=c", [("a", "b=c")], id="equals"),
        pytest.param("q=a%20b", [("q", "a b")], id="escaped"),
    ],
)
def test_query(text, wanted):
    assert query(text) == wanted


def test_unescaped():
    assert unescaped("a+b%21") == "a b!"


CASES = [("http://a.example/", 80), ("https://a.example:8443/x", 8443), ("http://[::1]:8080/", 8080)]


@pytest.mark.parametrize(("url", "wanted"), CASES, ids=["plain", "given", "http://[::1]:8080/-port2"])
def test_ports(url, wanted):
    assert port(url) == wanted


def test_a_url_needs_a_host():
    with pytest.raises(ValueError, match="no host"):
        port("http:///x")
