"""Certificates of random plans and releases, and changes to one number that enters a total."""

import json
import math

from support.certificates import certify
from tailguard.privacy.accounting.total_cost import EXACT, Distance
from tailguard.privacy.books.releases import Release, spent_event
from tailguard.privacy.events import Composed, Gaussian, Laplace
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP

ROOM = 1.001  # ratio of the promise to the planned cost


def _without_promise(rng):
    """A certificate of a kind that the page can verify, with a vacuous promise."""
    pure = rng.random() < 0.25
    releases = [_release(rng, pure, number) for number in range(rng.integers(1, 12))]
    spent, more = spent_event(releases), 10 ** rng.uniform(-3, -1)
    unused = Laplace(more) if pure else Gaussian(more)
    planned = spent if rng.random() < 0.5 else Composed((spent, unused))
    far = Distance(10 ** rng.uniform(-13, -10), 10 ** rng.uniform(-26, -24))
    return certify(
        planned,
        releases,
        guarantee=ApproxDP(1e14, 1e-6) if not pure else PureDP(1e14),
        sampler_distance=EXACT if pure else far,
    )


def certificate_of_promise(rng):
    """A certificate that the page can verify, whose promise slightly exceeds the planned cost."""
    certificate = _without_promise(rng)
    total = certificate.total
    delta = 10 ** rng.uniform(-12, -3)
    if total.mu is None:
        guarantee = PureDP(ROOM * total.epsilon)
    else:
        kinds = [GDP(ROOM * total.mu), ZCDP(ROOM * total.rho), delta]
        guarantee = kinds[rng.integers(3)]
    facts = {name: getattr(certificate, name) for name in ("n_rows", "sampler_distance")}
    parts = {"planned": certificate.planned, "releases": certificate.releases}
    if isinstance(guarantee, float):
        guarantee = ApproxDP(1e14, delta)
        cost = type(certificate)(guarantee, **facts, **parts).total.epsilon
        guarantee = ApproxDP(ROOM * max(cost, 1e-6), delta)
    return type(certificate)(guarantee, **facts, **parts)


def _release(rng, pure, number):
    cost, noise = 10 ** rng.uniform(-4, -1), 10 ** rng.uniform(-6, 9)
    facts = {"times": int(rng.integers(1, 40)), "name": f"release {number}", "kind": "Query"}
    if rng.random() < 0.25:
        facts |= {"block_map": f"map {rng.integers(2)}", "parameters": {"map_blocks": 3}}
        facts["block"] = None if rng.random() < 0.3 else int(rng.integers(3))
    if pure:
        facts |= {"sensitivity": cost * noise / math.sqrt(2.0), "noise_std": noise}
        return Release(mechanism="laplace", norm="l1", **facts)
    facts |= {"sensitivity": cost * noise, "noise_std": noise}
    return Release(mechanism="gaussian", norm="l2", **facts)


PLACES = ("total", "spent", "sensitivity", "noise_std", "times", "planned", "guarantee")
FACTORS = (0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 10.0)


def changed(certificate, rng):
    """The data of a certificate with one number changed that enters a total."""
    data = json.loads(certificate.to_json())
    place, factor = PLACES[rng.integers(len(PLACES))], FACTORS[rng.integers(len(FACTORS))]
    if place in {"total", "spent"}:
        names = [name for name in ("epsilon", "mu", "rho") if isinstance(data[place][name], float)]
        name = names[rng.integers(len(names))]
        data[place][name] *= factor
    elif place == "guarantee":
        # A broken promise: below the reserved cost.
        strength = next(name for name in ("epsilon", "mu", "rho") if name in data["guarantee"])
        data["guarantee"][strength] = data["total"][strength] * min(factor, 0.99)
    elif place == "planned":
        leaves = [*_leaves(data["planned"])]
        leaf = leaves[rng.integers(len(leaves))]
        leaf["mu" if leaf["kind"] == "gaussian" else "epsilon"] *= factor
    else:
        release = data["releases"][rng.integers(len(data["releases"]))]
        release[place] = release[place] + 1 if place == "times" else release[place] * factor
    return data


def _leaves(event):
    if event["kind"] in {"gaussian", "laplace"}:
        yield event
    for inner in event.get("events", [event["event"]] if "event" in event else []):
        yield from _leaves(inner)
