"""The one place where numbers leave: a query's answer, noise, and a line in the books."""

from tailguard.gate.gate import Gate

__all__ = ["Gate"]
