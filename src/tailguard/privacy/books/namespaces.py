"""Block maps named for good: two gates may use one name for two different partitions.

Books that outlive a gate take the maximum over the blocks of a map. So a gate writes its own mark
before the names of its maps.
"""

from dataclasses import replace
from functools import singledispatch

from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Composed, Event, Parallel, Repeated


@singledispatch
def namespaced_event(event: Event, namespace: str) -> Event:
    """Return the event with the names of its block maps after ``namespace``."""
    return event


@namespaced_event.register
def _(event: Repeated, namespace: str) -> Event:
    return Repeated(namespaced_event(event.event, namespace), event.times)


@namespaced_event.register
def _(event: Composed, namespace: str) -> Event:
    return Composed(tuple(namespaced_event(each, namespace) for each in event.events))


@namespaced_event.register
def _(event: Parallel, namespace: str) -> Event:
    return Parallel(
        f"{namespace}/{event.block_map}", event.block, namespaced_event(event.event, namespace)
    )


def namespaced_release(release: Release, namespace: str) -> Release:
    """Return the release with the names of its block maps after ``namespace``."""
    if release.block_map is None:
        return release
    parameters = dict(release.parameters)
    if "outer_map" in parameters:
        parameters["outer_map"] = f"{namespace}/{parameters['outer_map']}"
    return replace(release, block_map=f"{namespace}/{release.block_map}", parameters=parameters)
