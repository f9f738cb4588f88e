"""Tags of instances as features: what the user knows about an instance but its file does not show.

A selector's features are fixed by its first instance, but new tags may appear at any time. So tags are
hashed: `family=bmc` adds +1 or -1 to one of a few features. Two tags may share a feature, with the same sign
or different ones; such instances may still differ in other features.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

PLACES_OF_TAGS = 16
"""The number of features for all tags together."""
TAG_FEATURES = tuple(f"tag {number}" for number in range(PLACES_OF_TAGS))


def tag_features(tags: Mapping[str, str]) -> dict[str, float]:
    """Return the features of tags; all are 0 if there are none.

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
    """Return computed features and those of tags, with the names that the selector knows.

    If it knows none yet, features of tags are added if the instance has tags, or `always`. Absent ones are
    nan.
    """
    if known is None:
        return {**values, **tag_features(tags)} if tags or always else dict(values)
    every = {**values, **tag_features(tags)}
    return {name: every.get(name, math.nan) for name in known}
