"""From raw features to the vector a model sees: parts that combine into a pipeline.

Raw features may be missing (nan) and of any finite size; the result is finite. Running statistics learn from
each instance before it is transformed. They need no outcome, so late or missing feedback does not affect
them.

>>> import numpy as np
>>> represent = pipeline("paper", n_features=2)
>>> represent(np.array([3.0, 4.0])).tolist()
[0.6, 0.8]
>>> represent(np.array([np.nan, 4.0])).tolist()  # 3 is the mean of the first feature so far
[0.6, 0.8]
"""

from tailcut.representation.elementary import Ignore, Intercept, MarkMissing, SignedLog, UnitNorm
from tailcut.representation.impute import ImputeMean
from tailcut.representation.part import Part, Pipeline, Views
from tailcut.representation.standardise import Standardise
from tailcut.representation.twofold import Twofold

PIPELINES: dict[str, tuple[type[Part], ...]] = {
    "none": (Ignore,),
    "paper": (ImputeMean, UnitNorm),
    "standardised": (SignedLog, Standardise, Intercept),
    "centred": (SignedLog, Standardise),
    "twofold": (SignedLog, Twofold),
    "trees": (SignedLog, MarkMissing),
}
"""Named combinations. A new one is one more line here."""


def pipeline(name: str, n_features: int) -> Pipeline:
    """Return a fresh pipeline of the combination called `name`."""
    return Pipeline([part() for part in PIPELINES[name]], n_features)


__all__ = [
    "PIPELINES",
    "Ignore",
    "ImputeMean",
    "Intercept",
    "MarkMissing",
    "Part",
    "Pipeline",
    "SignedLog",
    "Standardise",
    "Twofold",
    "UnitNorm",
    "Views",
    "pipeline",
]
