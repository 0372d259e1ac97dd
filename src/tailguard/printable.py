"""Text made safe to show on a terminal or a page, and what other packages' words are called here.

Column names come from files, and a file may hold names with control sequences for a terminal.

Reference
---------
ECMA-48 (control functions, which begin with a C0 or C1 character); Unicode Standard Annex 9
(characters that change the direction of the following text).
"""

from collections.abc import Iterable, Sequence
from html import escape


def printable(text: str) -> str:
    r"""Return a text on one line, with unprintable characters as escapes such as ``\n``."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines, with each line printable."""
    return "\n".join(map(printable, text.split("\n")))


def html_words(text: object) -> str:
    """Return a text as HTML, printable and escaped."""
    return escape(printable(str(text)))


def html_table(rows: Iterable[Sequence[object]], headers: Sequence[object] = ()) -> str:
    """Return an HTML table; the first cell of each row is its header."""
    lines = ["<table>"]
    if headers:
        cells = "".join(f'<th scope="col">{html_words(header)}</th>' for header in headers)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    for row in rows:
        data = "".join(f"<td>{html_words(cell)}</td>" for cell in row[1:])
        lines.append(f'<tr><th scope="row">{html_words(row[0])}</th>{data}</tr>')
    return "\n".join([*lines, "</table>"])


def html_list(sentences: Iterable[object]) -> str:
    """Return an HTML list, or an empty text if there are no sentences."""
    items = [f"<li>{html_words(sentence)}</li>" for sentence in sentences]
    return "\n".join(["<ul>", *items, "</ul>"]) if items else ""


HABITS = """
eps budget privacy_budget privacy_loss = epsilon
rho mu zcdp pure = guarantee = state it as guarantee=tg.ZCDP(rho), tg.GDP(mu) or tg.PureDP(epsilon)
c = give alpha, a ridge beside the mean loss, which is 1 / (C * n_rows)
penalty l1_ratio = give alpha for a ridge; sparse estimators keep n_nonzero columns
alpha = level = a ridge goes with linear, logistic, Poisson, Gamma and Tweedie models
ridge l2 lam lambda_ reg_lambda = alpha
q tau = level = a quantile is fitted by QuantileRegression(level=0.9)
percentile percentiles probs = q = a quantile is fitted by QuantileRegression(level=0.9)
quantile quantiles = level = q = a quantile is fitted by QuantileRegression(level=0.9)
confidence conf_level coverage = level = conf_int(level=0.9) has intervals of another level
level = conf_int(level=0.9) has intervals of another level
n_jobs n_threads num_threads workers = threads follow the environment variable NUMBA_NUM_THREADS
seed random_seed rng generator = random_state
max_iter n_iter tol lr learning_rate eta epochs batch_size = steps follow from the budget
clip clipping_norm l2_norm_clip max_grad_norm = clip_norm = levels follow from released histograms
noise_multiplier noise_std sigma = noise follows from the budget
bounds bounds_x bounds_y data_norm lower upper sensitivity = no bounds on the data are needed
normalize standardize scale = columns are scaled privately by every fit
accountant budget_accountant odometer = ledger
intercept add_constant has_const = fit_intercept
categorical category categories levels = categorical = declare them: schema={'categorical': {...}}
dummies cat_features = categorical = declare them: schema={'categorical': {'sex': ['f', 'm']}}
labels target_names = classes
impute imputer fillna na_values nan_policy = missing
skipna na_rm dropna = missing = empty cells count nothing, or as schema={'missing': {...}} says
by group_by groupby group groups strata = by = tg.describe and tg.quantile take groups
include exclude numeric_only = columns
axis = every column is taken by itself; choose some by columns=['age']
weights weight w = sample_weight
family link loss distribution objective = loss = each loss has an estimator, as PoissonRegression
k sparsity n_features_to_select = n_nonzero = threshold
class_weight balanced = classes count as they are in the table
sample_weight = rows count alike there; fits, scores, tg.mean and tg.describe take weights
weight_bound = it goes with sample_weight: LinearRegression(weight_bound=2), tg.mean
n n_samples n_records rows = n_rows
d p n_columns = n_features
y_name response label endog outcome = target
features feature_names exog usecols = columns
data df table = X
id key index = row_id = key
file filename filepath fname = path
return_std return_cov = interval = coef_std_ has standard errors, and predict takes interval='mean'
"""
"""Other packages' words = ours, the first that a call takes = or else a sentence."""


def habits() -> list[list[str]]:
    """Return each line as the words of others, then ours or a sentence."""
    return [line.split(" = ") for line in HABITS.strip().splitlines()]
