"""Experiments that take no time, as the command finds them."""

from tailguard.checks import InputError
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment
from tailguard.papers.reproduce.judges import below
from tailguard.papers.reproduce.results import Point


def refused(seed):
    raise InputError("n_rows must be above 5; got 3.")


def level(curve, noise, height):
    def measure(seed):
        return [Point("panel", curve, noise, x, height + 0.01 * seed) for x in (1.0, 2.0)]

    return Cell(f"{curve}, {noise}", measure)


def toy(name="toy", **more):
    cells = [
        level("new", "tight", 1.0),
        level("new", "printed", 3.0),
        level("old", "-", 2.0),
        Cell("refused", refused),
    ]
    claim = Claim("new", "The new one is better.", below("new", "old"), "It is noisier.")
    facts = {"source": "Nobody 1900", "title": "a toy", "axes": Axes("x", "error")}
    return Experiment(name, cells=lambda setup: cells, claims=(claim,), **facts, **more)


def toys():
    return (toy(), toy("needy", data=("a8a",)))
