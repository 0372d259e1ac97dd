"""Methods that go in phases, each with a smaller set or a larger penalty than the one before."""
