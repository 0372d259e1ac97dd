"""Random sources, exact lattice samplers and mechanisms; the only room that may draw.

``sources`` hands out random words, ``discrete_gaussian`` and ``discrete_laplace`` turn words into
integer noise, ``lattice`` works out how much noise a statistic needs, and ``mechanisms`` adds it.
"""
