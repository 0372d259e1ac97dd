"""Block maps named for good: two gates may use one name for two different partitions.

Books that outlive a gate take the maximum over the blocks of a map. So a gate writes its own mark
before the names of its maps.
"""

from dataclasses import replace
from functools import singledispatch

from tailguard.privacy.events import Composed, Event, Parallel, Repeated
from tailguard.privacy.releases import Release

__all__ = ["scoped_event", "scoped_release"]


@singledispatch
def scoped_event(event: Event, scope: str) -> Event:
    """Return the event with the names of its block maps after ``scope``.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> scoped_event(Parallel("halves", 0, Gaussian(mu=1.0)), "3f").block_map
    '3f/halves'
    """
    return event


@scoped_event.register
def _(event: Repeated, scope: str) -> Event:
    return Repeated(scoped_event(event.event, scope), event.times)


@scoped_event.register
def _(event: Composed, scope: str) -> Event:
    return Composed(tuple(scoped_event(each, scope) for each in event.events))


@scoped_event.register
def _(event: Parallel, scope: str) -> Event:
    return Parallel(f"{scope}/{event.block_map}", event.block, scoped_event(event.event, scope))


def scoped_release(release: Release, scope: str) -> Release:
    """Return the release with the names of its block maps after ``scope``.

    Examples
    --------
    >>> facts = {"sensitivity": 1.0, "noise_std": 4.0, "block_map": "halves", "block": 0}
    >>> scoped_release(Release("mean", "Mean", "gaussian", "l2", **facts), "3f").block_map
    '3f/halves'
    """
    if release.block_map is None:
        return release
    parameters = dict(release.parameters)
    if "outer_map" in parameters:
        parameters["outer_map"] = f"{scope}/{parameters['outer_map']}"
    return replace(release, block_map=f"{scope}/{release.block_map}", parameters=parameters)
