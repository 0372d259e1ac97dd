"""Build a :class:`Theorem` from its statement and its solver.

Reference
---------
Kamath, Liu and Zhang 2022, Section 3: descent on a private mean of known bias and error.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pkgutil import get_data
from typing import Any

import numpy as np

from tailguard.gate.engine import Solver
from tailguard.gate.stage import Stage
from tailguard.means.formulas import CENTRE_LOSS
from tailguard.papers.common.prediction import descent_excess
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.theorem import Theorem
from tailguard.privacy.events import Event, Gaussian
from tailguard.privacy.guarantees import GDP, Guarantee
from tailguard.queries.units import Units
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle

NOTHING = ("nothing: records, gradients and moments may be anything",)
"""Privacy needs no assumption: the gate alone ensures it."""
EVERYWHERE = "holds at all points of the set at once"
"""For bounds that cover the whole set by a net of points."""
FIXED_POINTS = "counts the errors at points that do not depend on the records"
OWN_BLOCKS = f"{FIXED_POINTS}, as those of a step do not depend on its own block"


@dataclass(frozen=True)
class Statement:
    """The statement of a theorem, without its algorithm.

    ``covers`` describes the points at which the bound counts errors.
    """

    name: str
    lower_bound: float
    for_accuracy: tuple[str, ...]
    deviations: tuple[str, ...] = ()
    for_privacy: tuple[str, ...] = NOTHING
    covers: str = FIXED_POINTS


@cache
def sentences(table: str) -> dict[str, Any]:
    """Read a table of ``statements.toml``, by its name: a paper, or a topic such as means."""
    text = get_data("tailguard.papers", "statements.toml") or b""  # also from inside a zip file
    return dict(tomllib.loads(text.decode())[table])


def select_sentences(
    listed: Sequence[Any], cases: tuple[str, ...], shared: Mapping[str, str], **values: object
) -> tuple[str, ...]:
    """Return the sentences of a list that hold in these cases, such as printed or tight noise.

    A sentence may be the name of one in ``shared``, and may have placeholders for ``values``.
    """
    limited = [part if isinstance(part, dict) else {"says": part} for part in listed]
    selected = [
        part["says"]
        for part in limited
        if part.get("when", cases[-1]) in cases and part.get("unless") not in cases
    ]
    return tuple(shared.get(sentence, sentence).format(**values) for sentence in selected)


def statement_of(
    theorem: str, facts: Facts, lower_bound: float, *cases: str, **values: object
) -> Statement:
    """Return the statement of the theorem with this public name, from ``statements.toml``.

    Some sentences hold only for printed or for tight noise, and some only in one of the ``cases``.
    Sentences may have placeholders for ``values``.
    """
    paper, _, name = theorem.partition(".")
    of_paper = sentences(paper)
    table, cases = {**of_paper, **of_paper[name]}, (*cases, facts.calibration)
    accuracy, tight, differs, privacy = (
        select_sentences(table.get(part, ()), cases, of_paper["shared"], **values)
        for part in ("accuracy", "tight", "differs", "privacy")
    )
    return Statement(
        f"{of_paper['paper']}, {table['theorem']}",
        lower_bound,
        accuracy,
        (() if facts.prints else tight) + differs,
        privacy or NOTHING,
    )


def noise_of(oracle: Oracle, facts: Facts, *, n_rows: int, mu: float) -> float:
    """Return the standard deviation of the noise in each coordinate of one answer."""
    query = oracle.query(None, Units.raw(facts.n_features, intercept=False))
    calibration = query.calibrate(n_rows, facts.n_features, mu)
    n_groups = calibration.size // facts.n_features
    # ``finish`` is linear, or returns the centre of groups of equal size. If all groups have the
    # same value, it returns that value, here the noise of one group. The centre has less noise.
    n_equal = n_rows - n_rows % n_groups
    noise = float(query.finish(np.full(calibration.size, calibration.noise_std), n_equal)[0])
    return noise if n_groups == 1 else noise * CENTRE_LOSS / math.sqrt(n_groups)


def needed_of_batches(stage: Stage) -> str:
    """Describe what the privacy of batches rests on: nothing, or a partition that stays secret."""
    case = "secret" if stage.shuffled else "disjoint"
    return str(sentences("batches")[case]).format(n_batches=stage.n_blocks)


def descent_prediction(
    facts: Facts, solver: NoisyGradientDescent, *, noise: float, error: float
) -> Callable[[float], float]:
    """Return a function that predicts the excess of a descent from a curvature.

    ``noise`` and ``error`` are per coordinate.
    """
    assert solver.step_size is not None  # every theorem states it
    return partial(
        descent_excess,
        distance=facts.diameter / 2.0,
        n_steps=solver.n_steps,
        step_size=solver.step_size,
        noise=facts.root_size * noise,
        error=facts.root_size * error,
        last=solver.iterate == "last",
        fades=solver.decay == "root",
    )


def theorem_of(
    facts: Facts,
    statement: Statement,
    solver: Solver,
    bound: float,
    prediction: Callable[[float], float],
    *,
    noise_std: float,
    n_passes: float,
    spent: Guarantee | None = None,
    cost: Event | None = None,
    knows_noise: bool = False,
) -> Theorem:
    """Build a theorem.

    ``spent`` is what a run spends; by default the guarantee. ``cost`` is the cost of printed noise
    that is not Gaussian. ``knows_noise`` is for solvers that derive printed noise from the
    guarantee, and not from ``spent``.
    """
    if isinstance(spent, GDP) and facts.prints:
        cost = Gaussian(spent.mu)
    return Theorem(
        statement=statement.name,
        solver=solver,
        **facts.sizes,
        guarantee=facts.guarantee,
        spent=spent or facts.guarantee,
        printed=facts.prints,
        cost=cost if facts.prints else None,
        knows_noise=knows_noise,
        bound=float(bound),
        bound_covers=statement.covers,
        lower_bound=statement.lower_bound,
        noise_std=noise_std,
        n_passes=float(n_passes),
        for_privacy=statement.for_privacy,
        for_accuracy=statement.for_accuracy,
        deviations=statement.deviations,
        curvature=facts.curvature,
        _prediction=prediction,
    )
