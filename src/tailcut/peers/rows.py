"""The rows: other people's selectors with the settings that serve them best on our representation and loss.

docs/background/peers.md says on which seeds the settings were chosen; it reports others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tailcut.peers import ASF_EXTRA, EXTRA
from tailcut.peers.bandits import ByProbability, MabWiser, RiverForests, VowpalWabbit
from tailcut.peers.forests import (
    AsfMultiClass,
    AsfPairwise,
    AsfPerformance,
    BestLabelForest,
    PairwiseForests,
    RefittedTrees,
)
from tailcut.peers.schedules import Exp3Medley, NearestMedley, OnlineGreedy, ThompsonMedley
from tailcut.policies.censoring import AtMaximumLoss
from tailcut.policies.exploration import ForcedExploration, Greedy
from tailcut.policies.losses import BoundedLoss
from tailcut.policies.recipes import Recipe, ScheduleRecipe

EXTRA_TREES = Recipe(
    name="extra_trees",
    summary="scikit-learn's extra trees per algorithm, fitted again every ten outcomes, on our bounded loss",
    libraries=("sklearn",),
    extra=EXTRA,
    representation="trees",
    model=RefittedTrees,
    censoring=AtMaximumLoss,
    exploration=Greedy,
    target=BoundedLoss,
    first_runs=partial(ForcedExploration, in_order=False),
    hyperparameters={"solved_share": 0.3, "trees": 20, "refit": 10, "pace": 1.0},
)
"""Learns our bounded loss and is followed greedily, as most of the others."""
VW = replace(
    EXTRA_TREES,
    name="vw",
    summary="Vowpal Wabbit: cb_explore_adf, epsilon-greedy, on our bounded loss",
    libraries=("vowpalwabbit",),
    representation="standardised",
    model=partial(VowpalWabbit, explorer="epsilon", cb_type="mtr"),
    exploration=ByProbability,
    first_runs=partial(ForcedExploration, pace=0.0),  # what it did not choose itself, it could not weigh
    hyperparameters={"solved_share": 0.3, "explore": 0.02, "learning_rate": 2.0},
)
VW_SQUARECB = replace(
    VW,
    name="vw_squarecb",
    summary="Vowpal Wabbit: cb_explore_adf with SquareCB, on our bounded loss",
    model=partial(VowpalWabbit, explorer="squarecb", cb_type="mtr"),
    hyperparameters={**VW.hyperparameters, "explore": 1000.0},
)
MABWISER_LINGREEDY = replace(
    EXTRA_TREES,
    name="mabwiser_lingreedy",
    summary="MABWiser's LinGreedy: a ridge per algorithm, on our bounded loss",
    libraries=("mabwiser",),
    representation="standardised",
    model=partial(MabWiser, learning_policy="LinGreedy"),
    hyperparameters={"solved_share": 0.3, "ridge": 30.0, "pace": 1.0},
)
MABWISER_LINUCB = replace(
    MABWISER_LINGREEDY,
    name="mabwiser_linucb",
    summary="MABWiser's LinUCB: a ridge per algorithm, upper bounds, on our bounded loss",
    model=partial(MabWiser, learning_policy="LinUCB"),
    hyperparameters={**MABWISER_LINGREEDY.hyperparameters, "alpha": 0.03},
)
MABWISER_LINTS = replace(
    MABWISER_LINGREEDY,
    name="mabwiser_lints",
    summary="MABWiser's LinTS: a ridge per algorithm, draws of its weights, on our bounded loss",
    model=partial(MabWiser, learning_policy="LinTS"),
    hyperparameters={**MABWISER_LINGREEDY.hyperparameters, "alpha": 0.03},
)
RIVER_FORESTS = replace(
    EXTRA_TREES,
    name="river_forests",
    summary="river's adaptive random forest per algorithm, one outcome at a time, on our bounded loss",
    libraries=("river",),
    representation="centred",
    model=RiverForests,
    hyperparameters={"solved_share": 0.3, "trees": 10, "pace": 1.0},
)
MEDLEY_NEAREST = ScheduleRecipe(
    name="medley_nearest",
    summary="MedleySolver's nearest neighbours: who solved similar instances, exponential runtimes",
    representation="standardised",
    policy=NearestMedley,
    hyperparameters={"confidence": 0.95, "neighbours": 10, "explore": 0.9},
)
MEDLEY_THOMPSON = ScheduleRecipe(
    name="medley_thompson",
    summary="MedleySolver's Thompson sampling: draws of the share solved, exponential runtimes",
    representation="none",
    policy=ThompsonMedley,
    hyperparameters={"confidence": 0.95},
)
MEDLEY_EXP3 = ScheduleRecipe(
    name="medley_exp3",
    summary="MedleySolver's Exp3: draws from its probabilities, exponential runtimes",
    representation="none",
    policy=Exp3Medley,
    hyperparameters={"confidence": 0.95, "gamma": 0.07},
)
ONLINE_GREEDY = ScheduleRecipe(
    name="online_greedy",
    summary="The online greedy schedule of Streeter and Golovin: a bandit for each slot, features unseen",
    policy=OnlineGreedy,
    hyperparameters={"gamma": 0.1, "slots": 32},
)
PAIRWISE_FORESTS = replace(
    EXTRA_TREES,
    name="pairwise_forests",
    summary="Offline, like SATzilla: a cost-sensitive forest per pair of algorithms votes; by `fit` alone",
    model=PairwiseForests,
    hyperparameters={"solved_share": 0.3, "trees": 25},
)
BEST_LABEL_FOREST = replace(
    EXTRA_TREES,
    name="best_label_forest",
    summary="Offline: a forest that names the best algorithm, multi-class classification; by `fit` alone",
    model=BestLabelForest,
    hyperparameters={"solved_share": 0.3, "trees": 100},
)
ASF_MULTI_CLASS = replace(
    BEST_LABEL_FOREST,
    name="asf_multi_class",
    summary="Offline, ASF's MultiClassClassifier on a random forest, on our bounded loss; by `fit` alone",
    libraries=("asf", "sksurv", "clingo"),
    extra=ASF_EXTRA,
    model=AsfMultiClass,
)
ASF_PAIRWISE = replace(
    ASF_MULTI_CLASS,
    name="asf_pairwise",
    summary="Offline, ASF's PairwiseClassifier on random forests, on our bounded loss; by `fit` alone",
    model=AsfPairwise,
    hyperparameters={"solved_share": 0.3, "trees": 25},
)
ASF_PERFORMANCE = replace(
    ASF_MULTI_CLASS,
    name="asf_performance",
    summary="Offline, ASF's PerformanceModel: a forest per algorithm, on our bounded loss; by `fit` alone",
    model=AsfPerformance,
    hyperparameters={"solved_share": 0.3, "trees": 25},
)
