"""The order of a stream: family by family is the worst order to learn in, so it can be shuffled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tailcut.live.instances import Instance
from tailcut.live.measure_first import in_random_order

_ENOUGH = 20
"""With fewer instances, the order is not worth a warning."""
_SHOWN = 3


def shuffled(instances: Sequence[Instance], seed: int) -> list[Instance]:
    """Return instances in a random order, which depends on the seed and on each name alone."""
    by_name = {one.name: one for one in instances}
    return [by_name[name] for name in in_random_order(list(by_name), seed)]


def family_of(instance: Instance) -> str:
    """Return the beginning of a name: its folder, and its letters up to the first digit.

    >>> from pathlib import Path
    >>> family_of(Instance("sat/bmc-ibm-12.cnf", Path("/sat/bmc-ibm-12.cnf")))
    'sat/bmc-ibm-'
    """
    folder, slash, name = instance.name.rpartition("/")
    return folder + slash + re.split(r"\d", name, maxsplit=1)[0]


def families_in_order(instances: Sequence[Instance]) -> list[str]:
    """Return the families if instances come one family after the other, judging by names; otherwise none.

    >>> from pathlib import Path
    >>> names = [f"{family}{n}.cnf" for family in "ab" for n in range(10)]
    >>> instances = [Instance(name, Path("/") / name) for name in names]
    >>> families_in_order(instances), families_in_order(shuffled(instances, seed=0))
    (['a', 'b'], [])
    """
    families = [family_of(one) for one in instances]
    count = len(families)
    shares = Counter(families)
    if count < _ENOUGH or len(shares) < 2:
        return []
    by_chance = (count - 1) * (1.0 - sum(n * n for n in shares.values()) / count**2)
    changes = sum(one != other for one, other in pairwise(families))
    return list(shares) if changes < by_chance / 2.0 else []


def words_on_order(instances: Sequence[Instance]) -> str | None:
    """Return a sentence for the user if the order is bad to learn in, else None."""
    families = families_in_order(instances)
    if not families:
        return None
    more = ", ..." if len(families) > _SHOWN else ""
    shown = ", ".join(f"{one}*" for one in families[:_SHOWN]) + more
    return f"the instances come family by family ({shown}), the worst order to learn in: --shuffle mixes them"
