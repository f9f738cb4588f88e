"""Models: predictions for every algorithm on an instance.

All have the methods of `tailcut.models.model.Model`: predict all algorithms or one, learn an outcome of
one, add or remove one, accept features that arrive later.
"""

from tailcut.models.model import Model, Nothing, RunningMeans
from tailcut.models.refitted import Forests, LeastSquares
from tailcut.models.residual_layers import ResidualLayers
from tailcut.models.ridge import RidgeBank

__all__ = ["Forests", "LeastSquares", "Model", "Nothing", "ResidualLayers", "RidgeBank", "RunningMeans"]
