"""Rows without an order: sums are made where rows lie, and none but a sample comes here."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from support.batched import small_memory
from support.loops import gathered
from support.problems import example_of
from support.shuffled import COLUMNS, N_ROWS, cuts, frame
from support.solvers import SOLVERS, brief_solver
from tailguard.checks import InputError
from tailguard.cli.app import run
from tailguard.data.readers import dask as dask_table
from tailguard.data.readers.opening import opened
from tailguard.data.rows import streams, unordered
from tailguard.data.rows.reader import RecordReader
from tailguard.data.schema import Schema
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.gate.stage import Stage
from tailguard.means.choice import MEANS, make_method
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import make_source
from tailguard.privacy.events import Gaussian
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.solvers.newton import allocation

__all__ = ["cuts", "frame", "small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
SENTENCE = "row_id must name a column that identifies rows: they have no order"


def bits_of(solved):
    return solved.coef.tobytes(), solved.certificate.to_json()


def descended(source, **told):
    return tg.minimize(
        tg.losses.Huber(1.0), source, target="cost", columns=COLUMNS, intercept=True,
        constraint=tg.sets.L2Ball(2.0), solver=tg.solvers.NoisyGradientDescent(n_steps=5),
        **BUDGET, **told,
    )  # fmt: skip


def fitted(source):
    model = tg.LinearRegression(**BUDGET)
    model.fit(source, target="cost", columns=COLUMNS, row_id="policy")
    return (model.coef_.tobytes(), model.certificate_.to_json()), model


def forbidden(*given, **named):
    raise AssertionError("rows are brought here")


@pytest.fixture
def nothing_comes(monkeypatch):
    """Let no row of a Dask data frame come here."""
    monkeypatch.setattr(dask_table.DaskTable, "batches", forbidden)
    monkeypatch.setattr(dask_table.DaskTable, "worker_rows", forbidden)
    real = dask_table.summed_edges
    monkeypatch.setattr(
        dask_table, "summed_edges",
        lambda edges, *others: forbidden() if (edges := list(edges)) else real(edges, *others),
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("told", [{"order": "any"}, {"row_id": "policy"}])
def test_plain_sums_have_one_digest_under_every_order_and_cut(cuts, told):
    bits = {name: bits_of(descended(source, **told)) for name, source in cuts.items()}
    assert len(set(bits.values())) == 1
    assert bits_of(descended(cuts["pandas"])) not in bits.values()


@pytest.mark.parametrize("told", [{"order": "any"}, {"row_id": "policy"}])
def test_for_plain_sums_no_row_leaves_its_worker(cuts, told, nothing_comes):
    for n in (1, 2, 7):
        descended(cuts[f"{n} partitions"], **told)
    with pytest.raises(tg.ReleaseError):  # the order of the file sends rows between chunks
        tg.LinearRegression(guarantee=BUDGET["guarantee"]).fit(
            cuts["7 partitions"], target="cost", columns=COLUMNS
        )


@pytest.fixture(params=["memory", "file"])
def sampled(request, monkeypatch):
    """Let a default fit steer by a sample of 1000 records, in memory or in a file."""
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", 1000)
    monkeypatch.setattr(allocation, "sample_suffices", lambda *given: True)
    if request.param == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
        monkeypatch.setattr(streams, "NUMBERS_GATHERED", 3 * 2**11)
    return 1000


@pytest.mark.long
def test_a_fit_brings_its_sample_here_and_no_other_rows(cuts, sampled, monkeypatch):
    """But for the few whose values begin with the same digits as the last one of the sample; and
    identifiers, which are looked at: whether all of them differ."""
    brought, chosen = [], dask_table.DaskTable.worker_rows

    def counted(table, names, choose):
        for rows in chosen(table, names, choose):
            brought.append(len(rows))
            yield rows

    batches = dask_table.DaskTable.batches

    def identifiers(table, names, n_rows):
        return batches(table, names, n_rows) if names == ["policy"] else forbidden()

    monkeypatch.setattr(dask_table.DaskTable, "batches", identifiers)
    monkeypatch.setattr(dask_table.DaskTable, "worker_rows", counted)
    digests = set()
    for name in ("pandas", "shuffled", "row groups of 100", "row groups of 5000", "2 partitions",
                 "7 partitions"):  # fmt: skip
        found, model = fitted(cuts[name])
        digests.add(found)
        assert model.plan_.settings["sampled_records"] == sampled
    assert len(digests) == 1
    assert 2 * sampled <= sum(brought) <= 2 * sampled + 10


def refused(work):
    """Whether work is refused for want of identifiers, before a ledger is charged."""
    ledger = tg.Ledger("budget.sqlite", "rows", epsilon=20.0, delta=1e-5)
    told = ""
    try:
        work({"guarantee": tg.ApproxDP(8.0, 1e-6), "ledger": ledger})
    except InputError as error:
        told = str(error)
    charged = len(ledger.lines()) > 1  # beside the cap
    assert charged != (SENTENCE in told)
    return SENTENCE in told


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_without_identifiers_runs_or_is_refused_before_anything_is_spent(
    cuts, solver, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    loss, constraint = tg.losses.Huber(1.0), example_of(solver).constraint

    def work(options):
        source = cuts["row groups of 1024"]
        told = {"target": "cost", "columns": COLUMNS, "constraint": constraint}
        told["solver"] = brief_solver(solver)
        tg.minimize(loss, source, order="any", **told, **options)

    # Without an intercept no columns are shifted, and so no differences of pairs are counted.
    problem = Problem(loss, N_ROWS, len(COLUMNS), constraint=constraint)
    plan = brief_solver(solver).plan(problem, tg.ApproxDP(8.0, 1e-6))
    assert refused(work) == bool(plan.stages_by_place)


@pytest.mark.parametrize("method", MEANS)
def test_a_mean_without_identifiers_runs_or_is_refused_before_anything_is_spent(
    cuts, method, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    def work(named):
        source = cuts["row groups of 1024"]
        tg.mean(source, columns=COLUMNS, order="any", method=method, **named)

    plan = make_method(method).plan(Problem(None, N_ROWS, len(COLUMNS)), tg.ApproxDP(8.0, 1e-6))
    assert refused(work) == bool(plan.stages_by_place)


def test_a_plan_says_for_which_stages_identifiers_are_needed(frame):
    plan = tg.LinearRegression(**BUDGET).fit(frame[COLUMNS], frame["cost"]).plan_
    assert "rows without an order need a row_id, for target scale, scale" in plan.explain()
    assert "row_id" not in descended(frame).plan.explain()


def test_another_order_is_refused(frame):
    with pytest.raises(InputError, match="order must be one of 'file', 'any'; got 'sorted'"):
        descended(frame, order="sorted")


def test_the_command_takes_rows_without_an_order(cuts, capsys):
    path = str(cuts["row groups of 100"])
    told = ["--target", "cost", "--epsilon", "8", "--delta", "1e-6", "--out", "m.json"]
    assert run(["fit", path, *told, "--order", "any", "--drop", "policy"]) != 0
    assert SENTENCE.replace("row_id", "--row-id") in " ".join(capsys.readouterr().err.split())


def test_files_of_a_few_rows_may_have_no_row_of_a_sample(frame, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for number, (start, n_rows) in enumerate(((0, 1), (1, 2), (3, N_ROWS - 6), (N_ROWS - 3, 3))):
        parquet.write_table(table.slice(start, n_rows), tmp_path / f"{number}.parquet")
    reader = RecordReader(Schema(features=COLUMNS, row_id="policy"), alone=True)
    rows = streams.StreamRows(opened(str(tmp_path)), reader)
    kernel = gathered(600, 4)
    for seed in range(20):
        hashed = KeyedHash(make_source(seed))
        assert unordered.in_keyed_order(rows, hashed, 600).reduce(kernel).size == kernel.size


def test_a_search_over_rows_without_an_order_is_refused_before_anything_is_spent(frame, tmp_path):
    ledger = tg.Ledger(str(tmp_path / "budget.sqlite"), "rows", epsilon=4.0, delta=1e-5)
    schema = tg.Schema(features=COLUMNS, target="cost", row_id="policy")
    search = tg.PrivateSearch(
        tg.LinearRegression(schema=schema),
        {"alpha": [0.0, 0.1]},
        epsilon=2.0,
        delta=1e-6,
        ledger=ledger,
    )
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unordered, "fits", without_room)
        with pytest.raises(InputError, match="no room"):
            search.fit(str(path))
    assert [line.kind for line in ledger.lines()] == ["created"]


def without_room(rows, count):
    raise InputError("TMPDIR must have room; there is no room.")


def test_blocks_of_rows_without_identifiers_are_refused_before_they_are_booked():
    gate = Gate.over(np.ones((8, 2)), None, guarantee=tg.GDP(3.0), order="any")
    gate.reserve(Gaussian(1.0))
    blocks = gate.partition("blocks", 4)
    query = MeanClippedGradient(None, Units.raw(2, intercept=False), clip_norm=1.0)
    stage = Stage("pass", "means", 0.5, 1, 2, block_map="blocks", n_blocks=4)
    with pytest.raises(InputError, match=SENTENCE):
        gate.ask(query, np.zeros(2), stage, blocks=blocks)
    assert gate.certificate().releases == ()
