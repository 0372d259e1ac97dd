"""The certificate: what was promised, reserved, released and assumed, for a privacy officer.

It holds facts only. Every total is computed from the listed events on demand, so that no stored
total can disagree with the releases.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tailguard.checks import (
    InputError,
    check_choice,
    check_failure,
    check_integer,
    check_version,
    shown,
)
from tailguard.privacy import events
from tailguard.privacy.accounting.total_cost import EXACT, Distance, TotalCost, total_cost
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import Release, covers, spent_event
from tailguard.privacy.certificate.agreement import (
    CURRENCIES,
    NOTHING_PROMISED,
    check_agreement,
    unproven,
)
from tailguard.privacy.certificate.pages import (
    COMPOSITION,
    certificate_body,
    certificate_html,
    certificate_text,
)
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import GDP, Guarantee, guarantee_from_dict
from tailguard.privacy.unit import ROWS, Unit
from tailguard.version import __version__

Mode: TypeAlias = Literal["private", "simulation: NOT PRIVATE", "reproduction: NOT PRIVATE"]

KEY = "tailguard_certificate"
"""The key that identifies a certificate; its value is the version of the format."""
VERSION = 1
"""Increase it with any change of meaning, words or totals: when a file is read, its statements are
compared with those that follow from its parts."""

# Rounding moves totals by less than this fraction; a smaller difference is not unused budget.
ROUNDING_MARGIN = 1e-9

OVER_BLOCKS = "over disjoint blocks of records that do not depend on values, the maximum counts"
COUNTED: Mapping[type[events.Event], str] = {
    events.Shuffled: "one pass over the blocks of a secret partition counts as a shuffle of them "
    "(Feldman, McMillan and Talwar 2021)",
    events.Sampled: "a release on a fresh secret sample of fixed size counts as sampling without "
    "replacement (Balle, Barthe and Gaboardi 2018)",
    events.Selected: "the best of a secret, random number of tries counts as that number's law "
    "allows (Papernot and Steinke 2022)",
}
"""How events are counted, whatever the accountant."""
COUNTED_AS_GAUSSIAN: Mapping[type[events.Event], str] = {
    events.BoundedRange: "a choice of bounded range counts as the Gaussian release that covers its "
    "worst pair (Dong, Durfee and Rogers 2020, Section 3)",
    **dict.fromkeys(
        (events.Laplace, events.Pure, events.Approximate),
        "a pure release counts as the Gaussian one that covers it (Dong, Roth and Su 2022, "
        "Proposition 2.10 and Section 2.3)",
    ),
}
"""How other releases are counted if squares of mu are added up."""


@dataclass(frozen=True)
class Certificate:
    """What was promised, reserved, released and assumed.

    *Guarantee.* Holds for replace-one neighbours with public ``n_rows``; ``unit`` states what is
    replaced. ``total`` and ``spent`` are recomputed from ``planned`` and ``releases`` with the
    accountant that gives the smallest bound, rounded up.

    *Edge cases.* In mode ``"simulation: NOT PRIVATE"`` the totals state what a private run would
    cost; the run itself promises nothing. A run in mode ``"reproduction: NOT PRIVATE"`` promises
    nothing either: it has a paper's noise, which costs more than the guarantee.

    Attributes
    ----------
    guarantee
        The promise.
    n_rows
        The public number of records, which are rows or persons.
    planned
        The event that was reserved before any record was read; it counts as spent.
    releases
        What was released, in order.
    assumptions_for_accuracy
        Assumptions on which only the accuracy depends, not privacy.
    unused_stages
        Planned stages that were skipped, in plain words.
    mode
        ``"private"``, ``"simulation: NOT PRIVATE"`` or ``"reproduction: NOT PRIVATE"``.
    sampler_distance
        How far the sampled noise of all releases is from the ideal noise of the accounting.
    ledger_entries
        The entries of a ledger that was charged with the run.
    charged
        What the ledger counts instead of ``planned`` after an early stop; None if all of
        ``planned`` counts.
    unit
        The unit of protection: a row, or a person with all of her rows.
    conditions
        Facts beside the run on which privacy rests, such as how a scored model was released.
    version
        The version of tailguard that made the releases.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> from tailguard.privacy.guarantees import ApproxDP
    >>> certificate = Certificate(ApproxDP(5.0, 1e-6), n_rows=1000, planned=Gaussian(mu=1.0))
    >>> round(certificate.total.epsilon, 8), certificate.spent.epsilon
    (4.88655412, 0.0)
    """

    guarantee: Guarantee
    n_rows: int
    planned: events.Event
    releases: tuple[Release, ...] = ()
    assumptions_for_accuracy: tuple[str, ...] = ()
    unused_stages: tuple[str, ...] = ()
    mode: Mode = "private"
    sampler_distance: Distance = EXACT
    ledger_entries: tuple[LedgerEntry, ...] = ()
    charged: events.Event | None = None
    unit: Unit = ROWS
    conditions: tuple[str, ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        check_integer("n_rows", self.n_rows, minimum=1)
        check_choice("mode", self.mode, get_args(Mode))
        if not isinstance(self.unit, Unit):
            raise InputError(f"unit must be a Unit; got {shown(self.unit)}.")

    @cached_property
    def total(self) -> TotalCost:
        """The cost of what was reserved; it counts as spent, unless a ledger counts less."""
        return self._total(self.planned)

    @cached_property
    def counted(self) -> TotalCost:
        """The cost that counts as spent: the reserved one, or a ledger's after an early stop."""
        return self.total if self.charged is None else self._total(self.charged)

    @cached_property
    def spent(self) -> TotalCost:
        """The cost of the releases, recomputed from their sensitivities and noise."""
        return self._total(spent_event(self.releases))

    @property
    def unused(self) -> dict[str, float]:
        """How far the released total is below the reserved one, in each common currency."""
        unused = {}
        for name in CURRENCIES:
            planned, spent = getattr(self.total, name), getattr(self.spent, name)
            if planned is None or spent is None or math.isinf(planned):
                continue
            # A difference within the margin is rounding, not budget.
            if planned - spent > ROUNDING_MARGIN * planned:
                unused[name] = planned - spent
        return unused

    def to_dict(self) -> dict[str, Any]:
        """Return facts and totals as plain data."""
        data = {
            KEY: VERSION,
            "mode": self.mode,
            "promise": self._promise(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.unit.neighbours,
            "unit": self.unit.to_dict(),
            "protects": self.unit.describe(),
            "n_rows": self.n_rows,
            "total": self.total.to_dict(),
            "spent": self.spent.to_dict(),
            "unused": self.unused,
            "unused_stages": list(self.unused_stages),
            "composition": self._composition(),
            "sampler_log_ratio": self.sampler_distance.log_ratio,
            "sampler_total_variation": self.sampler_distance.variation,
            "sampler": self._sampler(),
            "planned": self.planned.to_dict(),
            "releases": [release.to_dict() for release in self.releases],
            "remarks": list(dict.fromkeys(filter(None, (r.remark() for r in self.releases)))),
            "assumptions_for_accuracy": list(self.assumptions_for_accuracy),
            "ledger_entries": [entry.to_dict() for entry in self.ledger_entries],
            "version": self.version,
        }
        if self.charged is not None:
            data |= {"charged": self.charged.to_dict(), "counted": self.counted.to_dict()}
        return data | ({"conditions": list(self.conditions)} if self.conditions else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Read the facts back, and refuse data with statements that do not follow from them.

        Totals are recomputed. Four kinds of data are refused: totals, words or remarks that differ
        from those that follow from the parts; a plan that costs more than the promise; releases
        that the plan does not cover; and facts that cannot be written again. ``unproven`` lists
        what no file alone can prove.
        """
        try:
            check_version("certificate", data.get(KEY), newest=VERSION)
            charged = data.get("charged")
            certificate = cls(
                guarantee_from_dict(data["guarantee"]),
                data["n_rows"],
                planned=events.event_from_dict(data["planned"]),
                releases=tuple(Release(**release) for release in data["releases"]),
                assumptions_for_accuracy=tuple(data["assumptions_for_accuracy"]),
                unused_stages=tuple(data["unused_stages"]),
                mode=data["mode"],
                sampler_distance=Distance(  # checked here, since a file may hold anything
                    check_failure("log_ratio", data["sampler_log_ratio"]),
                    check_failure("variation", data["sampler_total_variation"]),
                ),
                ledger_entries=tuple(LedgerEntry(**entry) for entry in data["ledger_entries"]),
                charged=events.event_from_dict(charged) if charged is not None else None,
                unit=Unit.from_dict(data["unit"]),
                conditions=tuple(data.get("conditions", ())),
                version=data["version"],
            )
            if not covers(certificate.planned, certificate.releases):
                raise InputError(
                    "certificate must plan for all that was released; its releases cost more than "
                    "was planned."
                )
            with np.errstate(all="ignore"):  # only numbers that no run has overflow
                check_agreement(data, certificate)
            certificate.to_json()
            certificate.to_text()
            return certificate
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise InputError("certificate must hold what to_dict wrote; it does not.") from None

    def to_json(self) -> str:
        """Return it as JSON, which ``from_json`` reads back."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate from the JSON of ``to_json``."""
        try:
            data = read_json(text)
        except InputError:
            raise
        except (TypeError, ValueError, RecursionError):
            raise InputError("certificate must be JSON, as to_json writes it.") from None
        return cls.from_dict(data)

    @property
    def mode_lines(self) -> tuple[str, ...]:
        """The line by which an explanation tells that its run was not private; else none."""
        return () if self.mode == "private" else (f"  mode: {self.mode}",)

    def unproven(self, settled: bool | None = None) -> tuple[str, ...]:
        """List the statements that the file cannot prove.

        ``settled`` states whether the ledger lists the run's releases; None without a ledger.
        """
        return unproven(self, settled)

    def to_text(self) -> str:
        """Return it as a page of plain text."""
        return certificate_text(self.to_dict())

    def to_html(self) -> str:
        """Return it as one page of HTML that needs no other file."""
        return certificate_html(self.to_dict())

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return certificate_body(self.to_dict())

    def __str__(self) -> str:
        return self.to_text()

    @property
    def _unprotected(self) -> bool:
        """Whether it is of a run with printed noise that breaks the guarantee."""
        return self.mode == NOTHING_PROMISED

    def _promise(self) -> str:
        """Describe the promise; there is none if printed noise breaks the guarantee."""
        promise = self.guarantee.describe()
        if self._unprotected:
            return f"none: this reproduces noise that does not keep {promise}"
        return promise

    def _composition(self) -> str:
        """List the rules by which the events were added up."""
        kinds, accountant = flatten(self.planned).kinds, self.total.accountant
        words_of_kinds = COUNTED
        if accountant == "gdp" and not kinds <= {events.Gaussian}:
            accountant, words_of_kinds = "gdp bound", {**COUNTED, **COUNTED_AS_GAUSSIAN}
        rules = dict.fromkeys(text for kind, text in words_of_kinds.items() if kind in kinds)
        return "; ".join([COMPOSITION[accountant], OVER_BLOCKS, *rules])

    def _sampler(self) -> str:
        """Describe how far the noise is from the ideal, and where that is charged."""
        charged = "both are charged inside epsilon and delta"
        if self._unprotected:
            charged = "nothing is promised"
        elif self.guarantee.delta is None:
            charged = "the promise holds up to these"
        distance = self.sampler_distance
        return (
            f"probabilities of noise within a factor exp({distance.log_ratio:.3g}) of ideal, but "
            f"for an event of probability {distance.variation:.3g}; {charged}"
        )

    def _total(self, event: events.Event) -> TotalCost:
        """Return the cost of an event at the promised delta."""
        return total_cost(
            event,
            self.guarantee.delta,
            distance=self.sampler_distance,
            bound_mu=isinstance(self.guarantee, GDP),
        )


def read_json(text: str) -> Any:
    """Read JSON; refuse a repeated key, since another reader might use its other value."""
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise InputError("certificate must hold what to_dict wrote; a key comes twice.")
    return content
