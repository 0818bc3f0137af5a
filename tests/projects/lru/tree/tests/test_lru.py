import pytest

from lru import Cache
from lru.report import grade


def test_what_was_put_is_got():
    cache = Cache(2)
    cache.put("a", 1)
    assert (cache.get("a"), cache.get("b", 0)) == (1, 0)
    assert (cache.hits, cache.misses) == (1, 1)


def test_the_oldest_entry_goes():
    cache = Cache(2)
    for key in "abc":
        cache.put(key, key)
    assert len(cache) == 2
    assert cache.get("a") is None


def test_a_read_keeps_an_entry():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.get("a") == 1
    assert cache.get("b") is None


def test_no_empty_cache():
    with pytest.raises(ValueError, match="positive"):
        Cache(0)


@pytest.mark.parametrize(("hits", "word"), [(95, "excellent"), (10, "useless")])
def test_grades(hits, word):
    assert grade(hits, 100 - hits) == word
