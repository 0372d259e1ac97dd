"""Localisation on the population for heavy-tailed gradients, after Asi, Liu and Tian (2024). Ours.

A phase minimises the clipped loss of its own records with a penalty on the distance from the last
answer, and releases the minimiser with noise; penalties grow from phase to phase. This is the
localised method of :mod:`tailguard.papers.solvers.localised` with other parameters, which follow
from a proof with all constants.

*Published.* Where the Lipschitz constants of losses have moments ``G_2^2`` of order 2 and ``G_k^k``
of order k, (epsilon, delta)-DP allows an excess risk of ``G_2 / sqrt(n) + G_k (sqrt(d) / (n
epsilon))^(1 - 1/k)`` up to logarithms, which a lower bound of Lowy and Razaviyayn (2023) nearly
meets. Only this statement was available, and its tools: clipping, and localisation on the
population and not on the sample. The algorithm, its constants and the proof below are ours, and
have the rate for losses of one score. They were not compared with the algorithms of either paper.

*Needed for privacy.* Nothing of the data. In a group of m records each record moves the minimiser
by at most ``2 C / (m lambda)``, for all its values: :mod:`tailguard.queries.clipped_minimiser`
proves it for losses of one score with bounded clipped curvature; others are refused. Groups are
disjoint, within and among phases, so each may spend the whole budget. The choice among released
points is a function of them.

*Needed for accuracy.* A convex loss; at every point of the set a gradient whose norm has the moment
``r^k``, k at least 2; an optimum within ``D`` of the start; no row beyond ``row_limit``.

*Derivation.* Let F be the risk, ``x_i`` the answer of phase i, and ``z_i`` the minimiser of
``F(w) + lambda_i |w - x_(i-1)|^2 / 2`` over the set. This and the loss of m records with the same
penalty are strongly convex with ``lambda_i``. So the minimiser on the records is within
``|g - g'| / lambda_i`` of ``z_i``, for their mean clipped gradient g at ``z_i`` and the gradient g'
of F there. The point ``z_i`` does not depend on these records, so that no error has to be small at
all points at once. The mean square of ``|g - g'|`` is at most ``r^2 / m`` plus the square of the
bias, ``(k-1)^(k-1) / k^k r^k / C^(k-1)``. With noise of standard deviation ``2 C / (m lambda_i
mu)`` in d coordinates the answer is within ``e_i = a_i / lambda_i`` of ``z_i``, as a root mean
square:

    a_i^2 = r^2 / m + (bias)^2 + d (2 C / (m mu))^2,

which the clip norm minimises. Since ``z_i`` is optimal, ``F(z_i) - F(u) <= lambda_i |u - x_(i-1)|^2
/ 2`` for every u. With ``u = z_(i-1)``, and the optimum in phase 1, these add up on average to

    F(x_I) - F* <= lambda_1 D^2 / 2 + sum over i < I of lambda_(i+1) e_i^2 / 2 + r e_I.

Phases halve their records, so that ``a_i^2`` grows by about ``2^(2-2/k)``; penalties grow by twice
that. All but the first term go as ``1 / lambda_1``: written ``B / lambda_1``, the least sum is ``D
sqrt(2 B)``. The tolerance of certified minimisers is left aside: some percent of the noise, and in
very wide sets as much as that.

*With a chance of at least 1 - beta.* A phase has J groups, and goes on from the point around which
the smallest ball holds more than half of theirs. Each is within ``2 e_i`` of ``z_i`` with a chance
of 3/4 (Chebyshev). With a chance of ``1 - exp(-J/8)`` more than half are (Hoeffding), and then the
chosen one is within ``6 e_i``. ``J = 8 log(I / beta)``.

Reference
---------
Asi, Liu and Tian 2024 (setting and rate); Lowy and Razaviyayn 2023 (lower bound); Feldman, Koren
and Talwar 2020 (localisation); Hsu and Sabato 2016 (the choice among groups); McSherry 2009,
Theorem 4 (disjoint groups).
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from tailguard.gate.plan import Plan, Problem, beyond_floats
from tailguard.gate.stage import usable_mu
from tailguard.means.formulas import check_facts, check_order, cut_factor
from tailguard.papers.solvers.gradient_facts import GradientFacts
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.phases import Phase, halving_sizes
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.options import check_ranges

SPREAD = 6.0  # error of the chosen point, in e_i: see the derivation


@dataclass(frozen=True, kw_only=True)
class PopulationLocalised(Localised):
    """Localised descent with parameters from a proof on the population.

    Parameters
    ----------
    failure_probability
        None bounds the mean of the excess risk. Else phases have groups, and the bound fails with
        at most this probability.
    moment_order
        The proof's k, the order of the moment itself; Xu and others need one of twice the order.
    diameter
        The proof's D.
    step_parameter
        One over the first penalty's strength; None minimises the bound. The other parameters are
        those of :class:`tailguard.papers.solvers.Localised`; there is no printed calibration.

    Guarantee
    ---------
    As for :class:`tailguard.papers.solvers.Localised`: groups read records of their own.

    Edge cases
    ----------
    Few records make one phase. Records beyond groups of equal size are not used.

    Reference
    ---------
    Asi, Liu and Tian 2024.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=10_000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> solver = PopulationLocalised(row_limit=2.0, failure_probability=0.1)
    >>> settings = solver.plan(problem, tg.GDP(0.5)).settings
    >>> settings["groups"], settings["phase_sizes"]
    (40, '187, 62')
    """

    failure_probability: float | None = None

    name: ClassVar[str] = "population-localised"

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_ranges(self, schedule=("practical",), calibration=("tight",))
        check_order(self.moment_order)
        if self.failure_probability is not None:
            check_facts(failure_probability=self.failure_probability)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into phases and groups and set the noise, from public numbers only."""
        plan = super().plan(problem, guarantee)
        return replace(plan, settings={**plan.settings, "groups": self.n_groups(problem.n_rows)})

    def n_groups(self, n_rows: int) -> int:
        """Return enough groups for all phases; there are fewer phases than binary digits of n."""
        if self.failure_probability is None:
            return 1
        nats = math.log(n_rows.bit_length() / self.failure_probability)
        return min(n_rows, math.ceil(8.0 * nats))

    def phases(self, problem: Problem, mu: float, guarantee: Guarantee) -> tuple[Phase, ...]:
        """Return the parameters of each phase, if a group spends ``mu``."""
        bound, growth, clips = self._proved(problem, mu)
        first = 1.0 / (self.step_parameter or self._diameter(problem) ** 2 / bound)
        steps = math.nan, 1, math.inf  # of the printed descent: none
        sizes = self._sizes(problem.n_rows)
        return tuple(
            Phase(size, first * growth**i, clip, math.inf, i == 0, *steps)
            for i, (size, clip) in enumerate(zip(sizes, clips, strict=True))
        )

    def excess_bound(self, problem: Problem, guarantee: Guarantee) -> float:
        """Return the bound on the excess risk, ``D sqrt(2 B)``, with all constants.

        It holds for the default strengths, without ``penalty``.

        *Reference.* The module's derivation.

        Examples
        --------
        >>> import tailguard as tg
        >>> problem = Problem(
        ...     tg.losses.Logistic(), n_rows=10**6, n_features=3, constraint=tg.sets.L2Ball(1.0)
        ... )
        >>> solver = PopulationLocalised(row_limit=2.0)
        >>> round(solver.excess_bound(problem, tg.GDP(0.5)), 3)
        0.014
        """
        n_releases = len(self.phase_sizes(problem)) * self.n_groups(problem.n_rows)
        return self._proved(problem, usable_mu(guarantee, n_releases * problem.size))[0]

    def _proved(self, problem: Problem, mu: float) -> tuple[float, float, tuple[float, ...]]:
        """Return the bound, the growth of penalties, and the clip norms."""
        facts = self._facts(problem)
        try:
            found = [self._bounded(facts, size, mu) for size in self._sizes(problem.n_rows)]
        except ArithmeticError:
            names = ("moment_order", "clip_norm", "gradient_scale", "row_limit")
            given = {name: getattr(self, name) for name in names}
            raise beyond_floats({k: v for k, v in given.items() if v is not None}) from None
        spread = 1.0 if self.failure_probability is None else SPREAD
        errors = [spread * error for _, error in found]
        growth = 2.0 ** (3.0 - 2.0 / facts.order)
        left = sum(growth ** (1 - i) * error**2 / 2.0 for i, error in enumerate(errors[:-1]))
        left += facts.scale * errors[-1] * growth ** (1 - len(errors))
        bound = self._diameter(problem) * math.sqrt(2.0 * left)
        return bound, growth, tuple(clip for clip, _ in found)

    def _bounded(self, facts: GradientFacts, n_rows: int, mu: float) -> tuple[float, float]:
        """Return the clip norm of a group, and the error ``a`` of its mean clipped gradient."""
        k, cut, reach = facts.order, cut_factor(facts.order), n_rows * mu / 2.0
        best = facts.scale * math.pow((k - 1.0) / facts.size * (cut * reach) ** 2, 0.5 / k)
        clip = self.clip_norm or min(best, facts.largest)
        bias = cut * facts.scale * (facts.scale / clip) ** (k - 1.0)
        bias = bias if clip < facts.largest else 0.0
        noise = math.sqrt(facts.size) * clip / reach
        return clip, math.hypot(facts.scale / math.sqrt(n_rows), bias, noise)

    def _sizes(self, n_rows: int) -> tuple[int, ...]:
        n_groups = self.n_groups(n_rows)
        sizes = halving_sizes(n_rows, self.smallest_phase * n_groups)
        return tuple(size // n_groups for size in sizes)
