"""What ``bench_hostile.py`` runs: every kernel, and whole fits."""
