"""Solvers: algorithms that see nothing but gate answers."""
