"""With identifiers, a fit has the same bits under any order and any cut of the rows."""

import pytest

import tailguard as tg
from support.batched import digest, small_memory
from support.registered import ESTIMATORS
from support.shuffled import COLUMNS, N_ROWS, cuts, frame
from support.solvers import FEW_ROUNDS, SOLVERS, brief_solver
from support.targets import FREE, takes_labels
from tailguard.checks import InputError
from tailguard.data.rows import streams, unordered

__all__ = ["cuts", "frame", "small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
        monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 4 * 2**11)
    return request.param


def fitted(source, name="LinearRegression", **options):
    options |= {"classes": (0.0, 1.0)} if takes_labels(ESTIMATORS[name]) else {}
    target = "ill" if takes_labels(ESTIMATORS[name]) else "cost"
    model = ESTIMATORS[name](solver=FEW_ROUNDS, **BUDGET, **options)
    return model.fit(source, target=target, columns=COLUMNS, row_id="policy")


@pytest.mark.long
def test_a_fit_has_one_digest_under_every_order_and_cut(cuts, place):
    some = cuts if place == "memory" else ("pandas", "row groups of 1024", "csv", "7 partitions")
    digests = {name: digest(fitted(cuts[name])) for name in some}
    assert len(set(digests.values())) == 1, digests


@pytest.mark.parametrize(
    "name",
    [
        *("LogisticRegression", "PoissonRegression"),
        *(pytest.param(name, marks=pytest.mark.audit) for name in FREE),
    ],
)
def test_every_estimator_has_one_digest(cuts, name):
    """The contract of queries without an order holds each alone; here are labels and counts."""
    some = ("pandas", "row groups of 1024", "7 partitions")
    assert len({digest(fitted(cuts[cut], name)) for cut in some}) == 1


OTHER_CUTS = ("row groups of 100", "2 partitions")
BY_TURNS = [("pandas", OTHER_CUTS[place % 2]) for place in range(len(SOLVERS))]


@pytest.mark.parametrize(
    ("solver", "some"),
    [
        *zip(SOLVERS, BY_TURNS, strict=True),
        *(pytest.param(s, ("pandas", *OTHER_CUTS), marks=pytest.mark.audit) for s in SOLVERS),
    ],
)
def test_every_solver_has_one_digest(cuts, solver, some):
    found = set()
    for cut in some:
        solved = tg.minimize(
            tg.losses.Huber(1.0), cuts[cut], target="cost", columns=COLUMNS, row_id="policy",
            constraint=tg.sets.SparseBall(2, 2.0) if solver == "hard-thresholding"
            else None if solver == "whitened-newton" else tg.sets.L2Ball(2.0),
            solver=brief_solver(solver), **BUDGET,
        )  # fmt: skip
        found.add(solved.coef.tobytes() + solved.certificate.to_json().encode())
    assert len(found) == 1


@pytest.mark.long
def test_means_have_one_digest(cuts):
    for method in ("clipped", "clamped", "iterative", "trimmed"):
        options = {"low": -9.0, "high": 9.0} if method == "trimmed" else {}
        found = {
            tg.mean(
                cuts[cut], columns=COLUMNS, row_id="policy", method=method, **BUDGET, **options
            ).value.tobytes()
            for cut in ("pandas", "row groups of 5000", "7 partitions", "csv")
        }
        assert len(found) == 1


def test_without_identifiers_the_order_matters(cuts):
    fits = [
        tg.LinearRegression(**BUDGET).fit(cuts[cut], target="cost", columns=COLUMNS)
        for cut in ("pandas", "row groups of 1024")
    ]
    assert digest(fits[0]) != digest(fits[1])


def test_identifiers_are_no_feature_and_a_schema_may_name_them(cuts):
    schema = tg.Schema(target="cost", drop=["ill"], row_id="policy")
    model = tg.LinearRegression(solver=FEW_ROUNDS, **BUDGET, schema=schema).fit(cuts["pandas"])
    assert model.schema_.coefficient_names == tuple(COLUMNS)
    assert model.coef_.tobytes() == fitted(cuts["7 partitions"]).coef_.tobytes()
    assert model.predict(cuts["pandas"][COLUMNS]).shape == (N_ROWS,)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"row_id": "number"}, "must have a column 'number'"),
        ({"row_id": "x0"}, "row_id must not be a column of features"),
        ({"row_id": "cost"}, "row_id must not be a column of target"),
        ({"row_id": 3}, "row_id must be the name of a column"),
    ],
)
def test_what_names_no_identifier_is_one_sentence(cuts, options, sentence):
    for cut in ("pandas", "2 partitions"):
        with pytest.raises(InputError, match=sentence):
            tg.LinearRegression(**BUDGET).fit(cuts[cut], target="cost", columns=COLUMNS, **options)


def test_a_stopped_fit_goes_on_with_identifiers(cuts, tmp_path):
    path = tmp_path / "fit.checkpoint"
    first, again = (fitted(cuts["row groups of 100"], checkpoint=path) for _ in range(2))
    assert digest(first) == digest(again) == digest(fitted(cuts["pandas"]))
