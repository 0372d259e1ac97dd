"""Private size, location and scale of columns, from noisy histograms: the only way to a unit."""
