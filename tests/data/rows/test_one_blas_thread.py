"""Matrix products use one thread wherever records are summed, and as many as before after."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tailguard.data.rows import threads
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.threads import limited_blas, one_blas_thread
from tailguard.data.schema import Schema


def n_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("BLAS has one thread here.")
        yield


class Seen:
    """What a kernel sees of the threads of BLAS."""

    size, reads_cells = 1, False

    def sum_block(self, block):
        return np.array(sorted(n_threads()))


READER = RecordReader(Schema(features=["age"]))
RUN = [pa.table({"age": [41.0, 50.0]})], 0


def test_a_worker_sums_with_one_thread_and_gives_the_others_back():
    assert READER.sum_of(Seen(), RUN).tolist() == [1]
    assert n_threads() == {2}


def test_the_last_of_several_threads_takes_the_limit_back():
    with ThreadPoolExecutor(3) as pool:
        with one_blas_thread():
            found = list(pool.map(lambda _: READER.sum_of(Seen(), RUN).tolist(), range(20)))
            assert n_threads() == {1}
        assert found == [[1]] * 20
        assert n_threads() == {2}


def test_an_error_takes_it_back_too():
    with pytest.raises(ValueError, match="none"), one_blas_thread():
        raise ValueError("none")
    assert n_threads() == {2}


def test_a_limit_that_another_library_has_ended_is_set_anew():
    with limited_blas, threadpool_limits(2, user_api="blas"), limited_blas:
        assert n_threads() == {1}
    assert n_threads() == {2}


def test_fits_take_turns():
    inside, most = 0, 0

    def fit(_):
        nonlocal inside, most
        with one_blas_thread():
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(fit, range(9)))
    assert most == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="No process can be forked here.")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_is_forked_inside_begins_anew():
    held, done = Event(), Event()

    def hold(_):
        with one_blas_thread():
            held.set()
            done.wait(60)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold, None)
        held.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            free = n_threads() == {2}
            with one_blas_thread():
                free = free and n_threads() == {1}
            os._exit(0 if free and n_threads() == {2} else 1)
        status = os.waitpid(child, 0)[1]
        done.set()
        holding.result()
    assert status == 0
    assert n_threads() == {2}


def test_a_fork_outside_a_fit_looks_up_no_library(monkeypatch):
    """A lookup in each forked process takes time, and may wait for locks of lost threads."""
    monkeypatch.setattr(threads, "_libraries", lambda: pytest.fail("libraries were looked up"))
    limited_blas.begin_anew()
