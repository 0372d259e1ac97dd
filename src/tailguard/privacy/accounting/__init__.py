"""The total cost of events: one accountant per file, and the closed forms that they use."""
