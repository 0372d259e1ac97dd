"""Reports: one page about one result, which holds nothing that is not public or released."""

from tailguard.report import plot as plot
