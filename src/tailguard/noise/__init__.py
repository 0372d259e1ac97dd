"""Random sources, exact lattice samplers and mechanisms; only they draw random numbers.

``sources`` hands out random words, ``discrete_gaussian`` and ``discrete_laplace`` turn words into
integer noise, ``lattice`` computes how much noise a statistic needs, and ``mechanisms`` adds it.
"""
