"""From a table to the matrix that a model is fitted on, by what the schema declares."""
