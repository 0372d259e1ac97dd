"""Published numbers are those of the stored results: ``make numbers``."""

import csv
import json
import math
import re
from pathlib import Path

import pytest

import tailguard as tg

ROOT = Path(__file__).parents[2]
REPRODUCED = "benchmarks/results/reproduce"


def text(path):
    return (ROOT / path).read_text()


def lines_of(path, **options):
    rows = (line for line in text(path).splitlines() if not line.startswith("# "))
    return list(csv.DictReader(rows, **options))


def prose(path):
    return " ".join(text(path).split())


def test_the_comparison_quotes_what_the_tools_answered():
    answers = json.loads(text("benchmarks/results/peer_facts.json"))
    page = text("docs/statement-of-need.md")
    for number, (claim, answer) in enumerate(answers.items(), start=1):
        assert f"| [{number}] | {claim} | `{answer}` |" in page
        assert page.count(f"[{number}]") > 1 or f"Fact {number} " in page


# Rows of the comparison, and methods of the kept results.
METHODS = {
    "tailguard, by default": "tailguard",
    "Opacus, untuned": "opacus, untuned",
    "DP-GD, untuned": "DP-GD, untuned",
    "AdaSSP, told scales": "AdaSSP, given scales",
    "diffprivlib, told scales": "diffprivlib, given scales",
    "diffprivlib, best on test rows": "diffprivlib, oracle-tuned",
    "Opacus, best on test rows": "opacus, oracle-tuned",
    "DP-GD, best on test rows": "DP-GD, oracle-tuned",
}


def test_the_comparison_has_the_kept_results():
    lines = csv.DictReader(text("benchmarks/accuracy/results/accuracy.csv").splitlines())
    kept = {
        (line["method"], line["task"]): line
        for line in lines
        if line["suite"] == "public" and float(line["epsilon"]) == 1
    }
    tasks = [task for method, task in kept if method == "tailguard"]
    page = text("docs/statement-of-need.md")
    constants = [kept["tailguard", task]["constant_gap"] for task in tasks]
    rows = {"predicting a constant": constants} | {
        label: [kept.get((method, task), {}).get("mean", "") for task in tasks]
        for label, method in METHODS.items()
    }
    for label, means in rows.items():
        cells = (f"{float(mean):.2g}" if mean else "" for mean in means)
        assert f"| {label} | {' | '.join(cells)} |" in page


# Tables and sentences on accuracy.

SUMMARY = {line["suite"]: line for line in lines_of("benchmarks/accuracy/results/summary.csv")}


def within(suite):
    """How many cells of a suite are within the bound beside the best peer, and of how many."""
    cells = int(SUMMARY[suite]["cells"])
    return round(float(SUMMARY[suite]["level"]) * cells), cells


def test_the_page_on_accuracy_has_the_stored_summary():
    page = prose("docs/accuracy.md")
    near, cells = within("tables")
    assert f"{near / cells:.0%} ({near} of {cells})".replace("%", " %") in page
    won, even, lost = (int(SUMMARY["tables"][f"untuned_{how}"]) for how in ("won", "even", "lost"))
    assert f"({won + even} of {won + even + lost})" in page
    assert lost == 4
    assert "Of the four comparisons lost three are of one table" in page
    assert f"{SUMMARY['tables']['far']} cells are above twice" in page
    assert "({} of {})".format(*within("public")) in page
    ours = SUMMARY["evaluation"]
    both = [f"{float(ours[f'{kind}_median']):.2f}" for kind in ("ratio", "elsewhere")]
    assert "DP-GD | {}; to DP-GD tuned on the other seeds {} |".format(*both) in page
    tails = [f"{float(ours[f'{kind}_p90']):.1f}" for kind in ("ratio", "elsewhere")]
    assert "90th percentile | {}; {} |".format(*tails) in page
    near, cells = within("evaluation")
    assert f"{near / cells:.0%}".replace("%", " %") + f" of the {cells} cells" in page
    assert f"{ours['far']} are above twice that" in page
    table = text("benchmarks/accuracy/results/accuracy.md")
    held = re.findall(r"n >= 20000: (\S+ of \d+) coefficients", table)
    families = re.findall(r"^\| [A-Z] \| \d+ \| (\d+)% \| ([\d.]+)% \|$", table, re.M)
    given, hold = (sorted(map(float, column)) for column in zip(*families, strict=True))
    assert len(families) == 10
    said = f"{hold[0]} to {hold[-1]} % hold and {given[0]:.0f} to {given[-1]:.0f} % are given"
    assert said in page
    assert (
        "of public tasks {} coefficients hold the truth, of the evaluation family {}.".format(
            *held[:2]
        )
        in page
    )


def test_the_page_on_accuracy_names_the_library_of_each_suite():
    page = prose("docs/accuracy.md")
    named = (
        ("Real tables and T1 to T5 were fitted by tailguard", ("tables", "public")),
        ("The evaluation family was fitted by", ("evaluation",)),
        ("the former one by", ("former",)),
    )
    for said, suites in named:
        (library,) = {SUMMARY[suite]["library"] for suite in suites}
        assert f"{said} {library}," in page
    assert {*SUMMARY} == {suite for _, suites in named for suite in suites}


def test_the_pages_on_public_sets_count_what_is_stored():
    positive = {}
    for line in lines_of("benchmarks/accuracy/results/plug_and_play.csv"):
        if line["method"] == "tailguard":
            won = positive.setdefault(line["budget"], [])
            won.append(float(line["r2_median"]) > 0.0)
    counts = [(sum(won), len(won)) for won in positive.values()]
    assert counts == [(15, 15), (14, 15)]
    assert "15 of 15 at (ln 3, 1e-5), 14 at (1, 1e-6)" in prose("docs/accuracy.md")


def test_what_is_said_of_the_picture_follows_from_its_numbers():
    rows = [
        line
        for line in lines_of("benchmarks/accuracy/results/tables.csv")
        if line["method"] == "tailguard"
    ]
    names = ["none", "one", "two", "three", "four", "five"]

    def mean_and_worse(epsilon):
        own = [line for line in rows if float(line["epsilon"]) == epsilon]
        tables = sum(int(line["tables"]) for line in own)
        assert tables == 41
        mean = sum(int(line["tables"]) * float(line["mean"]) for line in own) / tables
        return mean, names[sum(int(line["worse_than_constant"]) for line in own)]

    _, worse = mean_and_worse(0.3)
    assert f"at epsilon 0.3, {worse} of the 41 default fits lost more" in prose("README.md")
    mean, worse = mean_and_worse(1.0)
    said = f"at epsilon 1 is {mean:.2f} of what a constant loses, and on {worse} of them"
    assert said in prose("docs/default-method.md")


def test_the_page_on_audits_counts_the_stored_faults():
    verdicts = [
        line["verdict"] for line in lines_of("benchmarks/results/mutants.csv", delimiter="\t")
    ]
    caught = sum(verdict.startswith("caught") for verdict in verdicts)
    safe = verdicts.count("survived")
    assert caught + safe == len(verdicts)
    said = f"of the {len(verdicts)} faults that are kept {caught} are caught, and {safe} do no harm"
    assert said in prose("docs/audits.md")
    last = re.search(
        r"^\| of `privacy/`.* drawn anew \|.*only \| (\d+) \| \d+ \| (.+?) \| (.+?) \| \d+ \| 100",
        text("benchmarks/results/mutants.md"),
        re.M,
    )
    said = f"of {last[1]} unseen faults in `privacy/`, `noise/` and `ledger/` {last[2]} ({last[3]})"
    assert f"{said} were caught, and the others do no harm" in prose("docs/audits.md")


# Rows of the table of theorems side by side, by the names of the stored curves.
OWN_NAMES = {"DP-SGD, tuned": "DP-SGD, tuned", "`tg.minimize`": "tg.minimize, default",
             "robust descent, no privacy": "robust descent, no privacy"}  # fmt: skip


def test_theorems_side_by_side_have_the_stored_medians():
    stored = {}
    for line in lines_of(f"{REPRODUCED}/ranking.csv"):
        if line["noise"] in ("tight", "-"):
            key = line["panel"].partition(",")[0], float(line["x"]), line["curve"]
            stored.setdefault(key, line["median"])
    page = text("docs/reproduce.md")
    table = page.partition("| median excess risk, tight noise |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)[1:]
    assert len(rows) > 6
    for name, cells in rows:
        curve = OWN_NAMES.get(name, name.strip("`"))
        for (task, epsilon), cell in zip(
            [("ridge", 0.1), ("ridge", 1.0), ("logistic", 0.1), ("logistic", 1.0)],
            cells.split(" | "),
            strict=True,
        ):
            if cell == "refused":
                assert (task, epsilon, curve) not in stored
            else:
                assert float(cell) == pytest.approx(float(stored[task, epsilon, curve]), rel=0.05)


def test_slopes_and_ratios_are_those_of_the_claims():
    page, claims = text("docs/reproduce.md"), text("docs/claims.md")
    slopes = re.findall(r"-?\d\.\d\d ± \d\.\d\d of -?\d\.\d\d", page)
    ratios = re.findall(r"[\d.e-]+ to [\d.e-]+ times(?=;? (?:\||vacuous))", page)
    assert len(slopes) > 40
    assert len(ratios) > 15
    assert [said for said in (*slopes, *ratios) if said not in claims] == []


def test_a_count_of_means_is_that_of_the_stored_table():
    rows = [line for line in lines_of("benchmarks/results/means.csv") if line["method"] == "auto"]
    free = [float(line["ratio"]) for line in rows if line["moment"] == "none"]
    told = [float(line["overall"]) for line in rows if line["moment"] != "none"]
    near = sum(ratio < 1.5 for ratio in told)
    assert f"within 1.5 times that in {near} of {len(told)} cells" in prose("docs/reproduce.md")
    assert f"The worst, {max(told):.2f} times" in prose("docs/reproduce.md")
    said = f"`auto` is within 1.5 times the best method by name in all {len(free)} cells"
    assert said in prose("docs/reproduce.md")
    assert f"{max(free):.2f} times it at worst" in prose("docs/reproduce.md")
    assert all(ratio <= 1.5 for ratio in free)


def test_intervals_of_means_are_those_of_the_stored_results():
    rows = json.loads(text("benchmarks/results/mean_intervals.json"))["tables"]
    cells = {(row["columns"], row["kind"], row["epsilon"]): row for row in rows}
    shares, widths = ("held", "held by noise alone", "given"), ("noise", "sampling")
    for how, kind in {key[:2] for key in cells}:
        pair = [cells[how, kind, epsilon] for epsilon in (1.0, 4.0)]
        row = [" / ".join(f"{100 * cell[share]:.0f} %" for share in shares) for cell in pair]
        row += [" / ".join(f"{cell[f'width in {unit}']:.1f}" for cell in pair) for unit in widths]
        assert f"\n| {kind}, {how} | {' | '.join(row)} |\n" in text("docs/reproduce.md")


def test_the_price_of_persons_is_that_of_the_stored_results():
    for row in json.loads(text("benchmarks/results/persons.json")):
        named = ("person", "one row", "group privacy", "not private")
        errors = " | ".join(f"{1000 * row['error'][name]:.1f}" for name in named)
        width = row["width over cluster-robust"]
        assert f"\n| {row['correlation']:g} | {width:.2f} | {errors} |\n" in text("docs/persons.md")


def test_the_panels_of_persons_are_those_of_the_stored_results():
    page, widths = text("docs/accuracy.md"), []
    for row in json.loads(text("benchmarks/results/person_tables.json")):
        sizes = f"{row['persons']:,} | {row['rows']:,} | `{row['model']}` of `{row['target']}`"
        width = row["width over cluster-robust"]
        widths.append(width)
        assert f"\n| {row['table']} | {sizes} | {row['held']:.0%} | {width:.2f} |\n" in page
        for each in row["coefficients"]:
            fits = f"{each['private']:.3g} | {each['std']:.2g}"
            robust = f"{each['not private']:.3g} | {each['cluster-robust']:.2g}"
            assert f" | `{each['name']}` | {fits} | {robust} |\n" in page
    said = f"{min(widths):.2f} to {max(widths):.2f} times as wide as cluster-robust ones"
    assert said in prose("docs/persons.md")


def test_what_a_table_has_beside_its_description_is_stored():
    page = text("docs/one-ledger.md")
    for row in json.loads(text("benchmarks/results/one_ledger.json")):
        own = (f"{row[key]:.3g}" for key in ("median", "95 %", "mean"))
        cells = r" \| [^|]+ \| ".join(["`" + row["column"] + "`", *map(re.escape, own)])
        assert re.search(rf"\| {cells} \|", page), row


# The paper


def test_the_paper_counts_claims_as_the_page_on_claims_does():
    row = re.search(
        r"^\| claims of the papers, tight or .*?\|(.+)\|$", text("docs/claims.md"), re.M
    )
    counted = [int(cell) for cell in row[1].split("|")]
    paper = " ".join(text("paper/paper.md").split())
    said = re.search(
        r"Of (\d+) claims .*? (\d+) hold, (\d+) are surpassed, (\d+) do not hold, (\d+) are not "
        r"reached .*?, and (\d+) cannot be decided",
        paper,
    )
    assert [int(number) for number in said.groups()] == counted[:-1]


DESCRIBED = "benchmarks/results/describe"


def added(rows, *names):
    return [sum(int(row[name]) for row in rows) for name in names]


def test_descriptions_are_compared_as_they_were_measured():
    page, rows = text("docs/accuracy.md"), lines_of(f"{DESCRIBED}.csv")
    tables = {row["table"]: (int(row["n"]), int(row["d"])) for row in rows}
    sizes, widths = zip(*tables.values(), strict=True)
    assert (
        f"On {len(tables)} real tables of {min(sizes):,} to {max(sizes):,} records and "
        f"{min(widths)} to {max(widths)} columns"
    ) in prose("docs/accuracy.md")
    assert {row["table"] for row in rows if row["rival"] == "diffprivlib"} == {*tables}
    for label, epsilon in (("0.3", "0.3"), ("1", "1.0"), ("3", "3.0"), ("all", "")):
        cells, unseen = [], ""
        for rival in ("diffprivlib", "tree", "exponential"):
            kept = [r for r in rows if r["rival"] == rival and epsilon in ("", r["epsilon"])]
            better, level, hidden, asked = added(kept, "better", "level", "hidden", "cells")
            cells.insert(0, f"{100 * better / asked:.0f} %, {100 * level / asked:.0f} %")
            unseen = f"{100 * hidden / asked:.0f} %"
        assert f"| {label} | {' | '.join(cells)} | {unseen} |" in page
    (level,) = {cell.split(", ")[1] for cell in cells}  # the last row: all three rivals alike
    said = prose("docs/describe.md")
    assert f"{level} of the numbers are [as near" in said
    assert f"noise hides {unseen}." in said


def test_hidden_cells_of_descriptions_and_the_others_are_counted():
    page, rows, shown = prose("docs/accuracy.md"), lines_of(f"{DESCRIBED}.csv"), []
    for rival in ("exponential", "tree", "diffprivlib"):
        for epsilon in ("0.3", "1.0", "3.0"):
            kept = [r for r in rows if r["rival"] == rival and r["epsilon"] == epsilon]
            level, hidden, asked = added(kept, "level", "hidden", "cells")
            shown.append(100 * level / (asked - hidden))
    assert f"ours is better or level in at least {int(min(shown))} %." in page
    tree = [row for row in rows if row["rival"] == "tree"]
    widest = [row for row in tree if int(row["d"]) > 200]
    assert len({row["table"] for row in widest}) == 2
    once, asked = added(tree, "hidden once", "cells")
    assert f"In {100 * once / asked:.0f} % of cells at least one of the ten draws is hidden" in page
    share = added(widest, "hidden")[0] / added(tree, "hidden")[0]
    assert f"{100 * share:.0f} % are in the two widest tables" in page


def shares(rival, kept=lambda row: True):
    """Per cent of the cells in which ours is better or level, and those that noise hides."""
    rows = [row for row in lines_of(f"{DESCRIBED}.csv") if row["rival"] == rival and kept(row)]
    better_or_level, hidden, asked = added(rows, "level", "hidden", "cells")
    return f"{100 * better_or_level / asked:.0f}", f"{100 * hidden / asked:.0f}"


def test_descriptions_of_other_libraries_and_of_few_records_are_those_measured():
    page, cells = prose("docs/accuracy.md"), {}
    for rival in ("opendp", "google", "tumult"):
        each = [shares(rival, lambda row, e=e: row["epsilon"] == e) for e in ("0.3", "1.0", "3.0")]
        cells[rival] = [", ".join(row) for row in zip(*each, strict=True)]
    said = "ours is better or level in {} % and in {} % of cells, where {} % are hidden"
    (opendp, hidden), (google, _), (tumult, _) = cells.values()
    assert said.format(opendp, google, hidden) in page
    asked = [len({r["table"] for r in lines_of(f"{DESCRIBED}.csv") if r["rival"] == rival})
             for rival in cells]  # fmt: skip
    assert f"asked on {asked[0]} of these tables" in page
    assert f"(PyDP 1.1.5) on {asked[1]}, with ten draws" in page
    assert f"asked for the quantiles of {asked[2]} tables, with ten draws: {tumult} %" in page

    def is_small(row):
        mu = tg.ApproxDP(float(row["epsilon"]), 1e-6).gaussian_mu()
        return float(row["n"]) * mu / float(row["d"]) ** 0.5 < 50.0

    said = "below 50, for `k` columns, {} % of cells are better than the tree's or level, and {} %"
    assert f"{said.format(*shares('tree', is_small))} hidden" in page


def test_errors_and_intervals_of_descriptions_are_those_that_were_measured():
    page, errors = text("docs/accuracy.md"), {}
    for row in lines_of(f"{DESCRIBED}_errors.csv"):
        if row["epsilon"] == "1.0":
            errors[row["name"], row["statistic"]] = float(row["error"])
    named = {
        "75%": "upper quartile",
        "95%": "95 % quantile",
        "mean": "mean",
        "std": "standard deviation",
    }
    for statistic, name in named.items():
        names = ("tailguard", "exponential", "tree", "diffprivlib")
        told = " | ".join(f"{errors[each, statistic]:.2g}" for each in names)
        assert f"| {name} | {told} |" in page
    rows = lines_of(f"{DESCRIBED}_intervals.csv")
    sizes = ("up to 300", 0, 300), ("300 to 1,000", 300, 1e3), ("above 1,000", 1e3, math.inf)
    for label, low, high in sizes:
        cells = []
        for kind in ("quantiles", "means"):
            kept = [r for r in rows if r["kind"] == kind and low < float(r["n mu"]) <= high]
            held, given, asked = added(kept, "held", "given", "asked")
            cells += [f"{100 * held / given:.0f} %", f"{100 * given / asked:.0f} %"]
        assert f"| {label} | {' | '.join(cells)} |" in page


def test_intervals_of_laws_are_those_that_were_measured():
    rows = {(r["n mu"], r["statistic"], r["kind"]): r for r in lines_of(f"{DESCRIBED}_laws.csv")}
    sizes = list(dict.fromkeys(size for size, *_ in rows))
    assert len(sizes) == 2
    for size in sizes:
        cells = []
        for statistic in ("quantiles", "mean"):
            for kind in ("smooth", "whole"):
                held, given = added([rows[size, statistic, kind]], "held", "given")
                cells.append(f"{100 * held / given:.0f} % of {given}")
        assert f"| {size} | {' | '.join(cells)} |" in text("docs/accuracy.md")
