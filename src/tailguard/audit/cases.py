"""One row of an audit: a claim, an attack on it, and the result.

Reference
---------
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023 (audits of known claims);
The chi-square bound on the standard deviation of normal numbers is a textbook result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2

from tailguard.array_types import FloatArray
from tailguard.audit.bounds import Judgement, PrivacyClaim, judge, runs_for
from tailguard.audit.gates import (
    MUTANTS,
    NOISE,
    OVERHEARD_MUTANTS,
    AttackedGate,
    OverheardGate,
    Transcript,
)

FALSE_ALARM = 1e-3
"""Probability that any true claim is rejected in all rows of an audit together."""

POWER = 0.95
"""Rows are marked if they detect noise of 0.8 times the right scale with a smaller probability."""

PLANNED_POWER = 0.9995
"""The power for which runs of a mutant are planned, from the error rates of its fault. With this
power, none of the 132 mutants of 66 rows is missed with probability 0.93. At mu = 2.5 and a false
alarm of 1.5e-5 it needs 976 runs per side at 0.8 times the noise, and 117 at half the sensitivity
(computed)."""


@dataclass(frozen=True)
class AuditResult:
    """One row: a claim, and a bound from the attack on it.

    Attributes
    ----------
    name
        What was audited.
    claim
        What is claimed, in words.
    claimed, shown
        The claimed cost, and a lower confidence bound on the true one, in the same unit.
    confidence
        Probability that the bound holds.
    power
        Probability that noise of 0.8 times the right scale is rejected.
    n_runs
        The number of runs on each neighbour, or the number of readings of noise.
    tester
        The test that distinguishes the neighbours.
    mutants
        Fault of a mutant -> whether the mutant was rejected.

    Examples
    --------
    >>> row = AuditResult("a mean", "mu = 2", 2.0, 1.7, 0.999, 0.97, 1200, "threshold")
    >>> row.verdict, row.share
    ('holds', 0.85)
    """

    name: str
    claim: str
    claimed: float
    shown: float
    confidence: float
    power: float
    n_runs: int
    tester: str
    mutants: Mapping[str, bool] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The bound divided by the claim."""
        return self.shown / self.claimed

    @property
    def accepted(self) -> bool:
        """Whether the claim was not disproved."""
        return self.shown <= self.claimed

    @property
    def verdict(self) -> str:
        """The verdict in a few words."""
        if not self.accepted:
            return "BROKEN"
        if not all(self.mutants.values()):
            return "MUTANT MISSED"
        return "holds" if self.power >= POWER else "holds, low power"

    def __str__(self) -> str:
        lines = [
            f"audit of {self.name} (made-up records, seeded noise: NOT PRIVATE)",
            f"  claimed      {self.claim}",
            f"  shown        at least {self.shown:.4g} of {self.claimed:.4g} "
            f"({self.share:.0%}), at confidence {self.confidence:.6g}",
            f"  power        {self.power:.3g} against noise of 0.8 times the scale",
            f"  by           {self.tester}, {self.n_runs} on each side",
            *(
                f"  mutant       {name}: {'rejected' if rejected else 'NOT REJECTED'}"
                for name, rejected in self.mutants.items()
            ),
            f"  verdict      {self.verdict}",
        ]
        return "\n".join(lines)


Scores = tuple[FloatArray, FloatArray]

Scoring = Callable[[type[AttackedGate], int, int], Scores]
"""Maps a gate class, a number of runs per side and a seed to the scores of both neighbours."""

Rates = Callable[[float], tuple[float, float]]
"""Maps the factor by which noise is too small to the probabilities of both errors."""


@dataclass(frozen=True)
class ThresholdCase:
    """Releases on a worst pair; if a score is above the threshold, the guess is the second table.

    Attributes
    ----------
    scores
        Returns scores of both neighbours; the answers without noise have the scores 0 and 1.
    rates
        Returns the probabilities of both errors if noise is too small by a factor. They plan the
        number of runs.
    threshold
        The threshold of the scores.
    scores_per_run
        The number of independent scores of a run.
    """

    claim: PrivacyClaim
    scores: Scoring
    rates: Rates
    threshold: float = 0.5
    scores_per_run: int = 1
    tester: str = "threshold on the likelihood ratio"

    @property
    def is_even(self) -> bool:
        """Whether both errors are planned to be equally likely; then their sum is judged."""
        wrong, missed = self.rates(1.0)
        return wrong == missed

    def audit(self, name: str, *, false_alarm: float) -> AuditResult:
        """Count the errors on the release and on every mutant."""
        n_runs = self.runs_to_see(1.0 / NOISE, false_alarm)
        verdict = self._verdict(AttackedGate, n_runs, 0, false_alarm)
        rejected = {
            fault: not self._verdict(
                gate, self.runs_to_see(gate.factor, false_alarm), seed, false_alarm
            ).accepted
            for seed, (fault, gate) in enumerate(MUTANTS.items(), 1)
        }
        return AuditResult(
            name=name,
            claim=self.claim.describe(),
            claimed=self.claim.amount,
            shown=verdict.statistic,
            confidence=1.0 - false_alarm,
            power=verdict.power,
            n_runs=n_runs * self.scores_per_run,
            tester=self.tester,
            mutants=rejected,
        )

    def runs_to_see(self, factor: float, false_alarm: float) -> int:
        """Return how many runs per side detect noise that is ``factor`` times too small."""
        n_scores = runs_for(
            self.claim, rates=self.rates(factor), false_alarm=false_alarm, power=PLANNED_POWER,
            summed=self.is_even,
        )  # fmt: skip
        return -(-n_scores // self.scores_per_run)

    def _verdict(
        self, gate: type[AttackedGate], n_runs: int, seed: int, false_alarm: float
    ) -> Judgement:
        with np.errstate(all="ignore"):
            first, second = self.scores(gate, n_runs, seed)
        wrong = int((first > self.threshold).sum())
        missed = int((second <= self.threshold).sum())
        rates = self.rates(1.0 / NOISE)
        return judge(
            self.claim, wrong, missed, first.size,
            rates=rates, false_alarm=false_alarm, summed=self.is_even,
        )  # fmt: skip


@dataclass(frozen=True)
class NoiseCase:
    """Whole fits of many releases, tested by the noise of each release that the pair changes.

    The bound is the mu that the pair attains, divided by an upper confidence bound on the standard
    deviation of the noise. It assumes normal noise, which tests of the mechanism check. It needs a
    few fits, while a threshold needs thousands.

    Attributes
    ----------
    fit
        Maps a gate class, a seed and a side to the releases of one fit.
    """

    claim: PrivacyClaim
    fit: Callable[[type[OverheardGate], int, bool], Transcript]
    n_fits: int = 24

    def audit(self, name: str, *, false_alarm: float) -> AuditResult:
        """Audit the fits, and those of every mutant."""
        rejected = {
            fault: self._shown(gate, seed, false_alarm)[0] > self.claim.amount
            for seed, (fault, gate) in enumerate(OVERHEARD_MUTANTS.items(), 1)
        }
        shown, attained, n_readings = self._shown(OverheardGate, 0, false_alarm)
        # With NOISE times the scale the claim is rejected if the sum of squares is below this.
        least = (attained / self.claim.amount / NOISE) ** 2 * chi2.ppf(false_alarm, n_readings)
        return AuditResult(
            name=name,
            claim=self.claim.describe(),
            claimed=self.claim.amount,
            shown=shown,
            confidence=1.0 - false_alarm,
            power=float(chi2.cdf(least, n_readings)),
            n_runs=n_readings,
            tester="noise of all releases, overheard",
            mutants=rejected,
        )

    def _shown(
        self, gate: type[OverheardGate], seed: int, false_alarm: float
    ) -> tuple[float, float, int]:
        """Return the bound, what the pair attains, and the number of readings."""
        first = seed * self.n_fits
        fits = [self.fit(gate, first + each, each % 2 == 1) for each in range(self.n_fits)]
        noises = np.concatenate([transcript.noises for transcript in fits])
        attained = float(np.mean([transcript.mu for transcript in fits]))
        deviation = np.sqrt(noises @ noises / chi2.ppf(false_alarm, noises.size))
        return float(attained / deviation), attained, noises.size


Case = ThresholdCase | NoiseCase
"""Something to audit."""
