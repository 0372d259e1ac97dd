"""A gate that overhears all it answers, on a pair of neighbours, for audits of whole fits.

The noise of a release, seen in the direction in which the pair differs, is standard normal after
division by its deviation, whatever was released before. The sum of all such readings, weighted by
how far the pair differs, is the privacy loss itself: no other statistic tells more.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.statistics import gaussian_scale_test, gdp_audit
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy import GDP
from tailguard.rows.arrays import make_rows

FALSE_ALARM = 1e-3
N_RUNS = 3_800  # a side: mutants are caught with probability 0.99


@dataclass
class Heard:
    """A query that keeps its answer on the lattice, and the noised numbers that it finishes."""

    query: Any
    raw: Any = None
    clean: Any = None

    def __getattr__(self, name):
        return getattr(self.query, name)

    def answer(self, *given):
        self.clean = self.query.answer(*given)
        return self.clean

    def finish(self, noised, n_rows):
        self.raw = noised
        return self.query.finish(noised, n_rows)


@dataclass
class Transcript:
    """Per release: how far the pair differs, in noise deviations, and where the answer lies."""

    shifts: list = field(default_factory=list)
    noises: list = field(default_factory=list)
    queries: list = field(default_factory=list)

    @property
    def mu(self):
        """What the pair attains of the budget."""
        return float(np.linalg.norm(self.shifts))

    def score(self, *, neighbour):
        """The privacy loss, scaled: standard normal without, around ``mu`` with the neighbour."""
        reading = float(np.dot(self.shifts, self.noises)) / self.mu
        return reading + (self.mu if neighbour else 0.0)


class OverheardGate(Gate):
    """Answers from one of two neighbours and notes what the answer tells about which."""

    @classmethod
    def of(cls, problem, pair, guarantee, *, neighbour, seed):
        rows = [make_rows(X, y, loss=problem.loss) for X, y in pair]
        here, there = rows[::-1] if neighbour else rows
        gate = cls(here, guarantee=guarantee, source=SimulationSource(seed))
        gate._partitions._shuffled = here  # the order of pairs and groups is known to who attacks
        gate.here, gate.there, gate.transcript = here, there, Transcript()
        gate.sign = -1.0 if neighbour else 1.0
        return gate

    def ask(self, query, state, stage):
        heard = Heard(query)
        answer = super().ask(heard, state, stage)
        calibration = query.calibrate(self.n_rows, self.n_features, stage.mu)
        with np.errstate(all="ignore"):
            other = query.answer(self.there, state, calibration) * calibration.grid
            clean = heard.clean * calibration.grid
        way = (other - clean) / calibration.noise_std
        shift = float(np.linalg.norm(way))
        if shift > 0.0:
            noise = (heard.raw - clean) / calibration.noise_std
            self.transcript.queries.append(query)
            self.transcript.shifts.append(shift)
            self.transcript.noises.append(self.sign * float(noise @ way) / shift)
        return answer


def overhear(solver, problem, pair, *, mu, seed, neighbour):
    """Fit once at ``mu``; return what the fit told about the pair."""
    guarantee = GDP(mu)
    plan = solver.plan(problem, guarantee)
    gate = OverheardGate.of(problem, pair, guarantee, neighbour=neighbour, seed=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    with np.errstate(all="ignore"):
        solver.run(plan, gate)
    return gate.transcript


def audit_fits(fit, *, claimed_mu, true_mu):
    """Audit a claim on many fits, by their privacy loss; ``fit(seed, neighbour=)`` transcribes one.

    The verdict's power is that of catching fits that attain ``true_mu``.
    """
    scores = [
        [fit(seed, neighbour=neighbour).score(neighbour=neighbour) for seed in seeds]
        for neighbour, seeds in ((False, range(N_RUNS)), (True, range(N_RUNS, 2 * N_RUNS)))
    ]
    return gdp_audit(
        *scores,
        threshold=0.6 * claimed_mu,
        claimed_mu=claimed_mu,
        true_mu=true_mu,
        false_alarm=FALSE_ALARM,
    )


def check_claim(fit, too_much, **claim):
    """Many fits show no more than they claim, and ``too_much`` is caught."""
    verdict = audit_fits(fit, **claim)
    assert verdict.power >= 0.99
    assert verdict.accepted
    assert not audit_fits(too_much, **claim).accepted


def check_noises(fit):
    """Noises of many fits are standard normal, and would not pass with less."""
    noises = np.concatenate([fit(seed, neighbour=seed % 2 == 1).noises for seed in range(60)])
    verdict = gaussian_scale_test(noises, 1.0, false_alarm=1e-6, ratios=(1 / 1.3, 1.3))
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not gaussian_scale_test(noises / 1.3, 1.0, false_alarm=1e-6).accepted
