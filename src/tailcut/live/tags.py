"""Tags of instances as features: what the user knows about an instance and no file says.

A selector's features are fixed with its first instance, but new tags may come at any time. So tags are
hashed: `family=bmc` is +1 or -1 in one of a few places. Two tags may share a place, with different signs or
the same; by the other features such instances may still differ.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

PLACES_OF_TAGS = 16
"""Features that stand for all tags together."""
TAG_FEATURES = tuple(f"tag {number}" for number in range(PLACES_OF_TAGS))


def tag_features(tags: Mapping[str, str]) -> dict[str, float]:
    """Return the features that stand for tags; all are 0 where there is none.

    >>> found = tag_features({"family": "bmc"})
    >>> {name: value for name, value in found.items() if value}
    {'tag 15': 1.0}
    """
    values = dict.fromkeys(TAG_FEATURES, 0.0)
    for name, value in tags.items():
        digest = hashlib.sha256(f"{name}={value}".encode(errors="surrogateescape")).digest()
        values[TAG_FEATURES[digest[0] % PLACES_OF_TAGS]] += 1.0 if digest[1] % 2 else -1.0
    return values


def with_tags(
    values: Mapping[str, float], tags: Mapping[str, str], known: Sequence[str] | None, *, always: bool = False
) -> dict[str, float]:
    """Return computed features together with those of tags, by the names that the selector knows.

    While it knows none, tags have features if the instance has tags, or `always`. What is absent is nan.
    """
    if known is None:
        return {**values, **tag_features(tags)} if tags or always else dict(values)
    every = {**values, **tag_features(tags)}
    return {name: every.get(name, math.nan) for name in known}
