"""A cache that drops what was not used for the longest time."""

from collections import OrderedDict


class Cache:
    def __init__(self, size):
        if size < 1:
            raise ValueError("size must be positive")
        self._size = size
        self._entries = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key, default=None):
        if key not in self._entries:
            self.misses += 1
            return default
        self.hits += 1
        return self._entries[key]

    def put(self, key, value):
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def __len__(self):
        return len(self._entries)
