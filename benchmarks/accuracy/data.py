"""The forms in which peers get a trial: raw, or with scales that they do not pay for."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accuracy.optimum import Scaled
from accuracy.tasks import Task, Trial

IQR_OF_NORMAL = 1.349


@dataclass(frozen=True, eq=False)
class Data:
    """A trial at a budget."""

    task: Task
    trial: Trial
    epsilon: float
    neighbours: str = "replace-one"

    @cached_property
    def raw(self):
        """The records as they are, a column of ones added where an intercept is fitted."""
        d = self.task.n_features
        return self._scaled(np.zeros(d), np.ones(d), 1.0)

    @cached_property
    def scaled(self):
        """Columns centred at medians and divided by robust standard deviations; the target too."""
        X, y = self.trial.features, self.trial.target
        low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        spread = (high - low) / IQR_OF_NORMAL
        target_low, target_high = np.quantile(y, [0.25, 0.75])
        target_scale = (target_high - target_low) / IQR_OF_NORMAL or y.std()
        return self._scaled(middle, np.where(spread > 0, spread, X.std(axis=0)), target_scale)

    def _scaled(self, center, scale, target_scale):
        return Scaled(
            self.trial.features,
            self.trial.target,
            self.task.loss,
            intercept=self.task.intercept,
            center=center,
            scale=scale,
            target_scale=target_scale,
        )
