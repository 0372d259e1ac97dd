"""No record changes a bit of what another adds, whatever instructions the libraries choose.

A histogram is charged for one record in one bin. That asks that all other records fall where they
fell, and so that no loop over several numbers at once takes another way for all of them because of
one. NumPy and OpenBLAS choose their loops by the processor; here they are made to choose others.
"""

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from support.adversary import replaced
from support.attack import N_ROWS, lattice
from support.examples import query_examples
from support.query_example import N_FEATURES
from support.separation import (
    HOSTILE,
    OWN_COLUMNS,
    Separate,
    adding_kernels,
    counting_kernels,
    entangled,
    unlike_counts,
    unlike_parts,
)
from tailguard.losses import Squared

SCRIPT = "from support.separation import entangled; print(entangled(seed={}, n_slots={}))"
TESTS = Path(__file__).parents[1]


EXAMPLES = {example.name: example for example in query_examples()}
COUNTS = (*("count-norms-below", "count-magnitudes", "column-histograms", "whitened-histogram"),)
WEIGHTED = ("curvature", "slopes")
SUMS = (
    *("mean-clipped-gradient", "mean-record-gradient", "clipped-shells", "soft-mean"),
    *("second-moments", "level-gradients", "contribution-levels", "loss-differences"),
)


def instruction_sets():
    """What NumPy is told to leave alone: nothing, all but the oldest extension, every one."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return list(dict.fromkeys(["", ",".join(found[1:]), ",".join(found)]))


def blas_kernels():
    """Kernels of OpenBLAS that this processor can run, the oldest first."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return [""]
    newer = {"Haswell": {"X86_V3", "AVX2"}, "SkylakeX": {"X86_V4", "AVX512_SKX"}}
    return ["Nehalem", *(kernel for kernel, names in newer.items() if names & set(found))]


def found_elsewhere(features, blas, *, seed=0, n_slots=1, **settings):
    environment = {
        **os.environ, "NPY_DISABLE_CPU_FEATURES": features, "OPENBLAS_CORETYPE": blas,
        "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), **settings,
    }  # fmt: skip
    command = [sys.executable, "-c", SCRIPT.format(seed, n_slots)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.long
def test_no_record_changes_a_bit_of_another():
    assert entangled(n_slots=1) == []


@pytest.mark.long
def test_nor_with_the_oldest_instructions():
    assert found_elsewhere(instruction_sets()[-1], blas_kernels()[0]) == "[]"


@pytest.mark.audit
def test_nor_with_some_between():
    assert (
        found_elsewhere(instruction_sets()[1 % len(instruction_sets())], blas_kernels()[-1]) == "[]"
    )


@pytest.mark.audit
@pytest.mark.parametrize(("features", "blas"), [*product(instruction_sets(), blas_kernels())])
def test_nor_with_any_instructions(features, blas):
    assert found_elsewhere(features, blas, seed=1, n_slots=4) == "[]"


@pytest.mark.audit
def test_nor_with_code_compiled_for_a_plain_processor():
    assert found_elsewhere("", blas_kernels()[0], NUMBA_CPU_NAME="generic") == "[]"


@pytest.mark.parametrize("name", [n for n in EXAMPLES if n.split("/")[0] in COUNTS + SUMS])
def test_the_answer_less_that_of_one_record_is_that_of_the_others(name):
    example, slot = EXAMPLES[name], 6
    data = np.random.default_rng(2).standard_t(3, (N_ROWS, example.width))
    data[:, N_FEATURES:] = data[:, N_FEATURES:] > 0.0  # what is a label, and a count
    data[:, N_FEATURES + 1 :] += 0.5  # exposures
    alone = np.full_like(data, np.nan)
    alone[slot : slot + 2] = data[slot : slot + 2]  # a pair, where pairs are counted
    # Three sums are each rounded by half a step; counts by weight are sums, too.
    allowed = 0 if name.split("/")[0] in COUNTS and name.split("/")[1] not in WEIGHTED else 2
    others = []
    for value in HOSTILE:
        full, one = (
            lattice(example, replaced(rows, slot, np.full(example.width, value)))
            for rows in (data, alone)
        )
        others.append(full - one)
    assert np.abs(others[0]).max() > 0
    assert np.ptp(others, axis=0).max() <= allowed


@dataclass(frozen=True)
class ResidualDirection(Squared):
    """A loss whose slopes lean on the mean of all of them, by a ten-thousandth of a millionth."""

    def slope(self, score, target):
        slope = super().slope(score, target)
        return slope - 1e-10 * np.clip(slope, -1e3, 1e3).mean()


def test_a_kernel_that_leans_on_other_records_is_seen():
    records, rng = Separate(0), np.random.default_rng(0)
    kernels = {name: kernel for name, kernel, _ in adding_kernels(rng)}
    kernel = kernels["clipped-gradient/squared"]
    for loss, seen in ((Squared(), False), (ResidualDirection(), True)):
        object.__setattr__(kernel.query, "loss", loss)
        assert unlike_parts(kernel, OWN_COLUMNS, records, 3, 1e3, "features") == seen


def test_a_count_that_leans_on_other_records_is_seen():
    records, rng = Separate(0), np.random.default_rng(0)
    kernels = dict(counting_kernels(rng))

    class ResidualDirection:
        """Bins that move by one where some value is large."""

        def __init__(self, bins):
            self.bins, self.count = bins, bins.count

        def index(self, values):
            return np.minimum(self.bins.index(values) + (np.nanmax(values) > 1e6), self.count - 1)

    kernel = kernels["column-histogram/signed/False"]
    assert not unlike_counts(kernel, records, 3, 1e10, "features")
    object.__setattr__(kernel.query, "bins", ResidualDirection(kernel.query.bins))
    assert unlike_counts(kernel, records, 3, 1e10, "features")
