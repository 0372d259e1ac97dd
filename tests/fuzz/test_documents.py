"""Certificates, models and exports that were tampered with: read, or refused in one sentence."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import tailguard as tg
from support.fuzzing import attempt, changed, how_often, often
from tailguard.estimators.model_file import model_content
from tailguard.privacy.events import Gaussian


@cache
def model():
    """The file of a fitted model, which has a certificate in it."""
    table = pd.DataFrame({"age": np.arange(600.0) % 7, "region": ["n", "s"] * 300})
    table["cost"] = table["age"]
    schema = tg.Schema(categorical={"region": ["n", "s"]}, target="cost", missing={"age": 40.0})
    fitted = tg.LinearRegression(schema=schema, epsilon=1.0, delta=1e-6, random_state=0)
    return model_content(fitted.fit(table))


def test_an_error_of_another_kind_is_seen():
    with pytest.raises(KeyError):
        attempt(lambda: {}["gone"])
    assert attempt(lambda: tg.GDP(-1.0))[1].startswith("mu must be")


@how_often
def test_a_changed_certificate_is_read_or_refused(count):
    def check(document):
        read, _ = attempt(lambda: tg.Certificate.from_json(json.dumps(document)))
        if read is not None:
            assert tg.Certificate.from_json(read.to_json()) == read
            assert read.to_text()
            assert read.to_html()

    often(count, check, document=changed(model()["certificate"]))


@how_often
def test_text_that_is_no_document_is_refused(count):
    def check(text):
        assert attempt(lambda: tg.Certificate.from_json(text))[1]

    often(count, check, text=st.text(max_size=40))


@how_often
def test_a_changed_model_is_read_or_refused(count, tmp_path):
    path = tmp_path / "model.json"

    def check(document):
        path.write_text(json.dumps(document))
        attempt(lambda: tg.load(path))

    often(count, check, document=changed(model()))


@how_often
def test_a_changed_export_is_no_proof(count, tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(1.0))
    for number in range(3):
        ledger.charge(Gaussian(0.1), key=f"{number}")
    export = ledger.export()

    def check(document):
        attempt(lambda: ledger.verify(document))

    often(count, check, document=changed(export))
    assert ledger.verify(export) == 4
