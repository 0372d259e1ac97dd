"""A listener that records the progress messages of a run."""


class Told:
    """Receive the progress of a run, in order."""

    def __init__(self):
        self.heard = []

    def of(self, kind):
        """Return what was heard of one kind."""
        return [rest for each, *rest in self.heard if each == kind]

    def planned(self, n_answers):
        self.heard.append(("planned", n_answers))

    def answered(self, stage, n_rows):
        self.heard.append(("answered", stage, n_rows))

    def read(self, n_rows, n_all):
        self.heard.append(("read", n_rows, n_all))
