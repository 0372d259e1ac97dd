"""Tables of measured fits on the pages are those of the stored results: ``make numbers``."""

import json
import re
import shutil
import statistics
from itertools import groupby

import pytest

import bench_exposures
import bench_rivals
from accuracy import __main__ as accuracy
from accuracy import chosen, picture
from docs.test_numbers import METHODS, ROOT, lines_of, prose, text

RESULTS = "benchmarks/results"


def stored(name):
    return json.loads(text(f"{RESULTS}/{name}.json"))


def short(number, digits):
    """A number below one as the pages write it, without its zero."""
    return f"{number:.{digits}f}".removeprefix("0")


NAMES = {"squared": "squares", "logistic": "outcomes", "poisson": "counts"}


def interval_lines(results="intervals", names=NAMES):
    """Of a loss and an epsilon: tables, the share given and held, and the median width."""
    for kind, name in names.items():
        for epsilon in (1.0, 4.0):
            rows = [r for r in stored(results) if (r["loss"], r["epsilon"]) == (kind, epsilon)]
            slopes, given, held = (sum(r[k] for r in rows) for k in ("slopes", "given", "held"))
            width = statistics.median(width for row in rows for width in row["widths"])
            shares = f"{100 * given / slopes:.0f} % | {100 * held / given:.1f} %"
            yield f"| {name} | {len(rows)} | {epsilon:g} | {shares} | {width:.1f} |"


def bounded_lines():
    return interval_lines("bounded_slopes", {k: k for k in ("huber", "median", "0.9-quantile")})


def declared_lines():
    return interval_lines("declared")


def noise_lines():
    for row in stored("stated_noise"):
        own, raw = (f"{row[f'{kind}median']:.2f}, {row[f'{kind}p90']:.2f}" for kind in ("", "raw "))
        yield f"| {row['table']} | {row['epsilon']:g} | {own} | {raw} |"


def both(numbers):
    digits = [3 if abs(number) < 1.0 else 2 if number < 10.0 else 1 for number in numbers]
    cells = [f"{number:.{each}f}" for number, each in zip(numbers, digits, strict=True)]
    return ", ".join(re.sub(r"^(-?)0\.", r"\1.", cell) for cell in cells)


def rival_lines():
    """Of a rival and an epsilon: excess, its ratio, tables ahead and behind, and intervals."""
    found = stored("rivals")
    widths = {(row["method"], row["epsilon"]): row for row in interval_rows()}
    for epsilon in (1.0, 4.0):
        cells = interval_cells(widths["tailguard", epsilon])
        yield f"| tailguard | {epsilon:g} | | | | | {cells} |"
    for row in bench_rivals.risk_table(found["risks"]):
        cells = " | ".join(both(row[key]) for key in ("ours", "theirs", "ratio"))
        count = f"{row['ahead']}, {row['behind']} of {row['tables']}"
        given = widths.get((row["rival"], row["epsilon"]))
        last = f" {interval_cells(given)} |" if given else " | | |"
        yield f"| {row['rival']} | {row['epsilon']:g} | {cells} | {count} |{last}"


def interval_rows():
    return bench_rivals.interval_table(stored("rivals")["intervals"])


def interval_cells(row):
    share = 100 * row["shared held"] / row["shared given"]
    return f"{share:.1f} % | {row['shared width']:.1f} | {row['shared level']:.1f}"


LAWS = {"rare labels": "labels, rarely ones", "rare counts": "counts, mean .05",
        "costs": "costs (gamma)"}  # fmt: skip


N_SCORED = 160  # tables of a law


def score_lines():
    for law, group in groupby(stored("scores"), key=lambda row: row["law"]):
        rows = [*group]

        def told(key, digits, rows=rows):
            given = (short(row[key], digits) if key in row else "none" for row in rows)
            return " / ".join(given)

        given = " / ".join(short(row["given"] / N_SCORED, 2) for row in rows)
        cells = [given, told("held", 2), told("error", 3), told("width", 2)]
        seconds = [each for each in ("area", "accuracy") if f"{each} held" in rows[-1]]
        cells += [f"{told(f'{each} held', 2)}, {told(f'{each} error', 3)}" for each in seconds]
        cells += [""] * (not seconds)
        yield f"| {LAWS.get(law, law)} | {' | '.join(cells)} |".replace("|  |", "| |")


def class_lines():
    for law, rows in groupby(lines_of(f"{RESULTS}/classes.csv"), key=lambda row: row["classes"]):
        if "nothing" not in law:
            cells = (", ".join(short(float(r[k]), 2) for k in ("explained", "least")) for r in rows)
            yield f"| {law} | {' | '.join(cells)} |"


def amount_lines():
    for law, group in groupby(lines_of(f"{RESULTS}/glm.csv"), key=lambda row: row["target"]):
        rows = [*group]
        held, asked = (sum(float(row[key]) for row in rows) for key in ("hold", "of"))
        cells = " | ".join(short(float(row["excess"]), 4) for row in rows)
        assert all(float(row["given"]) > 0.98 for row in rows)
        yield f"| {law} | {cells} | {100 * held / asked:.0f} % of {asked:.0f} |"


def exposure_lines():
    """Of a table, or of all sizes and exposures or weights of a simulated law, and an epsilon."""
    groups = {}
    for row in lines_of(f"{RESULTS}/exposures.csv"):
        simulated = row["records"] in bench_exposures.LAWS
        kind = "weights" if row["beside"] in bench_exposures.WEIGHTS else "exposures"
        name = f"{row['records']} with {kind}" if simulated else f"`{row['records']}`"
        groups.setdefault((name, row["epsilon"]), []).append(row)
    for (name, epsilon), rows in groups.items():
        median = statistics.median(float(row["excess"]) for row in rows)
        excess = ", ".join(short(x, 3) for x in (median, max(float(row["worst"]) for row in rows)))
        held, given = (sum(int(row[key]) for row in rows) for key in ("hold", "of"))
        slopes = sum(int(row["columns"]) * int(row["fits"]) for row in rows)
        shares = f"{100 * given / slopes:.0f} % | {100 * held / given:.1f} %" if given else "0 % | "
        yield f"| {name} | {float(epsilon):g} | {excess} | {shares} |".replace("|  |", "| |")


def cost_lines():
    beside = {"scikit-learn": "scikit-learn's", "uncorrected": "a fit without the last correction"}
    for row in stored("fit_cost"):
        size = f"{row['rows']:,} records of {row['columns']} columns"
        cells = f"{beside[row['baseline']]} | {row['ratio']:.2f} | {row['passes']:.0f}"
        yield f"| {row['model']}, {size} | {cells} |"


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("docs/accuracy.md", interval_lines),
        ("docs/accuracy.md", declared_lines),
        ("docs/accuracy.md", bounded_lines),
        ("docs/accuracy.md", rival_lines),
        ("docs/accuracy.md", noise_lines),
        ("docs/accuracy.md", exposure_lines),
        ("docs/accuracy.md", score_lines),
        ("docs/accuracy.md", cost_lines),
        ("docs/default-stages.md", class_lines),
        ("docs/default-stages.md", amount_lines),
    ],
)
def test_a_table_has_what_was_measured(page, lines):
    rows = [*lines()]
    assert len(rows) > 4
    assert "\n".join(rows) in text(page)


def typical_width(rows, epsilon):
    """The median of tables of the median width of a table's fits."""
    found = [row["widths"] for row in rows if row["epsilon"] == epsilon and row["widths"]]
    return statistics.median(map(statistics.median, found))


def test_what_is_said_of_intervals_and_totals_follows():
    page, rows = prose("docs/accuracy.md"), stored("intervals")
    failing = [r for r in rows if r["given"] and r["held"] < 0.85 * r["given"]]
    declared = stored("declared")
    assert {0} == {row[what] for row in declared for what in ("false", "silent")}
    assert max(row["excess"] for row in declared) < 1.0
    assert "no fit loses more than a constant does" in page
    failing += [r for r in declared if r["given"] and r["held"] < 0.85 * r["given"]]
    assert failing == []
    for results in (rows, declared):
        widths = [typical_width(results, epsilon) for epsilon in (1.0, 4.0)]
        assert "the width of the median table is {:.1f} at epsilon 1 and {:.1f} at 4".format(
            *widths
        ) in page.replace("The width", "the width")
    large = [row for row in declared if row["n_mu"] >= 5_000]
    share = sum(row["given"] for row in large) / sum(row["slopes"] for row in large)
    assert f"at least 5,000, {100 * share:.0f} % of the slopes have an interval" in page
    assert "Of every table at least 85 % of the intervals hold" in page
    totals = [(row["totals"], row["fits"]) for row in rows if "totals" in row]
    held, fits = map(sum, zip(*totals, strict=True))
    assert held >= 0.95 * fits
    assert f"two stated errors in {held} of {fits} fits" in page
    counts = [row for row in stored("stated_noise") if "total_held" in row]
    assert all(row["total_held"] == 1.0 for row in counts)
    assert f"All {sum(row['fits'] for row in counts)} totals of counts" in page
    ranges = []
    for kind in ("squared", "logistic", "poisson"):
        own = [[r for r in rows if (r["loss"], r["epsilon"]) == (kind, e)] for e in (1.0, 4.0)]
        low, high = sorted(
            100 * sum(r["held"] for r in o) / sum(r["given"] for r in o) for o in own
        )
        ranges.append(f"{low:.0f} to {high:.0f} %" if round(low) < round(high) else f"{low:.0f} %")
    said = "Intervals of least squares hold a table's own slopes in {} of the cases where they are "
    said += "given, those of outcomes in {}, those of counts in {}"
    assert said.format(*ranges) in prose("docs/default-method.md")


def test_slopes_of_permuted_columns_are_counted():
    page = prose("docs/accuracy.md")
    for epsilon in (1.0, 4.0):
        rows = [row for row in stored("permuted") if row["epsilon"] == epsilon]
        given, rejected = (sum(row[key] for row in rows) for key in ("given", "rejected"))
        assert f"for {100 * rejected / given:.1f} % of {given}" in page


def test_what_is_said_of_rivals_follows():
    page, risks = prose("docs/accuracy.md"), stored("rivals")["risks"]
    table = [*bench_rivals.risk_table(risks)]
    assert {row["form"].partition(",")[0] for row in table} == {"quantile"}
    assert "the 99 % quantiles suit every rival better" in page
    assert all(row["ratio"][0] < 1.0 for row in table)
    most = max(row["ratio"][1] for row in table)
    assert f"at the 90th percentile loses at most {most:.2f} times as much" in page
    assert "is ahead of every rival in the median" in page
    by_theorem = [key for key in risks[-1]["excess"] if key.endswith("quantile, theorem")]
    for row in (row for row in table if row["rival"] == "BinAgg"):
        cells = [r["excess"] for r in risks if r["epsilon"] == row["epsilon"]]
        more = [statistics.mean(r[by_theorem[0]]) for r in cells if by_theorem[0] in r]
        assert statistics.median(more) > row["theirs"][0]
    (aid,) = (r["excess"] for r in risks if (r["table"], r["epsilon"]) == ("us_aid", 1.0))
    told = (aid["tailguard | "], aid["DP-GD, counted search | quantile"])
    said = "`us_aid` at epsilon 1 (excess {:.2f}, of DP-GD {:.2f})"
    assert said.format(*map(statistics.mean, told)) in page
    worse = [(row["rival"], row["epsilon"]) for row in table if row["ours"][1] > row["theirs"][1]]
    assert worse == []
    for row in table:
        cells = [cell for cell in risks if cell["epsilon"] == row["epsilon"]]
        for cell in cells:
            excess = {key: statistics.mean(each) for key, each in cell["excess"].items()}
            theirs = excess.get(f"{row['rival']} | {row['form']}")
            if theirs is not None and max(excess["tailguard | "], 0.01) > max(theirs, 0.01):
                assert f"`{cell['table']}`" in page
    ours = [row for row in interval_rows() if row["method"] == "tailguard"]
    said = "{:.0f} % of them at epsilon 1 and {:.0f} % at epsilon 4"
    assert said.format(*(100 * row["given"] / row["slopes"] for row in ours)) in page
    assert all(row["width"] > 20.0 for row in interval_rows() if row["method"] != "tailguard")
    assert "on all slopes more than 20 times" in page


def test_how_many_records_beat_a_constant_is_counted():
    rows, page = stored("useful_rows"), prose("docs/how-much-budget.md")
    beat = {k: sum(r["beat"] for r in rows if r["multiple"] == k) for k in (1, 2, 3)}
    fits = sum(row["fits"] for row in rows if row["multiple"] == 1)
    said = "{} of {} beat a constant at that number, {} of {} at half of it, and {} of {} at one"
    assert said.format(beat[2], fits, beat[1], fits, beat[3], fits) in page


def test_what_a_description_costs_is_stored():
    costs, page = stored("describe_cost"), prose("docs/accuracy.md")
    speed = costs["20 columns of 1000000 rows"]
    said = "twenty columns of a million records take {:.2f} s of processor time, and "
    said += "`numpy.quantile` {:.2f} s column by column or {:.2f} s by `axis=0`"
    told = (speed[name] for name in ("tg.quantile", "numpy, by column", "numpy, axis=0"))
    assert said.format(*told) in page
    files = [costs[f"file of {millions}000000 rows"] for millions in (1, 20, 100)]
    assert len(costs) == 1 + len(files)
    said = "five columns of 1, 20 and 100 million rows took {}, {} and {} MB at most, and "
    said += "{:.2g}, {:.2g} and {:.3g} s"
    told = [file[key] for key in ("MB", "seconds") for file in files]
    assert said.format(*told) in page


def test_classes_of_real_tables_are_counted():
    rows, page = lines_of(f"{RESULTS}/class_tables.csv"), prose("docs/default-stages.md")
    by_epsilon = [[r for r in rows if float(r["epsilon"]) == each] for each in (0.3, 1, 3, 100)]
    shares = [short(statistics.median(float(r["explained"]) for r in own), 2) for own in by_epsilon]
    said = "of what the optimum does at epsilon .3, {} at 1, {} at 3 and {} at a mu of 10"
    assert f"a median share of {shares[0]} {said.format(*shares[1:])}" in page
    fitted = [row for own in by_epsilon[1:] for row in own]
    above = sum(float(row["explained"]) > 0.0 for row in fitted)
    lost = short(max(float(row["beyond"]) for row in fitted), 2)
    assert f"in {above} of {len(fitted)} cells, and no fit loses more than {lost} %" in page
    near = sum(float(row["above"]) <= 1.0 for row in by_epsilon[-1])
    assert f"within 1 % of the optimum's for {near} of them" in page
    given, hold = (sum(int(row[key]) for row in rows) for key in ("given", "hold"))
    assert f"{hold} of {given} hold the optimum's differences" in page
    names = {row["classes"] for row in rows}
    assert f"Of {len(names)} targets" in page


def test_intervals_of_classes_are_counted():
    rows, page = lines_of(f"{RESULTS}/classes.csv"), prose("docs/default-stages.md")
    shares = []
    for epsilon in (1.0, 3.0, 100.0):
        own = [row for row in rows if float(row["epsilon"]) == epsilon]
        given, hold = (sum(int(row[key]) for row in own) for key in ("given", "hold"))
        shares.append(f"{100 * hold / given:.1f} % of {given}")
    said = "{} hold the true difference at epsilon 1, {} at 3 and {} at a mu of 10"
    assert said.format(*shares) in page


def test_a_ridge_is_measured_on_real_tables():
    rows, page = lines_of(f"{RESULTS}/ridge.csv"), prose("docs/default-stages.md")
    held, asked = (sum(float(row[key]) for row in rows) for key in ("hold", "of"))
    assert f"Of {asked:.0f} intervals {held:.0f} hold the optimum's own" in page
    for name, powers in (("squares", {0.0}), ("amounts", {1.5, 2.0})):
        cells = []
        for epsilon in ("1.0", "4.0", "100.0"):
            own = [row for row in rows if row["epsilon"] == epsilon]
            excess = [float(row["excess"]) for row in own if float(row["power"]) in powers]
            cells.append(f"{short(statistics.median(excess), 3)}, {short(max(excess), 2)}")
        assert f"| {name} | {' | '.join(cells)} |" in text("docs/default-stages.md")
    beyond = {(row["target"], row["epsilon"]) for row in rows if float(row["beyond"]) > 0.0}
    at_one = {(name, "1.0") for name in ("credit_card_expend", "concrete", "unemp_spell")}
    assert beyond == at_one | {(n, e) for n in ("us_aid", "forbes_value") for e in ("1.0", "4.0")}
    harm = max(float(row["harm"]) for row in rows)
    assert f"at most {harm:.1f} % above that of the worse of two constants" in page
    last = [row for row in rows if row["epsilon"] == "100.0"]
    near = [float(row["power"]) > 0.0 for row in last if float(row["above"]) <= 1.0]
    assert sum(near) == len(last) / 2 == 10
    assert f"in all ten tables of amounts and in {len(near) - 10} of 10 of squares" in page


def test_papers_quote_the_tables_of_their_results():
    """Each figure of a paragraph that is headed as measured stands in the table that it links."""
    told = re.findall(r"^\[Measured\]\(\.\./(\S+?)\)(.*?)\n\n", text("docs/papers.md"), re.M | re.S)
    assert len(told) == 5
    for results, said in told:
        figures = re.findall(r"(?<![\d.,`])0\.\d+(?![\d,`])", said.replace("zero weights", ""))
        table = {float(each) for each in re.findall(r"(?<=[ |])\d\.\d+(?=[ .])", text(results))}
        assert {float(each) for each in figures} <= table | {float("0.1"), 0.5}, results


def test_the_comparison_says_how_far_a_default_fit_is_from_the_best():
    best, ours = {}, {}
    for line in lines_of("benchmarks/accuracy/results/accuracy.csv"):
        if line["suite"] == "public" and float(line["epsilon"]) == 1.0:
            mean, task = float(line["mean"]), line["task"]
            if line["method"] in METHODS.values():
                best[task] = min(mean, best.get(task, mean))
            if line["method"] == "tailguard":
                ours[task] = mean
    worst = max(ours[task] / best[task] for task in ours)
    assert f"at most {worst:.1f} times the best of all rows" in prose("docs/statement-of-need.md")


def test_tables_of_accuracy_follow_from_the_lines_that_are_kept(tmp_path, monkeypatch):
    """Of each suite whose lines of tailguard are kept, and of the picture of real tables."""
    kept = ROOT / "benchmarks/accuracy/results"
    shutil.copy(kept / chosen.FILE, tmp_path)
    monkeypatch.setattr(accuracy.figure, "draw", lambda *told: None)
    monkeypatch.setattr(picture, "draw", lambda *told: None)
    accuracy.write_report(tmp_path)
    picture.write(tmp_path)
    assert (tmp_path / "tables.csv").read_bytes() == (kept / "tables.csv").read_bytes()
    suites = {line["suite"] for line in lines_of(tmp_path / "summary.csv")}
    assert "tables" in suites
    for name in ("summary.csv", "accuracy.csv"):
        stored = [line for line in lines_of(kept / name) if line["suite"] in suites]
        assert lines_of(tmp_path / name) == stored
    told = (kept / "accuracy.md").read_text()
    head, *sections = (tmp_path / "accuracy.md").read_text().split("\n\n## ")
    rows = head.partition("| --- |")[2].split("\n")[1:]
    assert len(rows) == len(sections) == len(suites)
    assert [part for part in (*rows, *sections) if part.strip() not in told] == []
