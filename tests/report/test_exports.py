"""Exports for the deployments registry and in the terms of NIST SP 800-226."""

import json

import pytest

import tailguard as tg
from support.certificates import certify, gaussian
from support.forging import RUNS, certificate_of
from support.json_schema import breaches
from tailguard.privacy.events import Gaussian
from tailguard.report.content import Report, Stated
from tailguard.report.exports import NOT_STATED, schema_of

STATED = Stated(dataset="Claims of 2026", date="2026-11-26", curator="Example Insurance")


def report_of(name, stated=STATED):
    return Report(subject=name, certificate=certificate_of(name), stated=stated)


@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_a_record_and_fields_by_their_schemas(name):
    for stated in (STATED, Stated()):
        report = report_of(name, stated)
        for form, data in (("registry", report.to_registry()), ("nist", report.to_nist())):
            assert list(breaches(schema_of(form), data)) == []
            assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_a_record_says_what_the_certificate_and_the_curator_say():
    record, certificate = report_of("fit").to_registry(), certificate_of("fit")
    deployment = record["deployment"]
    assert record["url_slug"] == "claims-of-2026-fit"
    assert record["status"] == "Draft"
    assert deployment["basic"]["data_curators"] == ["Example Insurance"]
    assert deployment["basic"]["publication_date"] == "2026-11-26"
    assert deployment["basic"]["intended_use"] == NOT_STATED
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["accounting"]["composition"] == certificate.to_dict()["composition"]
    mechanisms = deployment["implementation"]["mechanisms"]
    rounds = [r.times for r in certificate.releases if r.kind == "LevelGradients"]
    assert max(rounds) > 1
    assert f"gaussian (LevelGradients), {sum(rounds)} releases" in mechanisms
    assert f"tailguard {tg.__version__}" in mechanisms


def test_what_only_the_curator_knows_is_not_stated():
    record = report_of("fit", Stated()).to_registry()["deployment"]
    fields = report_of("fit", Stated()).to_nist()
    assert record["basic"]["data_curators"] == [NOT_STATED]
    assert record["basic"]["publication_date"] == NOT_STATED
    for name in ("dataset", "date", "curator", "data_collection_exposure"):
        assert fields[name] == NOT_STATED
    assert fields["security_and_access_control"] == NOT_STATED


@pytest.mark.parametrize(
    ("promise", "variant", "parameters"),
    [
        (tg.GDP(1.0), "Custom", {"rho": 0.5}),
        (tg.ZCDP(0.25), "Zero-concentrated DP", {"rho": 0.25}),
    ],
)
def test_each_promise_is_named_as_the_registry_does(promise, variant, parameters):
    certificate = certify(Gaussian(0.5), [gaussian(0.5)], guarantee=promise)
    report = Report(subject="mean", certificate=certificate)
    deployment = report.to_registry()["deployment"]
    assert deployment["dp_variant"]["variant_name"] == variant
    assert deployment["privacy_loss"]["privacy_parameters"] == parameters
    assert report.to_nist()["privacy_parameters"] == promise.to_dict()


def test_a_search_and_a_smooth_scale_say_what_they_are():
    record = report_of("search").to_registry()["deployment"]
    assert "how long the search took may tell" in record["implementation"]["mechanisms"]
    stopped = report_of("early stop").to_nist()
    assert stopped["privacy_budget_over_time"].startswith("charged to entry ")


def test_a_breach_of_a_schema_is_seen():
    record, schema = report_of("fit").to_registry(), schema_of("registry")
    assert list(breaches(schema, {**record, "more": 1})) == ["$.more is not expected"]
    assert list(breaches(schema, {**record, "status": "Approved"})) == ["$.status is not 'Draft'"]
    del record["tier"]
    record["deployment"]["basic"]["publication_date"] = "26 November"
    assert len(list(breaches(schema, record))) == 2
