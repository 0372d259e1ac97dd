"""Export a report as an entry of the deployments registry, and in the terms of NIST SP 800-226.

The certificate provides the facts of a run. Facts that only the curator knows, such as the intended
use, come from the curator; otherwise they are "not stated".

Reference
---------
OpenDP, Differential Privacy Deployments Registry (schema of July 2026); Near, Darais, Lefkovitz and
Howarth 2025, NIST Special Publication 800-226.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pkgutil import get_data
from typing import Any

NOT_STATED = "not stated"
VARIANTS = {
    "approx": "Approximate DP",
    "pure": "Pure DP",
    "zcdp": "Zero-concentrated DP",
    "gdp": "Custom",
}
"""The registry's name of each guarantee; it has no name for Gaussian differential privacy."""
DOMAIN = "all tables of {n} {records} with these columns, missing and infinite values included"
UNPROTECTED = "the number of {records}, {n}; names and types of columns; their declarations"
NO_TUNING = (
    "Locations, scales, clips and counts that the method needs were released with noise and are "
    "counted; the run read nothing else. Earlier processing of the data is not stated."
)
FLOATS = (
    "Noise is drawn as whole numbers on a lattice; sums are rounded to it, and that is charged."
)
TIMING = "Records of any content are read in the same steps; running time is not proved private."
POST_PROCESSING = "Everything that is computed from the listed releases costs nothing more."


def registry_record(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft of an entry of the deployments registry, from a report's dictionary."""
    certificate, stated = report["certificate"], _stated(report)
    mechanisms = ". ".join([*_mechanisms(certificate), *_software(certificate), FLOATS])
    by_row = certificate["unit"]["person"] is None
    counts = {"n": certificate["n_rows"], "records": "rows" if by_row else "persons"}
    return {
        "url_slug": _slug(f"{stated['dataset']} {report['subject']}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": f"{report['subject']}: {stated['dataset']}",
                "data_curators": [stated["curator"]],
                "intended_use": NOT_STATED,
                "data_product_type": _product(report),
                "data_product_region": NOT_STATED,
                "description": f"{report['subject']} of {counts['n']} {counts['records']}.",
                "publication_date": stated["date"],
            },
            "dp_variant": {
                "variant_name": VARIANTS[certificate["guarantee"]["kind"]],
                "data_domain": DOMAIN.format(**counts),
                "unprotected_quantities": UNPROTECTED.format(**counts),
            },
            "privacy_loss": {
                "privacy_unit": certificate["protects"],
                "privacy_unit_details": certificate["neighbours"],
                "privacy_parameters": _parameters(certificate["guarantee"]),
                "privacy_parameters_details": f"{_promise(certificate)}; {certificate['mode']}",
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": NOT_STATED,
                "release_type": "One release",
                "release_type_details": _ledger(certificate),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": POST_PROCESSING,
                "composition": certificate["composition"],
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": NO_TUNING,
                "mechanisms": mechanisms,
                "justification": NOT_STATED,
            },
            "administrative": {"sources": NOT_STATED, "registry_authors": [NOT_STATED]},
        },
    }


def nist_fields(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that SP 800-226 requires of a claim, from the top of its pyramid down."""
    certificate, stated = report["certificate"], _stated(report)
    return {
        "privacy_parameters": dict(certificate["guarantee"]),
        "definition": _promise(certificate),
        "mode": certificate["mode"],
        "unit_of_privacy": certificate["protects"],
        "neighboring_datasets": certificate["neighbours"],
        "total_reserved": dict(certificate["total"]),
        "total_released": dict(certificate["spent"]),
        "composition": certificate["composition"],
        "privacy_budget_over_time": _ledger(certificate),
        "mechanisms": _mechanisms(certificate),
        "utility_and_bias": list(certificate["assumptions_for_accuracy"]) or [NOT_STATED],
        "implementation": ". ".join(_software(certificate)),
        "floating_point": FLOATS,
        "timing": TIMING,
        "trust_model": "central: the curator holds the records",
        "security_and_access_control": NOT_STATED,
        "data_collection_exposure": NOT_STATED,
        **stated,
    }


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``"registry"`` or ``"nist"``."""
    content = get_data("tailguard.report", f"{name}.schema.json") or b""
    return json.loads(content)


def _promise(certificate: Mapping[str, Any]) -> str:
    """Return the promise, and the conditions under which it holds."""
    conditions = [f"only if {each}" for each in certificate.get("conditions", ())]
    return ", ".join([certificate["promise"], *conditions])


def _stated(report: Mapping[str, Any]) -> dict[str, str]:
    return {name: text or NOT_STATED for name, text in report["stated"].items()}


def _product(report: Mapping[str, Any]) -> str:
    """Return the registry's product type: a model for coefficients, else statistics."""
    is_model = report["quantity"] == "coefficient"
    return "Machine learning model" if is_model else "Summary statistics"


def _parameters(guarantee: Mapping[str, Any]) -> dict[str, float]:
    """Return the parameters in the registry's terms; a mu becomes the rho that it implies."""
    numbers = {name: value for name, value in guarantee.items() if name != "kind"}
    if "mu" in numbers:
        return {"rho": numbers["mu"] ** 2 / 2.0}
    return numbers


def _mechanisms(certificate: Mapping[str, Any]) -> list[str]:
    """Count the releases of each mechanism and kind of query."""
    counted: Counter[tuple[str, str]] = Counter()
    for release in certificate["releases"]:
        counted[release["mechanism"], release["kind"]] += release["times"]
    return [
        f"{mechanism} ({kind}), {times} releases" for (mechanism, kind), times in counted.items()
    ]


def _software(certificate: Mapping[str, Any]) -> list[str]:
    """List the library, its sampler of noise, and the certificate's remarks."""
    return [f"tailguard {certificate['version']}", certificate["sampler"], *certificate["remarks"]]


def _ledger(certificate: Mapping[str, Any]) -> str:
    """Describe which ledgers were charged; a certificate has no costs of other runs."""
    entries = certificate["ledger_entries"]
    lines = [f"entry {each['position']} of {each['ledger']!r}" for each in entries]
    return f"charged to {', '.join(lines)}" if lines else "no ledger was charged"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
