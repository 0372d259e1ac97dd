"""A ledger call by call: its lines, its words, what it refuses, and what of an export it takes."""

import pickle
from copy import deepcopy

import pytest

import tailguard as tg
from support.known import outcome, plain
from support.releases import MEAN
from tailguard.ledger import contents, lines, storage, store
from tailguard.ledger.export import check_continues, exported, head_of
from tailguard.ledger.ledger import Ledger
from tailguard.ledger.lines import CREATED, RESERVED, RESUMED, SETTLED, Draft, Line, check_chain
from tailguard.ledger.names import LONGEST_NAME
from tailguard.ledger.report import history_text, summary_text
from tailguard.ledger.store import Store
from tailguard.privacy.events import Approximate, Gaussian, Laplace, Unbounded, ZeroConcentrated

CAPS = {
    "approx": tg.ApproxDP(2.0, 1e-5),
    "pure": tg.PureDP(2.0),
    "zcdp": tg.ZCDP(0.5),
    "gdp": tg.GDP(1.0),
}
every_cap = pytest.mark.parametrize("name", CAPS)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A file, at a time and of a version that do not change; and words without its folder."""
    moments = iter(f"2026-01-{day:02}" for day in range(1, 32))
    monkeypatch.setattr(store, "_today", lambda: next(moments))
    monkeypatch.setattr(contents, "__version__", "1.2")
    return tmp_path / "budget.sqlite"


def words(place, value):
    """Plain data in which the folder of the file has no name."""
    value = plain(value)
    if isinstance(value, str):
        return value.replace(f"{place.parent}/", "")
    if isinstance(value, list):
        return [words(place, part) for part in value]
    return {k: words(place, v) for k, v in value.items()} if isinstance(value, dict) else value


def charged(place, name):
    ledger = Ledger(place, "claims", guarantee=CAPS[name])
    events = (Gaussian(0.25), Laplace(0.25), ZeroConcentrated(0.001), Approximate(0.1, 1e-9))
    found = [outcome(ledger.charge, event, key=f"{n}", coordinates=n)
             for n, event in enumerate(events)]  # fmt: skip
    return ledger, found


@every_cap
def test_charges(known, place, name):
    ledger, found = charged(place, name)
    run = ledger.opened("3f")
    found += [outcome(run.reserve, Laplace(0.125), coordinates=n) for n in (3, 4)]
    if run.entries and run.reserved.events:
        found.append(outcome(run.record, MEAN))
    run.settle()
    found += [outcome(ledger.charge, Gaussian(5.0), key="too much")]
    found += [outcome(ledger.charge, Unbounded(), key="anything")]
    known(
        words(
            place,
            [
                *(found, ledger.lines(), ledger.reserved, ledger.cap, ledger.left),
                *(ledger.describe_left(), ledger.total(), outcome(ledger.total, 1e-3)),
                *(ledger.head(), ledger.verify(), [*run.entries]),
                summary_text(ledger).splitlines(),
                history_text(ledger).splitlines(),
            ],
        ),
        rel=1e-6,
    )


@every_cap
def test_empty(known, place, name):
    ledger = Ledger(place, "claims", guarantee=CAPS[name])
    known(
        words(
            place,
            [ledger.left, ledger.describe_left(), ledger.total(), summary_text(ledger),
             history_text(ledger), repr(ledger), repr(ledger.with_key("k"))],
        )
    )  # fmt: skip


def test_keys(known, place):
    ledger = Ledger(place, "claims", epsilon=2.0, delta=1e-5)
    keyed = ledger.with_key("March")
    found = [
        ledger.charge(Gaussian(0.1), key="a", coordinates=2),
        ledger.charge(Gaussian(0.1), key="a", coordinates=2),
        outcome(ledger.charge, Gaussian(0.1), key="a", coordinates=3),
        outcome(ledger.charge, Gaussian(0.2), key="a", coordinates=2),
        *(outcome(ledger.charge, Gaussian(0.1), key="b", coordinates=bad) for bad in (-1, 1.5)),
        outcome(ledger.charge, "gaussian", key="b"),
        *(outcome(ledger.with_key, bad) for bad in ("", None, 3, "k" * 201)),
        ledger.with_key("k" * LONGEST_NAME)._key == "k" * LONGEST_NAME,
        outcome(keyed.opened("1").reserve, Gaussian(0.1)),
        outcome(keyed.opened("1").reserve, Gaussian(0.1)),
        outcome(keyed.opened("2").reserve, Gaussian(0.2)),
        *(ledger == other for other in (keyed, Ledger(place, "claims"), 3)),
        *(pickle.loads(pickle.dumps(each)) == each for each in (ledger, keyed)),
        len({ledger, keyed, Ledger(place)}),
    ]
    known(words(place, [found, ledger.lines()]))


def test_runs_that_go_on(known, place):
    ledger = Ledger(place, "claims", epsilon=2.0, delta=1e-5)
    run = ledger.resumed("r", start=0)
    run.reserve(Gaussian(0.1), coordinates=1)
    again = ledger.resumed("r", start=1)
    again.reserve(Gaussian(0.1), coordinates=1)
    found = [outcome(ledger.resumed, "r", start=n) for n in (0, 1)]
    found = [str(type(each).__name__) for each in found] + [
        str(each) for each in found if isinstance(each, Exception)
    ]
    told = ledger.resumed("r", start=None)
    told.reserve(Gaussian(0.1), coordinates=1)
    found.append(outcome(ledger.with_key("r").resumed, "other", start=2))
    told.settle()
    found += [outcome(ledger.resumed, "r", start=5)]
    known(words(place, [found, ledger.lines()]))


def test_names_and_caps(known, place):
    found = [outcome(Ledger, place, "claims"), outcome(Ledger, place), outcome(Ledger.names, place)]
    found += [outcome(Ledger, place, guarantee=tg.GDP(1.0))]
    ledger = Ledger(place, "claims", guarantee=tg.GDP(1.0))
    found += [outcome(Ledger, place, "claims", guarantee=tg.GDP(2.0)), Ledger(place).name]
    found += [outcome(Ledger, place, guarantee=tg.GDP(1.0)), outcome(Ledger, place, "patients")]
    found += [Ledger(place, "claims", guarantee=tg.GDP(1.0)) == ledger]
    Ledger(place, "patients", epsilon=1.0, delta=1e-6)
    found += [Ledger.names(place), outcome(Ledger, place)]
    wrong = ("", " ", None, 3, "n" * 201)
    found += [outcome(Ledger, place, bad, guarantee=tg.GDP(1.0)) for bad in wrong]
    found += [outcome(Ledger, bad, "claims") for bad in ("", None, 3)]
    found += [outcome(Ledger, place, "x", guarantee=bad) for bad in (3, "gdp")]
    found += [Ledger(place, "n" * 200, guarantee=tg.GDP(1.0)).name == "n" * 200]
    found += [outcome(ledger.backup, place), outcome(ledger.backup, place.parent / "copy")]
    found += [Ledger(place.parent / "copy", "claims").head() == ledger.head()]
    known(words(place, found))


@pytest.mark.parametrize("change", range(17))
def test_exports(known, place, change):
    ledger, _ = charged(place, "approx")
    held = ledger.lines()
    known_export, head = exported(held[:2]), head_of(held[:2])
    other = Ledger(place, "patients", guarantee=CAPS["approx"])
    longer = exported(held)
    edited = deepcopy(known_export)
    edited["lines"][1]["key"] = "other"
    changes = [
        *(known_export, head, None, {}, 3, head | {"position": 0}, head | {"position": 1}),
        *(head | {"digest": "0"}, head | {"ledger": "x"}, known_export | {"head": head_of(held)}),
        *(edited, longer, head | {"tailguard_ledger": 2}, known_export | {"lines": []}),
        *(head | {"position": 99}, exported(other.lines()), head_of(held[:1])),
    ]
    call = check_continues
    known(words(place, [outcome(call, held, changes[change]), outcome(call, held[:2], longer)]))


def chain(*drafts):
    made = ()
    for kind, key in drafts:
        draft = Draft(kind, key, {})
        made = (*made, Line.after(made, "claims", draft, time="2026"))
    return made


CHAINS = {
    "empty": chain(),
    "no cap": chain((RESERVED, "a")),
    "cap": chain((CREATED, "")),
    "two caps": chain((CREATED, ""), (CREATED, "")),
    "charge": chain((CREATED, ""), (RESERVED, "a"), (SETTLED, "a")),
    "charge twice": chain((CREATED, ""), (RESERVED, "a"), (RESERVED, "a")),
    "settled alone": chain((CREATED, ""), (SETTLED, "a")),
    "settled twice": chain((CREATED, ""), (RESERVED, "a"), (SETTLED, "a"), (SETTLED, "a")),
    "resumed": chain((CREATED, ""), (RESERVED, "a"), (RESUMED, "a (0)"), (RESUMED, "a (1)")),
    "unknown": chain((CREATED, ""), ("erased", "a")),
    "without the first": chain((CREATED, ""), (RESERVED, "a"))[1:],
    "without the second": chain((CREATED, ""), (RESERVED, "a"), (RESERVED, "b"))[::2],
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(known, name):
    known([outcome(check_chain, ledger, CHAINS[name]) for ledger in ("claims", "others")])


def test_constants(known):
    known(
        [
            *(lines.FIELDS, store.APPLICATION, store.VERSION, store.TABLES, store.DURABLE),
            *(store.MOST_KNOWN, storage.PATIENCE, sorted(storage.SHARED), storage.SENTENCES),
            *(contents.LARGEST_LEDGER, LONGEST_NAME, contents.coordinates_of([])),
            *(storage.file_system_of("/", "/no/such/table"), Store("/no/such/file").exists()),
            outcome(lines.check_chain, "claims", []),
        ]
    )


def test_files(known, place, monkeypatch):
    missing = Store(str(place))
    found = [missing.exists(), outcome(missing.names), outcome(missing.lines, "claims")]
    missing.create()
    missing.create()
    found += [missing.exists(), missing.names(), missing.first("claims"), missing.lines("claims")]
    written = [missing.append("claims", lambda _: Draft("created", "", {"n": 1})),
               missing.append("others", lambda _: Draft("created", "", {})),
               missing.append("claims", lambda seen: seen[0])]  # fmt: skip
    found += [written, missing.names(), missing.first("claims"), missing.lines("claims")]
    found += [sorted(each.name for each in place.parent.iterdir())[0], missing.check_integrity()]
    monkeypatch.setattr(storage, "file_system_of", lambda path: "nfs4")
    found += [outcome(missing.names), outcome(Store(str(place) + "2").create)]
    known(words(place, found))


def test_mounts(tmp_path):
    table = tmp_path / "mounts"
    begin = "36 35 98:0 /"
    table.write_text(
        f"{begin} / rw - ext4 /dev/a rw\n"
        f"{begin} /mnt rw - nfs4 server:/b rw\n"
        f"{begin} /mnt/a\\040b rw shared:1 - tmpfs c rw\n"
        f"{begin} /mnt/late rw - xfs d rw\n{begin} /mnt/late rw - cifs e rw\n"
    )
    paths = ("/x", "/mnt", "/mnt/x", "/mnt2/x", "/mnt/a b/x", "/mnt/late/x", "/mnt/late")
    found = [storage.file_system_of(path, str(table)) for path in paths]
    assert found == ["ext4", "nfs4", "nfs4", "ext4", "tmpfs", "cifs", "cifs"]
