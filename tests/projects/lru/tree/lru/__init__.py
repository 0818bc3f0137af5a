from lru.cache import Cache

__all__ = ["Cache"]
