"""Matrix products use one thread wherever records are summed, and as many as before after."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tailguard.kernels.one_blas_thread import one_blas_thread
from tailguard.rows.reader import RecordReader
from tailguard.schema.schema import Schema


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

    size = 1

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
