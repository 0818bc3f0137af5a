"""A small part of RFC 3986."""

import re

PORTS = {"http": 80, "https": 443}


def unescaped(text):
    """`text` with %XX and + read as what they stand for (ASCII only)."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text.replace("+", " "))


def query(text):
    """`a=1&b=2` as pairs, in order."""
    found = []
    for pair in text.split("&"):
        if not pair:
            continue
        name, _, value = pair.rpartition("=")
        found.append((unescaped(name), value))
    return found


def port(url):
    """The port of an absolute URL; the scheme's own when it names none."""
    scheme, _, rest = url.partition("://")
    place = rest.split("/", 1)[0]
    host, _, digits = place.partition(":")
    if not host:
        raise ValueError(f"no host in {url}")
    return int(digits) if digits else PORTS[scheme]
