"""The examples that a contract suite runs over: one or more for every line of a registry."""


def examples_of(names, make, extra):
    """Map each name to its examples: those in ``extra``, or the class built without parameters.

    A name whose class needs parameters and that has no extra examples gets none here, so that
    collection goes on; ``missing_examples`` names it.
    """
    return {name: extra.get(name) or _built(name, make) for name in names}


def _built(name, make):
    try:
        return [make(name)]
    except TypeError:  # Python's own word for a missing argument
        return []


def missing_examples(examples, dictionary):
    """Return one sentence for each name that no example could be built for."""
    return [
        f"{name} cannot be built without parameters: add {name!r}: [...] to {dictionary}"
        for name, built in examples.items()
        if not built
    ]
