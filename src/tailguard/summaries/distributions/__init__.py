"""Distribution functions of columns: their release, in rounds, and what they show and hide."""
