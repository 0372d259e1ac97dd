"""Reports: one page about one result, with only public facts and released numbers."""

from tailguard.report import plot as plot
