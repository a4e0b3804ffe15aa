"""Adapters to search engines that run on machines of their own, behind the same protocol as our indexes.

Names are imported when they are first used; each engine needs the extra of its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridrank.lazy import lazy_names

if TYPE_CHECKING:
    from hybridrank.engines.milvus import MilvusIndex

_HOME_OF = {"MilvusIndex": "milvus"}

__all__ = ["MilvusIndex"]

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
