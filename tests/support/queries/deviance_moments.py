"""Deviances of several classes, each with a score and a constant of its own."""

from tailguard.audit.worst_pairs import VARIANTS


def examples():
    yield VARIANTS["deviance-moments, of classes"]
