"""Models: predictions for every algorithm on an instance.

All have the methods of `tailcut.models.model.Model`: predict all algorithms at once, look at one, update
one, add or remove one, widen.
"""

from tailcut.models.forests import Forests
from tailcut.models.layers import Layers
from tailcut.models.least_squares import LeastSquares
from tailcut.models.means import RunningMeans
from tailcut.models.model import Model, Nothing
from tailcut.models.ridge import RidgeBank

__all__ = ["Forests", "Layers", "LeastSquares", "Model", "Nothing", "RidgeBank", "RunningMeans"]
