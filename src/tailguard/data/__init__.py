"""Tables of every kind, their schema, and where their records live."""
