"""Solvers by name: the registered ones, and those of the papers if these are installed."""

from importlib.util import find_spec

from support.registered import ESTIMATORS, class_of
from support.targets import FREE
from tailguard.solvers.newton.schedule import Shares
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.registry import SOLVERS as REGISTERED

# The default method with an eighth of its rounds, for tests that need no accurate fit.
FEW_ROUNDS = WhitenedNewton(shares=Shares(constant=0.01, rounds=(1, 1, 2, 4)))


def _of_papers():
    if find_spec("tailguard.papers") is None:
        return {}
    from tailguard.papers import asi2024, solvers

    kinds = [asi2024.PopulationLocalised, *(getattr(solvers, name) for name in solvers.__all__)]
    shown = [kind for kind in kinds if hasattr(kind, "example")]
    return {kind.name: f"{kind.__module__}:{kind.__name__}" for kind in shown}


SOLVERS = REGISTERED | _of_papers()
"""Name -> ``"module:Class"``."""


def make_solver(name, **options):
    """Build a solver by its name."""
    return class_of(SOLVERS[name])(**options)


def few_rounds(model, **options):
    """A model with few rounds; one estimator keeps all of its solver's own choices."""
    few = model in FREE.values() and model is not ESTIMATORS["LinearRegression"]
    return model(**{"solver": FEW_ROUNDS} if few else {}, **options)


def brief_solver(name):
    """A solver with few steps, for tests that do not need an accurate answer."""
    if name == "whitened-newton":
        return FEW_ROUNDS
    return make_solver(name, **{"n_steps": 20} if name == "noisy-gradient-descent" else {})
