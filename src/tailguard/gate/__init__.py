"""The gate, which alone releases numbers: it adds noise to answers and books their costs."""

from tailguard.gate.gate import Gate

__all__ = ["Gate"]
