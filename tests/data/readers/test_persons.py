"""Persons of files and engines: the bits of the same rows in memory, however they are scattered."""

import pytest

import tailguard as tg
from support.batched import digest
from support.person_tables import COLUMNS, N_PERSONS, cuts_of, on_disk, persons_frame, texts
from support.solvers import FEW_ROUNDS
from tailguard.data.rows.person_file import FiledPersons
from tailguard.solvers.newton import allocation

__all__ = ["on_disk"]
pytestmark = pytest.mark.usefixtures("on_disk")
BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
TOLD, KNOWN = {"person": "key", "max_rows": 3}, {"target": "cost", "columns": COLUMNS}
# Few rounds read the rows as often as it takes to tell.
PERSONS = {"solver": FEW_ROUNDS, **TOLD, **BUDGET}
FILES = ("row groups of 100", "folder", "7 partitions")


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    return cuts_of(persons_frame(), tmp_path_factory.mktemp("numbers"))


@pytest.fixture(scope="module")
def cuts_of_texts(tmp_path_factory):
    return cuts_of(texts(persons_frame()), tmp_path_factory.mktemp("texts"))


def fitted(source, **options):
    model = tg.LinearRegression(**{**PERSONS, **options})
    return model.fit(source, **KNOWN)


@pytest.mark.long
def test_a_fit_has_one_digest_under_every_order_and_cut(cuts):
    assert len({digest(fitted(source, solver="auto")) for source in cuts.values()}) == 1
    assert fitted(cuts["folder"]).certificate_.n_rows == N_PERSONS


@pytest.mark.long
def test_keys_of_text_are_those_of_memory(cuts_of_texts):
    assert len({digest(fitted(source)) for source in cuts_of_texts.values()}) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_whatever_counts_by_rows_or_is_kept_in_memory_has_one_digest(cuts, kept, monkeypatch):
    if kept:
        monkeypatch.undo()
    some = [cuts[name] for name in ("pandas", *FILES)]
    assert len({digest(fitted(source, weight="row")) for source in some}) == 1


def test_a_sample_of_persons_is_the_same_one(cuts, monkeypatch):
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", 3_200)
    monkeypatch.setattr(allocation, "SAMPLE_SUFFICES", {"fixed": 0.0})
    models = [fitted(cuts[name], solver="auto", max_rows=8) for name in ("pandas", *FILES)]
    assert any(stage.block_map == "sample" for stage in models[0].plan_.stages)
    assert len({digest(model) for model in models}) == 1


def of_labels(source):
    schema = tg.Schema(features=COLUMNS, target="ill", offset="shift", **TOLD)
    model = tg.LogisticRegression(schema=schema, classes=(0.0, 1.0), solver=FEW_ROUNDS, **BUDGET)
    return digest(model.fit(source))


def weighed(source):
    model = tg.HuberRegression(weight_bound=2.0, **PERSONS)
    return digest(model.fit(source, sample_weight="hours", **KNOWN))


def averaged(source):
    options = {"columns": COLUMNS, "method": "clamped", "n_groups": 1}
    return tg.mean(source, **options, **TOLD, **BUDGET).value.tobytes()


def minimised(source):
    return tg.minimize(tg.losses.Squared(), source, **KNOWN, **TOLD, **BUDGET).coef.tobytes()


def described(source):
    return repr(tg.describe(source, columns=COLUMNS, **TOLD, **BUDGET))


def searched(source):
    model = tg.LinearRegression(solver=FEW_ROUNDS, **TOLD)
    search = tg.PrivateSearch(model, {"fit_intercept": [True, False]}, n_tries=2.0, **BUDGET)
    return digest(search.fit(source, **KNOWN).best_estimator_)


@pytest.mark.long
@pytest.mark.parametrize(
    "work", [of_labels, weighed, averaged, minimised, described, searched], ids=lambda f: f.__name__
)
def test_other_results_have_one_digest(cuts, work):
    assert len({work(cuts[name]) for name in ("pandas", *FILES)}) == 1


def test_cells_that_make_rows_void_are_counted_alike(cuts):
    """Only where most records cannot be used are marks of cells read, from the table once more."""
    said = set()
    for name in ("pandas", *FILES):
        model = tg.LogisticRegression(classes=(5.0, 6.0), **PERSONS)
        with pytest.raises(tg.UnusableTableError) as caught:
            model.fit(cuts[name], target="ill", columns=COLUMNS)
        said.add(str(caught.value) + caught.value.certificate.to_json())
    assert len(said) == 1


def test_a_stopped_fit_goes_on(cuts, tmp_path):
    def stopped(path, source):
        asked = FiledPersons.reduce
        calls = []

        def reduce(rows, kernel, n_threads=None):
            calls.append(1)
            if len(calls) == 9:
                raise KeyboardInterrupt
            return asked(rows, kernel, n_threads)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FiledPersons, "reduce", reduce)
            with pytest.raises(KeyboardInterrupt):
                fitted(source, checkpoint=path)

    expected = digest(fitted(cuts["pandas"]))
    for name in ("folder", "7 partitions"):
        path = tmp_path / name
        stopped(path, cuts[name])
        again = fitted(cuts[name], checkpoint=path)
        once_more = fitted(cuts["shuffled"], checkpoint=path)
        assert digest(again) == digest(once_more) == expected


@pytest.mark.parametrize("name", ["folder", "7 partitions"])
def test_what_does_not_fit_is_refused_before_anything_is_spent(cuts, name):
    model = tg.LinearRegression(max_rows=3, **BUDGET)
    with pytest.raises(tg.InputError, match=r"person must be a column of .*, which is read in"):
        model.fit(cuts[name], person=cuts["pandas"].key, **KNOWN)
    with pytest.raises(tg.InputError, match="must have a column 'patient'"):
        model.fit(cuts[name], person="patient", **KNOWN)
    with pytest.raises(tg.InputError, match=r"person must not be a column of features"):
        model.fit(cuts[name], person="x0", **KNOWN)
