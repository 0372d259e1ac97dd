"""Persons whose rows are scattered over batches: the sums of memory, and nothing of row counts."""

import json
import os
import tempfile

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.attack import move
from support.person_attack import EXAMPLES, UNITS, calibrated, lattice, neighbour, table
from support.person_tables import on_disk, scattered, shuffled, written
from support.told import Told
from tailguard.data.rows import keys as keys_module
from tailguard.data.rows import person_file
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.data.rows.record_file import RecordFile
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.unit import Unit
from tailguard.progress import listening

__all__ = ["on_disk"]
pytestmark = pytest.mark.usefixtures("on_disk")


def filed(example, rows, keys, unit, cut=37):
    told = {"loss": example.loss, "exposed": example.exposed, "weighted": example.weighted}
    return scattered(rows, keys, unit, cut=cut, **told)


def held(example, rows, keys, unit):
    identifiers = np.asarray(keys) if isinstance(keys, np.ndarray) else keys
    return PersonRows(example.read(rows), Persons.of(identifiers, unit), SimulationSource(3))


def attack(example, unit, n_pairs, seed, most=100):
    """Replace persons; return the largest move over the charged one, and how many sums differ."""
    rng, worst, n_other = np.random.default_rng(seed), 0.0, 0
    calibration = calibrated(example, unit)
    norm, allowed = calibration.sensitivity.norm, calibration.charged / calibration.grid
    for kind in range(n_pairs):
        first = table(rng, example.width, kind)
        order = rng.permutation(len(set(first[1].tolist())))
        answers = []
        for rows, keys in (first, neighbour(rng, *first, example.width, most)):
            cut = int(rng.integers(1, 60))
            sums = [
                lattice(example, read(example, rows, keys, unit), calibration, order)
                for read in (lambda *told, cut=cut: filed(*told, cut=cut), held)
            ]
            n_other += not np.array_equal(*sums)
            answers.append(sums[0])
        worst = max(worst, move(*answers, norm) / allowed)
    return worst, n_other


@pytest.mark.parametrize(
    ("name", "unit"), [(name, UNITS[place % len(UNITS)]) for place, name in enumerate(EXAMPLES)]
)
def test_a_replaced_person_moves_scattered_rows_by_the_charge_and_the_bits_are_those_of_memory(
    name, unit
):
    """By units in turn: in memory, whose bits these are, each is tried with all of them."""
    worst, n_other = attack(EXAMPLES[name], unit, n_pairs=2, seed=len(name))
    assert worst <= 1.0 + 1e-12
    assert n_other == 0


@pytest.mark.audit
@pytest.mark.parametrize("name", EXAMPLES)
def test_hundreds_of_replaced_persons_never_exceed_the_charge(name):
    """What one of 67 pairs shows is seen with probability .95, of each query and form by itself."""
    for seed, unit in enumerate(UNITS):
        worst, n_other = attack(EXAMPLES[name], unit, 50, 100 + seed, most=1_000)
        assert (worst <= 1.0 + 1e-12, n_other) == (True, 0), unit


# Whole runs -------------------------------------------------------------------------------------


def tables(n_persons=300):
    """Neighbours: one person has one void row, or two thousand; and rows of nobody."""
    rng = np.random.default_rng(1)
    keys = np.repeat(np.arange(n_persons), rng.integers(1, 8, n_persons))
    X = rng.standard_normal((len(keys), 2))
    told = pd.DataFrame(X, columns=["a", "b"]).assign(cost=X @ [1.0, -1.0], key=keys.astype(str))
    void = dict.fromkeys(["a", "b", "cost"], np.nan)
    for seed, (n_void, n_nobody) in enumerate(((1, 0), (2_000, 0), (3, 900))):
        some = [pd.DataFrame(void | {"key": ["void"] * n_void}, index=range(n_void))]
        some += [pd.DataFrame(void | {"key": [None] * n_nobody}, index=range(n_nobody))]
        yield shuffled(pd.concat([told, *some]).astype({"key": "string"}), seed)


def lines_of(checkpoint):
    """What a checkpoint says, but for random keys and the disk's number, and how long it is."""
    lines = [json.loads(line)["content"] for line in checkpoint.read_text().splitlines()]
    own = ("sealed", "key", "run", "file")
    plain = [{k: v for k, v in line.items() if k not in own} for line in lines]
    return [plain, checkpoint.stat().st_size - len(lines[0]["file"])]


def told_of_a_fit(folder, source, seen):
    """All that a fit of a file leaves: numbers, words, files, ledger lines and progress."""
    options = {"guarantee": tg.GDP(2.0), "max_rows": 5, "person": "key"}
    ledger = tg.Ledger(folder / "l.sqlite", "t", guarantee=tg.GDP(9.0), person="key")
    known, heard, point = {"target": "cost"}, Told(), folder / "point"
    with listening(heard):
        model = tg.LinearRegression(**options, random_state=0, checkpoint=point)
        model.fit(source, **known)
        mean = tg.mean(source, columns=["a", "b"], random_state=0, **options)
    private = tg.LinearRegression(**options, ledger=ledger).fit(source, **known)
    charged = [line.data() for line in ledger.lines()[:2]]
    for line in charged:
        line.pop("released_by", None)
    return {
        "numbers": repr([model.coef_, model.intercept_, model.coef_std_, mean.value]),
        "words": [model.explain(), model.summary(), repr(mean), mean.explain()],
        "certificates": [model.certificate_.to_json(), mean.certificate.to_json()],
        "plan": [private.plan_.explain(), private.certificate_.n_rows],
        "charged": charged,
        "report": model.report().to_json(),
        "heard": heard.heard,
        "checkpoint": lines_of(point),
        "files": seen,
    }


@pytest.mark.long
def test_nothing_that_leaves_a_fit_of_files_depends_on_the_number_of_rows(tmp_path, monkeypatch):
    told, room, fill = [], tmp_path / "room", RecordFile.fill
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    seen = []

    def filled(file, shared):
        fill(file, shared)
        seen.append(os.listdir(room))

    monkeypatch.setattr(RecordFile, "fill", filled)
    for number, frame in enumerate(tables()):
        folder = tmp_path / str(number)
        folder.mkdir()
        seen = []
        source = written(frame, tmp_path / "visits.parquet", row_group_size=600)
        told.append(told_of_a_fit(folder, source, seen))
    for name, found in told[0].items():
        assert found == told[1][name] == told[2][name], name
    assert told[0]["plan"][1] == 301
    assert told[0]["files"] == [[]] * 3  # of a file without a name
    assert not any(isinstance(each, tuple) and each[0] == each[1] for each in told[0]["heard"])


def changed_while_read(path, frame):
    """A file in which a person appears once its keys were read."""
    counted = keys_module.PersonKeys.of

    def then_another(columns, unit):
        found = counted(columns, unit)
        written(frame.assign(key="new"), path)
        return found

    return then_another


@pytest.mark.parametrize("seed", [None, 0])
def test_errors_tell_no_number_of_rows(seed, tmp_path, monkeypatch):
    said = []
    options = {"guarantee": tg.GDP(2.0), "max_rows": 5, "person": "key", "random_state": seed}
    for frame in tables():
        path = written(frame, tmp_path / "visits.parquet")
        with monkeypatch.context() as patch:
            patch.setattr(keys_module.PersonKeys, "of", changed_while_read(path, frame))
            with pytest.raises(tg.ReleaseError) as changed:
                tg.LinearRegression(**options).fit(path, target="cost")
        written(frame.assign(key=pd.array([None] * len(frame), dtype="string")), path)
        with pytest.raises(tg.InputError, match="key must hold a key") as nobody:
            tg.LinearRegression(**options).fit(path, target="cost")
        written(frame, path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(tg.ReleaseError, match="is full") as room:
                tg.LinearRegression(**options).fit(path, target="cost")
        said.append([str(each.value) for each in (changed, nobody, room)])
        said[-1].append(str(changed.value.__cause__))
    assert said[0] == said[1] == said[2]


def full(file, text, place):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("gathered", [0, 2**25], ids=["on disk", "in memory"])
def test_a_void_row_more_moves_no_chunk_of_a_file(gathered, monkeypatch):
    """It would move all later rows, each of which is rounded by itself."""
    monkeypatch.setattr(person_file, "NUMBERS_GATHERED", gathered)
    example = next(e for name, e in EXAMPLES.items() if name.startswith("second-moments"))
    unit, rng = Unit(person="key", max_rows=5), np.random.default_rng(0)
    rows = rng.standard_normal((5_000, example.width))
    keys = [str(key) for key in np.repeat(np.arange(1_000), 5)]
    keys[:5] = ["1"] * 5  # the void rows are all that the first person has
    answers = []
    for n_void in (1, 2):
        data = np.concatenate([np.full((n_void, example.width), np.nan), rows])
        told = filed(example, data, ["0"] * n_void + keys, unit, cut=1_000)
        answers.append(lattice(example, told, calibrated(example, unit), None))
    np.testing.assert_array_equal(*answers)
