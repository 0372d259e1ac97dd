"""Columns of a file as a matrix of public width."""

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.cli.design import Design, declare_design

HEADER = ("age", "region", "cost", "years")


def test_categorical_columns_keep_their_place(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,region,km\n30,north,1\n40,south,2\n50,moon,3\n60,,4\n")
    design = Design(("km", "region", "age"), {"region": ("north", "south")})
    assert design.feature_names == ("km", "region=south", "region=other", "age")
    missing = np.nan
    np.testing.assert_array_equal(
        design.read(path),
        [[1, 0, 0, 30], [2, 1, 0, 40], [3, 0, 1, 50], [4, missing, missing, 60]],
    )


def test_a_design_may_be_categorical_only(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("region\nnorth\nsouth\n")
    design = Design(("region",), {"region": ("north",)})
    np.testing.assert_array_equal(design.read(path), [[0.0], [1.0]])


def test_the_default_is_every_other_column():
    design = declare_design(
        HEADER,
        features=None,
        categorical={"region": ("north", "south")},
        reserved={"--target": "cost", "--exposure": "years"},
    )
    assert design.columns == ("age", "region")


@pytest.mark.parametrize(
    ("features", "categorical", "named"),
    [
        (("age", "cost"), {}, "--features"),
        (("age",), {"region": ("north",)}, "--categorical"),
        (("age", "region"), {"region": ("other",)}, "region"),
    ],
)
def test_what_does_not_fit_is_refused(features, categorical, named):
    with pytest.raises(InputError, match=named):
        declare_design(
            HEADER, features=features, categorical=categorical, reserved={"--target": "cost"}
        )
