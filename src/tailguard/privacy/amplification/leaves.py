"""What amplification and selection add, made known to every accountant that works with profiles.

Reference
---------
Balle, Barthe and Gaboardi 2018 (samples); Feldman, McMillan and Talwar 2021 (shuffles);
Papernot and Steinke 2022 (selection).
"""

from functools import lru_cache

from tailguard.privacy.accounting.profiles import Profile, profile_of
from tailguard.privacy.amplification.sampled import fixed_size_profile, poisson_profile
from tailguard.privacy.amplification.shuffled import shuffled_profile, shuffled_pure_profile
from tailguard.privacy.events import Event, Sampled, Selected, Shuffled, ShuffledPure
from tailguard.privacy.selection.costs import selected_profile

KNOWN_BY_PROFILE: frozenset[type[Event]] = frozenset({Sampled, Selected, Shuffled, ShuffledPure})

SCHEMES = {"fixed-size": fixed_size_profile, "poisson": poisson_profile}


@profile_of.register
def _(event: Sampled) -> Profile:
    return SCHEMES[event.scheme](event.mu, event.rate)


@profile_of.register
def _(event: Shuffled) -> Profile:
    return _shuffled(event.mu, event.n_units)


@profile_of.register
def _(event: ShuffledPure) -> Profile:
    return shuffled_pure_profile(event.epsilon, event.n_units)


@profile_of.register
def _(event: Selected) -> Profile:
    return selected_profile(event)


# An accountant asks for the same profile several times, and this one takes a tenth of a second.
_shuffled = lru_cache(maxsize=64)(shuffled_profile)
