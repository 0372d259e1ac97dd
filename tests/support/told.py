"""A listener that records the progress messages of a run."""


class Told:
    """Receive the progress of a run."""

    def __init__(self):
        self.heard = []

    def planned(self, n_answers):
        self.heard.append(n_answers)

    def answered(self, stage, n_rows):
        self.heard.append((stage, n_rows))

    def read(self, n_rows, n_all):
        self.heard.append((n_rows, n_all))
