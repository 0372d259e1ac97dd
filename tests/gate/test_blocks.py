"""Questions to blocks of records: one record, one block; asked once where that was promised."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tailguard as tg
from support.count_below import CountBelow
from support.sources import QuietSource
from support.stages import once, pure
from tailguard.checks import BudgetError, InputError
from tailguard.data.inputs import read_inputs
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.soft import SoftMean
from tailguard.noise.sources import CryptographicSource, SimulationSource
from tailguard.privacy.accounting.total_cost import total_mu
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.events import Composed, Gaussian, Laplace, Parallel, Repeated, Shuffled
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.queries.usable_records import CellKinds

N_ROWS = 103
X = np.random.default_rng(0).standard_normal((N_ROWS, 2))
RAW = Units.raw(2, intercept=False)
MEAN = MeanClippedGradient(None, RAW, row_limit=2.0, slope_limit=1.0)
COUNT = CountBelow(columns=(0, 1))
ZERO = np.zeros(2)
PROMISE = tg.ApproxDP(30.0, 1e-6)


def gate_over(data=X, *events, source=None, **facts):
    gate = Gate(make_rows(data), guarantee=PROMISE, source=source or SimulationSource(1), **facts)
    gate.reserve(Composed(events), coordinates=2_000)
    return gate


def planned(name, mu=1.0, times=1):
    return Parallel(name, 0, Repeated(Gaussian(mu), times))


def every_answer(data, amplified):
    event = Shuffled(1.0, 10) if amplified else planned("m")
    gate = gate_over(data, event)
    blocks = gate.partition("m", 10, amplified=amplified)
    return np.array([gate.ask(MEAN, ZERO, once(1.0), block=block) for block in blocks])


@pytest.mark.parametrize("amplified", [False, True])
def test_a_replaced_record_changes_the_answer_of_one_block(amplified):
    before = every_answer(X, amplified)
    for slot in range(0, N_ROWS, 6):
        changed = X.copy()
        changed[slot] = [1e6, -1e6]
        moved = (every_answer(changed, amplified) != before).any(axis=1)
        assert moved.sum() == 1 or (amplified and moved.sum() == 0)  # blocks leave records over


def test_blocks_add_up_to_the_whole():
    quiet = gate_over(X, planned("m", 2.0), Gaussian(2.0), source=QuietSource())
    blocks = quiet.partition("m", 4)
    parts = [quiet.ask(COUNT, ZERO, once(2.0), block=block) for block in blocks]
    np.testing.assert_allclose(sum(parts), quiet.ask(COUNT, ZERO, once(2.0)), atol=1e-9)


@pytest.mark.parametrize(
    "table",
    [np.asarray, csr_array, lambda X: X.astype(object), pd.DataFrame],
    ids=["array", "sparse", "objects", "frame"],
)
@pytest.mark.parametrize("unordered", [False, True])
def test_cells_of_a_block_are_those_of_its_own_records(table, unordered):
    """Else each of many blocks would tell of all records, at the price of one."""
    ids = np.arange(N_ROWS) if unordered else None
    held = replace(read_inputs(table(X)), row_ids=ids)
    gate = Gate.over(held, guarantee=PROMISE, random_state=1)
    event = Composed((planned("halves"), planned("sample"), planned("within")))
    gate.reserve(event, coordinates=2_000)
    halves = gate.partition("halves", sizes=(30, 73))
    (sample,) = gate.partition("sample", sizes=(11,))
    (within,) = gate.partition("within", sizes=(9,), within=halves[1])
    for block in (*halves, sample, within):
        counts = gate.ask(CellKinds(2), None, once(1.0), block=block)
        assert counts.sum(axis=1) == pytest.approx([block.n_rows] * 2, abs=20.0)


def test_noise_and_division_follow_the_size_of_the_block():
    gate = gate_over(X, planned("m"), source=QuietSource())
    blocks = gate.partition("m", sizes=(13, 80))
    soft = SoftMean(None, RAW, scale=1.0)
    for block in blocks:
        gate.ask(soft, ZERO, once(1.0), block=block)
    stds = [release.noise_std for release in gate.books.releases]
    assert stds == [soft.calibrate(n_rows, 2, 1.0).noise_std for n_rows in (13, 80)]
    ones = gate_over(np.ones((N_ROWS, 2)), planned("m"), source=QuietSource())
    for block in ones.partition("m", sizes=(13, 80)):
        assert ones.ask(MEAN, ZERO, once(1.0), block=block) == pytest.approx([1.0, 1.0])


def test_laplace_noise_composes_in_parallel_too():
    gate = gate_over(X, Parallel("m", 0, Laplace(0.5)))
    soft = SoftMean(None, RAW, scale=1.0)
    for block in gate.partition("m", 3):
        gate.ask(soft, ZERO, pure(0.5), block=block)
    assert gate.certificate().spent.epsilon <= 0.5


def test_asking_a_block_twice_costs_twice():
    gate = gate_over(X, planned("m"))
    blocks = gate.partition("m", 3)
    gate.ask(MEAN, ZERO, once(1.0), block=blocks[0])
    with pytest.raises(BudgetError, match="reserved budget"):
        gate.ask(MEAN, ZERO, once(1.0), block=blocks[0])
    gate.ask(MEAN, ZERO, once(1.0), block=blocks[1])
    assert gate.certificate().spent.mu == pytest.approx(1.0, rel=1e-9)


def test_all_blocks_are_asked_in_one_release():
    gate = gate_over(X, planned("m"), Shuffled(0.5, 10))
    blocks = gate.partition("m", 5, equal_sizes=True)
    answers = gate.ask(MEAN, ZERO, once(1.0, "groups"), blocks=blocks)
    secret = gate.partition("s", 10, amplified=True)
    assert answers.shape == (5, 2)
    assert gate.ask(MEAN, ZERO, once(0.5), blocks=secret).shape == (10, 2)
    first, second = gate.books.releases
    assert (first.stage, second.stage) == ("groups", "")
    assert (first.block_map, first.block, first.parameters["map_blocks"]) == ("m", None, 5)
    assert second.parameters["map_order"] == "shuffled"
    assert "every block of 'm'" in " ".join(str(gate.certificate()).split())


def test_every_answer_of_a_release_counts_towards_numbers_and_distance():
    one, five = (gate_over(X, planned("m")) for _ in range(2))
    one.ask(MEAN, ZERO, once(1.0), block=one.partition("m", 5, equal_sizes=True)[0])
    five.ask(MEAN, ZERO, once(1.0), blocks=five.partition("m", 5, equal_sizes=True))
    single, all_five = (gate.certificate().sampler_distance for gate in (one, five))
    assert all_five == single.times(5) != single
    few = Gate(make_rows(X), guarantee=PROMISE, source=SimulationSource(1))
    few.reserve(planned("m"), coordinates=9)
    with pytest.raises(BudgetError, match="more were released than planned"):
        few.ask(MEAN, ZERO, once(1.0), blocks=few.partition("m", 5, equal_sizes=True))


def test_asking_all_at_once_and_one_by_one_reads_the_same():
    answers = []
    for one_by_one in (False, True):
        # The same seed draws the same partition, and then the same noise in the same order.
        gate = Gate(make_rows(X), guarantee=tg.GDP(1e6), source=SimulationSource(5))
        gate.reserve(planned("m", 1e5))
        blocks = gate.partition("m", 5, equal_sizes=True)
        asked = (
            np.array([gate.ask(MEAN, ZERO, once(1e5), block=block) for block in blocks])
            if one_by_one
            else gate.ask(MEAN, ZERO, once(1e5), blocks=blocks)
        )
        answers.append(asked)
    np.testing.assert_array_equal(*answers)


def test_an_amplified_block_answers_once_and_in_any_order():
    gate = gate_over(X, Shuffled(0.5, 10), Gaussian(3.0))
    blocks = gate.partition("s", 10, amplified=True)
    for index in (7, 2):
        gate.ask(MEAN, ZERO, once(0.5), block=blocks[index])
    with pytest.raises(BudgetError, match="at most once"):
        gate.ask(MEAN, ZERO, once(0.5), block=blocks[7])
    with pytest.raises(BudgetError, match="at most once"):
        gate.ask(MEAN, ZERO, once(0.5), blocks=blocks)
    with pytest.raises(BudgetError, match="reserved budget"):
        gate.ask(MEAN, ZERO, once(0.51), block=blocks[3])
    gate.ask(MEAN, ZERO, once(0.4), block=blocks[3])


def test_an_amplified_block_takes_gaussian_noise_only():
    gate = gate_over(X, Shuffled(0.5, 10), Laplace(1.0))
    blocks = gate.partition("s", 10, amplified=True)
    with pytest.raises(InputError, match="Gaussian noise"):
        gate.ask(SoftMean(None, RAW, scale=1.0), ZERO, pure(0.5), block=blocks[0])
    assert not gate.books.releases


def test_an_amplified_partition_is_asked_for_and_has_equal_sizes():
    gate = gate_over()
    assert not gate.partition("a", 10).amplified
    assert not gate.partition("b", 10, equal_sizes=True).amplified
    amplified = gate.partition("c", 10, amplified=True)
    assert amplified.amplified
    assert set(amplified.sizes) == {10}
    with pytest.raises(InputError, match="must be equal"):
        gate.partition("d", sizes=(3, 4), amplified=True)


def test_nothing_public_tells_which_record_is_where():
    gate = gate_over(X, Shuffled(0.5, 10))
    blocks = gate.partition("s", 10, amplified=True)
    assert blocks == gate_over(X[::-1].copy()).partition("s", 10, amplified=True)
    gate.ask(MEAN, ZERO, once(0.5), block=blocks[0])
    written = str(gate.certificate().to_dict()) + repr(blocks) + repr(gate.books.releases)
    assert "array" not in written


def test_private_partitions_are_fresh():
    places = []
    for _ in range(2):
        gate = gate_over(source=CryptographicSource())
        gate.partition("m", 2)
        places.append(gate._partitions._cuts["m"].order.tolist())
    assert places[0] != places[1]


def test_a_name_is_used_once_and_blocks_stay_with_their_gate():
    gate, other = gate_over(X, planned("m")), gate_over(X, planned("m"))
    gate.partition("m", 2)
    with pytest.raises(InputError, match="name must be new"):
        gate.partition("m", 2)
    with pytest.raises(InputError, match="partition of this gate"):
        other.ask(MEAN, ZERO, once(1.0), block=gate.partition("n", 2)[0])
    with pytest.raises(InputError, match="equal size"):
        gate.ask(MEAN, ZERO, once(1.0), blocks=gate.partition("o", 2))


def test_nested_passes_cost_as_their_costliest_phase():
    phases = [Parallel("phases", phase, Shuffled(0.5, 5)) for phase in (0, 1)]
    gate = gate_over(X, *phases)
    outer = gate.partition("phases", sizes=(50, 50))
    for phase in (0, 1):
        name, facts = f"batches {phase}", {"amplified": True}
        batches = gate.partition(name, 5, within=outer[phase], **facts)
        assert gate.ask(MEAN, ZERO, once(0.5), blocks=batches).shape == (5, 2)
    certificate = gate.certificate()
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-9)
    alone = gate_over(X, Shuffled(0.5, 5)).certificate()
    assert certificate.total.epsilon == pytest.approx(alone.total.epsilon, rel=1e-6)


def test_two_gates_with_one_ledger_and_one_name_are_not_parallel():
    ledger = MemoryBooks()
    for _ in range(2):
        gate = gate_over(X, planned("m"), source=CryptographicSource(), ledger=ledger)
        gate.ask(MEAN, ZERO, once(1.0), block=gate.partition("m", 2)[0])
        gate.ask(MEAN, ZERO, once(1.0), block=gate._partitions._cuts["m"].blocks[1])
    maps = {release.block_map for release in ledger.releases}
    assert len(maps) == 2
    total = total_mu(ledger.reserved)
    assert total == pytest.approx(2.0**0.5, rel=1e-9)


def test_threads_cannot_ask_an_amplified_block_twice():
    gate = gate_over(X, Shuffled(0.5, 10), Repeated(Gaussian(0.5), 20))
    blocks = gate.partition("s", 10, amplified=True)

    def answered(block):
        try:
            return gate.ask(MEAN, ZERO, once(0.5), block=block) is not None
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        counts = sum(pool.map(answered, [blocks[0]] * 40))
    assert counts == 1
