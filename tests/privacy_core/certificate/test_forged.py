"""Forged certificates: whatever change enters what it costs is refused, wherever it is made."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.certificates import certify, example, gaussian
from support.forging import RUNS, certificate_of, forgeries, pattern
from tailguard.checks import InputError
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.agreement import kept_by
from tailguard.privacy.events import Gaussian, Repeated, Sampled, event_from_dict
from tailguard.privacy.guarantees import guarantee_from_dict

# What no file alone can prove; `tailguard verify` lists it in words.
WORDS = {
    *(".n_rows", ".mode", ".version", ".tailguard_certificate"),
    *(".unused_stages", ".unused_stages[]"),
    *(".assumptions_for_accuracy", ".assumptions_for_accuracy[]"),
    *(".ledger_entries[].ledger", ".ledger_entries[].key"),
    *(".releases[].name", ".releases[].kind", ".releases[].stage", ".releases[].parameters"),
}
# Of the blocks of one map the costliest counts, so that the others may cost less than they say.
BESIDE_THE_COSTLIEST = {
    *(".releases", ".releases[].sensitivity", ".releases[].noise_std", ".releases[].block"),
    *(".releases[].block_map", ".planned.events[].events[].block"),
    *(".planned.events[].events[].block_map", ".planned.events[].events[].event.event.mu"),
}
# What is infinite stays so.
ROUNDED = 1e-7
"""Budget below this share of the total was left by rounding, and is compared by its margin."""
FITS = ("fit in mu", "seeded fit")
"""Runs whose certificates have no place that one of a plain fit has not."""
TRIED = (2, 1)
"""Changes of a place, of those that are alike; of such fits."""
MARGIN = 1e-6
"""A change of a cost below this share of it is no change."""


def made_of_its_parts(data):
    """The certificate that the parts of a file make, with nothing compared; None if none."""
    try:
        return Certificate(
            guarantee_from_dict(data["guarantee"]),
            data["n_rows"],
            planned=event_from_dict(data["planned"]),
            releases=tuple(Release(**release) for release in data["releases"]),
            assumptions_for_accuracy=tuple(data["assumptions_for_accuracy"]),
            unused_stages=tuple(data["unused_stages"]),
            mode=data["mode"],
            sampler_distance=Distance(data["sampler_log_ratio"], data["sampler_total_variation"]),
            ledger_entries=tuple(LedgerEntry(**entry) for entry in data["ledger_entries"]),
            charged=event_from_dict(data["charged"]) if "charged" in data else None,
            version=data["version"],
        ).to_dict()
    except Exception:  # whatever is wrong with it
        return None


def agree(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k]) for k in one)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= MARGIN * max(abs(one), abs(other))
    return type(one) is type(other) and one == other


def enters_the_total(data):
    """Whether a changed file states a cost that its own parts do not have."""
    made = made_of_its_parts(data)
    names = ("promise", "total", "spent", "counted", "composition")
    return made is None or not all(agree(data.get(name), made.get(name)) for name in names)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", RUNS)
def test_every_forgery_that_enters_the_total_is_refused(name):
    honest = certificate_of(name)
    assert Certificate.from_json(honest.to_json()) == honest
    entering, refused, taken = 0, 0, set()
    for place, _, data in forgeries(honest, np.random.default_rng(3), TRIED[name in FITS]):
        try:
            found = Certificate.from_json(json.dumps(data))
        except InputError:
            entering += (enters := enters_the_total(data))
            refused += enters
            continue
        entering += enters_the_total(data)
        taken.add(pattern(place))
        assert found.guarantee == honest.guarantee
        for stated, expected in ((found.total, honest.total), (found.spent, honest.spent)):
            assert agree(stated.to_dict(), expected.to_dict())
    assert refused == entering >= 40  # of each kind of run; 13 kinds
    allowed = WORDS | BESIDE_THE_COSTLIEST
    if all(left <= ROUNDED * getattr(honest.total, name) for name, left in honest.unused.items()):
        allowed = allowed | {f".unused.{name}" for name in honest.unused}
    assert {each for each in taken if not each.startswith(".releases[].parameters.")} <= allowed


def test_only_a_ledger_counts_less_than_was_reserved():
    data = json.loads(certificate_of("early stop").to_json())
    assert data["counted"]["epsilon"] < 0.2 * data["total"]["epsilon"]
    with pytest.raises(InputError, match="must state what a ledger counts after"):
        Certificate.from_dict(data | {"ledger_entries": []})
    more = {"charged": Gaussian(1.01 * data["total"]["mu"]).to_dict()}
    less = {"charged": Gaussian(0.99 * data["spent"]["mu"]).to_dict()}
    for lie in (more, less):
        with pytest.raises(InputError, match="must state what a ledger counts after"):
            Certificate.from_dict(data | lie)
    for name in ("charged", "counted"):
        with pytest.raises(InputError, match="counted"):
            Certificate.from_dict({key: data[key] for key in data if key != name})
    lie = {"counted": data["counted"] | {"epsilon": 0.001}}
    with pytest.raises(InputError, match=r"follows from its parts; counted\.epsilon is 0\.001"):
        Certificate.from_dict(data | lie)


def test_the_lie_that_was_found_is_refused():
    """A promise of .001 beside what was reserved for 1.577."""
    data = json.loads(certify(Gaussian(0.36), [gaussian(0.36)]).to_json())
    assert data["total"]["epsilon"] > 1.5
    promise = tg.ApproxDP(0.001, 1e-6)
    guarantee, words = {"guarantee": promise.to_dict()}, {"promise": promise.describe()}
    for lie, expected in (
        (guarantee, "must plan for no more than it promises"),
        (guarantee | words, "must plan for no more than it promises"),
        (words, "follows from its parts; promise is"),
    ):
        with pytest.raises(InputError, match=expected):
            Certificate.from_dict(data | lie)


@pytest.mark.parametrize(
    ("place", "lie"),
    [
        *[("total", lie) for lie in (0.001, "1.57", True, None)],
        *[("spent", 0.001), ("remarks", ["none"])],
    ],
)
def test_what_follows_from_its_parts_is_not_believed(place, lie):
    data = json.loads(certify(Gaussian(0.36), [gaussian(0.36)]).to_json())
    lie = lie if place == "remarks" else data[place] | {"epsilon": lie}
    with pytest.raises(InputError, match=f"follows from its parts; {place}"):
        Certificate.from_dict(data | {place: lie})


@pytest.mark.parametrize(
    ("guarantee", "planned"),
    [
        (tg.ApproxDP(1.0, 1e-6), Gaussian(0.3)),
        (tg.PureDP(1.0), Gaussian(0.01)),
        (tg.ZCDP(0.5), Repeated(Gaussian(1.0), 2)),
        (tg.GDP(0.5), Gaussian(0.50001)),
    ],
)
def test_a_plan_beyond_its_promise_is_refused(guarantee, planned):
    stored = certify(planned, [], guarantee).to_json()
    with pytest.raises(InputError, match="must plan for no more than it promises"):
        Certificate.from_json(stored)


def test_only_the_four_guarantees_are_promises():
    with pytest.raises(InputError, match="guarantee must be an ApproxDP, PureDP, ZCDP or GDP"):
        kept_by(1.0, example().total)


def test_printed_noise_that_costs_more_than_promised_is_not_turned_into_a_promise():
    certificate = replace(
        certify(Gaussian(1.0), [], tg.ApproxDP(1.0, 1e-6)), mode="reproduction: NOT PRIVATE"
    )
    data = json.loads(certificate.to_json())
    assert Certificate.from_dict(data) == certificate
    with pytest.raises(InputError, match="must plan for no more than it promises"):
        Certificate.from_dict(data | {"mode": "private"})


def test_samples_are_of_the_stated_number_of_records():
    told = {"sample_rows": 10, "of_rows": 1000}
    release = Release("m", "Mean", "sampled-gaussian", "l2", 1.0, 4.0, parameters=told)
    certificate = certify(Sampled(0.25, 0.01), [release])
    assert Certificate.from_json(certificate.to_json()) == certificate
    for n_rows in (999, 1001):
        with pytest.raises(InputError, match=f"sample from its n_rows = {n_rows} records"):
            Certificate.from_json(replace(certificate, n_rows=n_rows).to_json())


ENTRY = LedgerEntry("claims", 7, "3f", "9b1d" * 16)


@pytest.mark.parametrize(
    "entries",
    [
        (replace(ENTRY, position=1),),
        (ENTRY, ENTRY),
        (replace(ENTRY, digest="9b1d"),),
        (replace(ENTRY, digest="9B1D" * 16),),
        (replace(ENTRY, digest="9b1d" * 16 + "\n"),),
        (replace(ENTRY, key=""),),
        (replace(ENTRY, ledger=""),),
    ],
    ids=str,
)
def test_entries_that_no_ledger_makes_are_refused(entries):
    with pytest.raises(InputError, match="must name lines of a ledger"):
        Certificate.from_json(replace(example(), ledger_entries=entries).to_json())


def test_a_simulation_names_no_ledger():
    certificate = replace(example(), ledger_entries=(ENTRY,), mode="simulation: NOT PRIVATE")
    with pytest.raises(InputError, match="no ledger in a simulation"):
        Certificate.from_json(certificate.to_json())


@pytest.mark.parametrize("where", ["total", "spent", "unused"])
def test_nothing_more_is_stated(where):
    data = json.loads(example().to_json())
    for lie in ({"epsilon of this study": 0.001}, {where: data[where] | {"approved": 1}}):
        with pytest.raises(InputError, match="must hold what to_dict wrote; it has also"):
            Certificate.from_dict(data | lie)


def test_unused_budget_is_compared():
    data = json.loads(example().to_json())
    for currency in ("epsilon", "mu", "rho"):
        lie = data["unused"] | {currency: 0.9 * data["unused"][currency]}
        with pytest.raises(InputError, match=rf"its parts; unused\.{currency} is"):
            Certificate.from_dict(data | {"unused": lie})
        fewer = {name: data["unused"][name] for name in data["unused"] if name != currency}
        with pytest.raises(InputError, match=rf"its parts; unused\.{currency} is 0.0"):
            Certificate.from_dict(data | {"unused": fewer})


@pytest.mark.parametrize("name", example().to_dict())
def test_what_is_left_out_is_refused(name):
    data = json.loads(example().to_json())
    with pytest.raises(InputError, match=rf"lacks '{name}'|certificate must h"):
        Certificate.from_dict({key: data[key] for key in data if key != name})


def test_a_key_that_comes_twice_is_refused():
    text = example().to_json()
    twice = text.replace('"promise":', '"promise": "epsilon = 0.001", "promise":')
    with pytest.raises(InputError, match="a key comes twice"):
        Certificate.from_json(twice)


def test_rounding_of_another_machine_is_no_lie():
    data = json.loads(example().to_json())
    for name in ("total", "spent"):
        for currency in ("epsilon", "mu", "rho"):
            data[name][currency] *= 1.0 + 4e-10
    assert Certificate.from_dict(data) == example()
    data["total"]["mu"] *= 1.0 + 4e-9
    with pytest.raises(InputError, match=r"total\.mu is"):
        Certificate.from_dict(data)


def test_what_cannot_be_proven_is_said_in_words():
    certificate = example()
    alone = " ".join(certificate.unproven())
    for words in ("The mode", "releases are all", "n = 1000", "not signed", "other runs"):
        assert words in alone
    charged = replace(certificate, ledger_entries=(ENTRY,))
    assert "entry 7 of 'claims'" in " ".join(charged.unproven())
    settled, unsettled = (" ".join(charged.unproven(settled)) for settled in (True, False))
    for words in ("The mode", "entry 7", "other runs"):
        assert words not in settled + unsettled
    assert "releases are all" not in settled
    assert "releases are all" in unsettled
    assert "n = 1000" in settled
    seeded = replace(certificate, mode="simulation: NOT PRIVATE")
    assert "The mode" not in " ".join(seeded.unproven())
