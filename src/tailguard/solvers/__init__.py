"""Solvers: algorithms that see nothing but gate answers."""

from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.scaled_gradient_descent import ScaledGradientDescent
from tailguard.solvers.whitened_newton import WhitenedNewton

__all__ = ["NoisyGradientDescent", "ScaledGradientDescent", "WhitenedNewton"]
