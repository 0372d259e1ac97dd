"""Simulated motor insurance: skewed, heavy-tailed columns in realistic units."""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer, named_arguments
from tailguard.datasets.dataset import Dataset, check_sizes


@dataclass(frozen=True)
class _Column:
    """A column in its raw unit: centre, standard deviation and shape of its distribution.

    ``shape`` is "normal", "student", "gamma", "lognormal" or "wealth"; columns of shape "wealth"
    are lognormal and correlated with one another. ``weight`` is the effect of one standard
    deviation of the column on the yearly cost, in thousands of the currency.
    """

    name: str
    centre: float
    std: float
    shape: str
    weight: float


# Raw units range from 1e-6 to 1e6. The two calendar columns are 50 and 170 standard deviations from
# zero, as is typical of dates. All figures are invented.
COLUMNS = (
    _Column("driver_age_years", 47.0, 14.0, "gamma", -0.35),
    _Column("vehicle_value", 1.9e4, 1.4e4, "wealth", 0.55),
    _Column("sum_insured", 1.2e6, 1.0e6, "wealth", 0.40),
    _Column("yearly_distance_km", 1.3e4, 7.0e3, "lognormal", 0.50),
    _Column("district_claims_per_km", 3.0e-6, 1.0e-6, "lognormal", 0.30),
    _Column("engine_power_kw", 85.0, 30.0, "student", 0.20),
    _Column("registration_day", 4.4e4, 8.8e2, "student", -0.15),
    _Column("policy_start_second", 1.7e9, 1.0e7, "normal", 0.10),
)
COST_UNIT = 1000.0
COST_CENTRE = 2.5
ERROR_STD = 0.6
# Standard deviations of the logarithms of skewed columns and errors: excess kurtosis 31 and 10.
LOG_STD = 0.8
LOG_STD_ERRORS = 0.6
STUDENT_FREEDOM = 3.0  # degrees of freedom
STUDENT_STD = math.sqrt(STUDENT_FREEDOM / (STUDENT_FREEDOM - 2.0))


@named_arguments
def insurance_claims(n_rows: int = 10_000, seed: int = 0) -> Dataset:
    """Simulate the yearly net claim cost of motor policies, as ``tailguard demo`` does.

    There are eight columns in raw units from 1e-6 (claims per kilometre) to 1e6 (sums insured). Two
    are correlated through the owner's wealth, some have no fourth moment, and some are at least 50
    standard deviations from zero. The cost is linear in them, with skewed lognormal errors of mean
    zero; it is claims less recoveries, so it may be negative. No real records are involved.

    Parameters
    ----------
    n_rows
        The number of policies.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> claims = insurance_claims(n_rows=1000, seed=7)
    >>> claims.features.shape
    (1000, 8)
    >>> claims.features[:, 4].max() < 1e-3 and claims.features[:, 2].max() > 1e6
    np.True_
    """
    check_sizes(n_rows=n_rows)
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    wealth = rng.standard_normal(n_rows)
    standardised = np.column_stack(
        [_draw_standardised(rng, column.shape, wealth) for column in COLUMNS]
    )
    centres = np.array([column.centre for column in COLUMNS])
    stds = np.array([column.std for column in COLUMNS])
    weights = np.array([column.weight for column in COLUMNS])
    errors = ERROR_STD * _skewed(rng.standard_normal(n_rows), LOG_STD_ERRORS)
    coefficients = COST_UNIT * weights / stds
    return Dataset(
        features=centres + stds * standardised,
        feature_names=tuple(column.name for column in COLUMNS),
        target=COST_UNIT * (COST_CENTRE + standardised @ weights + errors),
        coefficients=coefficients,
        intercept=COST_UNIT * COST_CENTRE - float(coefficients @ centres),
        description=(
            "Simulated yearly net claim cost of motor policies: heavy-tailed columns in raw units "
            "from 1e-6 to 1e6, lognormal errors."
        ),
    )


def _draw_standardised(rng: np.random.Generator, shape: str, wealth: FloatArray) -> FloatArray:
    """Draw one column of mean zero and variance one."""
    n_rows = wealth.size
    if shape == "normal":
        return rng.standard_normal(n_rows)
    if shape == "student":
        return rng.standard_t(STUDENT_FREEDOM, n_rows) / STUDENT_STD
    if shape == "gamma":
        return (rng.standard_gamma(4.0, n_rows) - 4.0) / 2.0
    own = rng.standard_normal(n_rows)
    # The logarithms of the two columns of wealth have correlation 0.6.
    logarithm = np.sqrt(0.6) * wealth + np.sqrt(0.4) * own if shape == "wealth" else own
    return _skewed(logarithm, LOG_STD)


def _skewed(normal: FloatArray, log_std: float) -> FloatArray:
    """Transform normal variables to lognormal ones of mean zero and variance one."""
    mean = np.exp(log_std**2 / 2)
    std = mean * np.sqrt(np.expm1(log_std**2))
    return (np.exp(log_std * normal) - mean) / std
