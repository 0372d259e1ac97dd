"""Every registered query on given records: sensitivity, noise, answer, books, what it refuses."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from support.attack import lattice
from support.examples import query_examples
from support.known import outcome
from support.query_example import N_FEATURES
from tailguard.kernels.chunks import CHUNK_ROWS
from tailguard.privacy.books.blocks import Blocks
from tailguard.privacy.events import Approximate, Gaussian, Laplace, ZeroConcentrated
from tailguard.privacy.guarantees import ApproxDP
from tailguard.queries.base import calibration_for
from tailguard.queries.told import release_of

EXAMPLES = {example.name: example for example in query_examples()}
SIZES = (1, 7, 40, CHUNK_ROWS, CHUNK_ROWS + 1, 10**7)
ASKED = [Gaussian(0.01), Gaussian(2.0), Laplace(0.01), Laplace(2.0), ZeroConcentrated(0.1),
         Approximate(1.0, 1e-6)]  # fmt: skip
every_example = pytest.mark.parametrize("name", EXAMPLES)


def records(width, n_rows, seed=8):
    """Heavy tails, a gap, and values at the ends of the floats; exposures are positive."""
    data = np.random.default_rng(seed).standard_t(2.0, (n_rows, width))
    data[: n_rows // 4] *= 1e3
    data[3 % n_rows, 0], data[2 % n_rows, 1], data[1 % n_rows, 1] = np.nan, 1e300, -5e-324
    data[:, N_FEATURES + 1 :] = np.abs(data[:, N_FEATURES + 1 :]) + 0.1
    return data


@every_example
def test_sensitivity(known, name):
    query = EXAMPLES[name].query
    known([outcome(query.sensitivity, n_rows, N_FEATURES) for n_rows in SIZES])


@every_example
def test_noise(known, name):
    query, found = EXAMPLES[name].query, []
    for event in ASKED:
        for n_rows in (40, 5000):
            made = outcome(calibration_for, query, n_rows, N_FEATURES, event)
            if isinstance(made, Exception):
                found.append(made)
            else:
                numbers = asdict(made)
                found.append([numbers.pop("sensitivity")["norm"], numbers, made.noise_std])
    known(found)


@every_example
def test_public_numbers(known, name):
    query = EXAMPLES[name].query
    calibration = calibration_for(query, 5000, N_FEATURES, Gaussian(0.5))
    blocks = Blocks("halves", (50, 40))
    told = [release_of(query, calibration, "stage"),
            release_of(query, calibration, "", blocks=blocks),
            release_of(query, calibration, "", blocks=blocks, index=1)]  # fmt: skip
    if calibration.mechanism == "gaussian":
        told.append(release_of(query, calibration, "stage", sample=(50, 900)))
    known([query.name, query.random_order, query.parameters(), told])


@every_example
def test_answer(known, name):
    """Floats may be summed in another order elsewhere, and integers of a lattice be rounded up."""
    example = EXAMPLES[name]
    found = [lattice(example, records(example.width, n_rows)) for n_rows in (40, 43)]
    largest = max(float(np.abs(each).max()) for each in found)
    known([each.astype(float) for each in found], rel=1e-9, absolute=1e-8 * largest + 1e-9)


@every_example
def test_answer_far_from_the_records(known, name):
    """States may be anything that was released, and limits of a query hold there, too."""
    example = EXAMPLES[name]
    if not isinstance(example.state, np.ndarray) or "mini" in name or "multi" in name:
        return
    far = replace(example, state=1e25 * (example.state + 0.5))
    found = lattice(far, records(example.width, 40))
    known(found.astype(float), rel=1e-9, absolute=1e-8 * float(np.abs(found).max()) + 1e-9)


@every_example
def test_finish(known, name):
    query = EXAMPLES[name].query
    size = query.sensitivity(50, N_FEATURES).size
    noised = np.sin(np.arange(1.0, size + 1.0))
    found = np.asarray(query.finish(noised, 50))
    known([found.shape, found], rel=1e-7, absolute=1e-9)


@every_example
def test_noise_of_what_is_released(known, name):
    query = EXAMPLES[name].query
    if hasattr(query, "noise_std"):
        known(np.asarray(query.noise_std(500, N_FEATURES, 0.3)))
    if hasattr(query, "noise_stds"):
        known(query.noise_stds(500, 0.3))


def test_a_guarantee_is_no_event(known):
    query = next(iter(EXAMPLES.values())).query
    known([outcome(calibration_for, query, 10, N_FEATURES, each)
           for each in (ApproxDP(1.0, 1e-6), None)])  # fmt: skip
