"""Parameters and attributes of every estimator, for the docstrings of all of them."""

from inspect import cleandoc

__all__ = ["with_shared"]

PARAMETERS = """
epsilon, delta
    The privacy parameters. There is no default.
guarantee
    Instead of them: ``tg.ApproxDP``, ``tg.ZCDP`` or ``tg.GDP``.
fit_intercept
    Whether to fit a constant.
missing
    Column name or number -> a public constant for its missing cells, in fits and predictions.
    None leaves such a row void: it contributes nothing and stays counted.
schema
    What is declared of a table's columns, such as the levels of those that are categorical: a
    ``tg.Schema``, a dict of its declarations or the path of its JSON file.
extrapolate
    ``"bounded"``: a prediction reads each feature as the fit did, within ``feature_bounds_``;
    ``"linear"``: as it is, however far out.
solver
    ``"auto"``, a name from the solver registry, or a solver object.
ledger
    Books to charge the fit to; None keeps them with the fit.
random_state
    None draws cryptographic noise. An int switches to a reproducible simulation that is NOT
    PRIVATE and says so everywhere.
"""
ATTRIBUTES = """
coef_, intercept_
    The released coefficients, in the user's units.
feature_bounds_
    Lower and upper bound of each feature: within them ``coef_`` is a slope. None where the
    solver reads features as they are.
coef_noise_std_, intercept_noise_std_
    Predicted standard deviation of the privacy noise of each.
coef_std_, intercept_std_
    The same through sampling and privacy noise together, as ``conf_int`` uses it.
notes_
    What was assumed of labels, and decided on released numbers.
certificate_, plan_
    What was promised, spent, released and assumed; what was planned.
schema_
    The schema with its features named; None where none was given.
"""
WHOLE = f"""
{PARAMETERS.strip()}

Attributes
----------
{ATTRIBUTES.strip()}

Notes
-----
*Guarantee.* As for ``LinearRegression``.
"""


def with_shared(doc: str) -> str:
    """Fill in what all estimators take and hold.

    Examples
    --------
    >>> with_shared("{shared_parameters}").splitlines()[1].strip()
    'The privacy parameters. There is no default.'
    """
    shared = {
        "{shared}": WHOLE,
        "{shared_parameters}": PARAMETERS,
        "{shared_attributes}": ATTRIBUTES,
    }
    doc = cleandoc(doc)
    for place, words in shared.items():
        doc = doc.replace(place, words.strip())
    return doc
