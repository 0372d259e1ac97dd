"""The methods of the papers on the papers' own tasks, with printed and with tight noise.

``docs/papers-experiments.md`` says what is compared. Nothing here is part of the package.
"""
