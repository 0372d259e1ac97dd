"""Bad inputs: one sentence on stderr, exit code 2, nothing else, and no budget is spent.

``test_option_names.py`` gives a wrong value to every option by itself.
"""

import json
import re
from datetime import date

import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg

LONG = 300 * "a"  # names have at most 255 bytes
CALLS = {
    # calling
    "unknown command": "fix {csv}",
    "misspelt command": "fti {csv}",
    "unknown option": "fit {csv} {linear} --bounds 3",
    "option without its value": "fit {csv} {linear} --level",
    "one argument too many": "fit {csv} {csv} {linear}",
    "no file": "fit {linear}",
    "no target": "fit {csv} {privacy} --out {out}",
    "no place to write": "fit {csv} --target cost {privacy}",
    # privacy
    "epsilon missing": "fit {csv} --target cost --delta 1e-6 --out {out}",
    "epsilon zero": "fit {csv} --target cost --epsilon 0 --delta 1e-6 --out {out}",
    "epsilon beyond the sampler": "fit {csv} {declared} --epsilon 1000 --delta 1e-6 --out {out}",
    "epsilon not a number": "fit {csv} --target cost --epsilon much --delta 1e-6 --out {out}",
    "delta missing": "fit {csv} --target cost --epsilon 1 --out {out}",
    "delta zero": "fit {csv} --target cost --epsilon 1 --delta 0 --out {out}",
    "seed not whole": "fit {csv} {linear} --random-state 1.5",
    # files
    "missing file": "fit {folder}/nowhere.csv {linear}",
    "directory as file": "fit {folder} {linear}",
    "a name too long for a file": f"fit {LONG}.csv {{linear}}",
    "a place too long for a file": f"fit {{csv}} --target cost {{privacy}} --out {LONG}",
    "a checkpoint too long for a file": f"fit {{csv}} {{linear}} --checkpoint {LONG}",
    "a ledger too long for a file": f"ledger show {LONG}",
    "a new ledger too long for a file": f"ledger create {LONG} --name claims --mu 1",
    "a copy too long for a file": f"schema {{csv}} --out {LONG}",
    "unknown kind of file": "fit {folder}/claims.xlsx {linear}",
    "a pipe": "fit /dev/stdin {linear}",
    "the standard input": "fit - {linear}",
    "predictions of a device": "predict {model} /dev/null --out {out}",
    "empty file": "fit {folder}/empty.csv {linear}",
    "header only": "fit {folder}/header.csv --target b {privacy} --out {out}",
    "one row": "fit {folder}/one.csv --target b {privacy} --out {out}",
    "header with a name twice": "fit {folder}/twice.csv --target b {privacy} --out {out}",
    "header without a name": "fit {folder}/index.csv --target b {privacy} --out {out}",
    "not really Parquet": "fit {folder}/text.parquet --target b {privacy} --out {out}",
    "empty Parquet": "fit {folder}/empty.parquet --target b {privacy} --out {out}",
    # columns
    "target among features": "fit {csv} {linear} --features age,cost",
    "exposure among features": "fit {csv} {counts} --exposure years --features age,years",
    "exposure is the target": "fit {csv} {counts} --exposure claims",
    "no feature": "fit {csv} {linear} --features ,",
    "no column left": "fit {folder}/target.csv --target b {privacy} --out {out}",
    "dictionary of Parquet": "fit {types} {linear} --features age,kind",
    "drop of a feature": "fit {csv} {linear} --features age,power --drop age",
    "drop of the target": "fit {csv} {linear} --drop cost",
    "drop of everything": "fit {csv} {linear} --drop age,power,region,years,claims,ill",
    "no target in the schema": "fit {csv} --schema {folder}/schema.json {privacy} --out {out}",
    "target twice": "fit {csv} {linear} --schema {folder}/target.json",
    "features twice": "fit {csv} {linear} --schema {folder}/schema.json --features age",
    "schema that is no JSON": "fit {csv} {linear} --schema {csv}",
    "schema of another kind": "fit {csv} {linear} --schema {folder}/list.json",
    "schema of another table": "fit {csv} {linear} --schema {folder}/other.json",
    "classes in the schema of a line": "fit {csv} {linear} --schema {folder}/classes.json",
    "begun without out": "schema {csv}",
    "categorical of the target": "fit {csv} {linear} --categorical cost=1,2",
    "categorical without levels": "fit {csv} {linear} --categorical region",
    "categorical with an empty level": "fit {csv} {linear} --categorical region=north,",
    "categorical twice": "fit {csv} {linear} --categorical region=a,b --categorical region=c,d",
    # models
    "one class": "fit {csv} {label} --classes yes",
    "three classes of a sparse model": "fit {csv} {label} --model sparse-logistic --keep 1 "
    "--classes no,yes,maybe",
    "classes without logistic": "fit {csv} {linear} --classes no,yes",
    "exposure without poisson": "fit {csv} {linear} --exposure years",
    "level without quantile": "fit {csv} {linear} --level 0.5",
    "keep without a sparse model": "fit {csv} {linear} --keep 5",
    "power above 16": "fit {csv} {linear} --features age --model lp --power 900",
    "threshold above all floats' squares": "fit {csv} {linear} {huber} --threshold 1e300",
    "power without lp or tweedie": "fit {csv} {linear} --power 1.5",
    "alpha of a model without a ridge": "fit {csv} {linear} --model huber --alpha 1",
    # writing
    "out is a directory": "fit {csv} --target cost {privacy} --out {folder}",
    # model files
    "missing model": "predict {folder}/nowhere.json {csv}",
    "model is no JSON": "predict {csv} {csv}",
    "model is other JSON": "certificate {folder}/list.json",
    "model of a thousand brackets": "certificate {folder}/deep.json",
    "model of a newer format": "certificate {folder}/newer.json",
    "model without certificate": "certificate {folder}/bare.json",
    "rows lack a column": "predict {model} {folder}/one.csv",
    "rows missing": "predict {model}",
    "exposure for a linear model": "predict {model} {csv} --exposure years",
    "certificate of a directory": "certificate {folder}",
    # planning
    "plan of an unknown task": "plan forest {sizes} {privacy}",
    "plan without rows": "plan mean --columns 3 {privacy}",
    "plan without a moment": "plan convex {sizes} {privacy} --diameter 2",
    "plan of more rows than count": f"plan mean --rows {10**400} --columns 3 {{privacy}}",
    "plan of more columns than fit": f"plan mean --rows 9 --columns {10**9} {{privacy}}",
    # means
    "mean without privacy": "mean {csv} --columns cost",
    "mean with delta and pure": "mean {csv} --columns cost {privacy} --pure",
    "mean of a dropped column": "mean {csv} --columns cost --drop cost {privacy}",
    "mean of levels that are not chosen": "mean {csv} {cost} --categorical region=north,south",
    "mean with half a moment": "mean {csv} --columns cost {privacy} --moment-order 2",
    "mean with a moment of no kind": "mean {csv} {cost} {second} --moment-kind cubic",
    "mean with a moment of the wrong kind": "mean {csv} {cost} {second} --method truncated",
    "mean with groups for none": "mean {csv} {cost} --groups 3",
    "mean with no groups": "mean {csv} {cost} --groups 0 --method clamped",
    "mean with an unknown calibration": "mean {csv} {cost} --calibration loose",
    "mean with paper noise and no moment": "mean {csv} {cost} --calibration paper --method soft",
    "pure mean with Gaussian noise": "mean {csv} --columns cost {pure} --method clipped",
    "mean of a header": "mean {folder}/header.csv {privacy}",
    # demonstration
    "demo with epsilon -1": "demo --epsilon -1",
    "demo with few rows": "demo --rows 3",
    "demo with more rows than memory": "demo --rows 10000001",
}

WRONG_CONSTANTS = ("age", "age=", "age=mean", "age=inf", "=4")
WRONG_DATES = ("issued=", "issued=2020-01-01", "=2020-01-01,days")
LABELLED = ("logistic", "sparse-logistic")
UNLABELLED = (
    "--classes must be given for --model {}, such as --classes no,yes or 0,1: a CSV file does not "
    "say that 'ill' holds numbers."
)
NOT_ONCE = (
    *("--method clipped --option clip_norm", "--method clipped --option =3"),
    "--method clipped --option clip_norm=1 --option clip_norm=2",
    "--method truncated --groups 2 --option n_groups=2",
)
CHARGED = (
    ("--ledger-name a", "--ledger-name and --ledger-key must be given with --ledger"),
    ("--ledger {new}", "must be a file; there is none"),
    ("--ledger {ledger} --random-state 1", "--random-state must be None when a ledger"),
    ("--ledger {ledger} --ledger-key {nothing}", "key must be a text"),
)
# What sentences say, option by option.
SAID = [
    # running
    ("{fit} --resume", "--resume must be given with --checkpoint"),
    ("{fit} --checkpoint none --resume", "--checkpoint must be a file of a stopped run"),
    ("{fit} --checkpoint {csv}", "--checkpoint must be a new file"),
    ("{fit} --checkpoint {csv} --resume", "checkpoint must be a file that a run wrote"),
    ("{sparse} --checkpoint c", "checkpoint must be None for 'hard-thresholding'"),
    ("{fit} --engine dask", "--engine must be 'local' for a CSV file"),
    ("{fit} --engine spark", "--engine must be 'local' for a CSV file; got 'spark'"),
    ("fit {types} {linear} --engine ray", "must be one of 'local', 'dask', 'spark'; got 'ray'"),
    ("{mean} --json --explain", "--explain must be left out with --json; got both."),
    ("{describe} --json --explain", "--explain must be left out with --json; got both."),
    ("audit --quick --all", "--quick must not be given with --all"),
    ("audit --only nothing", "--only must be part of the name of a row"),
    ("audit --jobs 0", "--jobs must be at least 1"),
    ("audit --jobs two", "jobs"),
    # columns, labels, weights and persons
    *((f"{{levels}} --missing {wrong}", "--missing must give each") for wrong in WRONG_CONSTANTS),
    ("{levels} --missing height=1", "missing must name features; got 'height'"),
    ("{levels} --missing region=1", "missing['region'] must be one of 'north', 'south', 'other'"),
    *(
        (f"{{fit}} --dates {wrong}", "--dates must declare each column once")
        for wrong in WRONG_DATES
    ),
    *((f"fit {{csv}} {{label}} --model {model}", UNLABELLED.format(model)) for model in LABELLED),
    ("{fit} --weight years", "--weight-bound must be declared beside --weight:"),
    ("{fit} --weight-bound 2", "--weight-bound must be left out without --weight;"),
    ("{fit} --weight years --weight-bound -1", "--weight-bound must be"),
    ("{fit} --weight nobody --weight-bound 1", "must have a column 'nobody'"),
    ("{mean} --weight years --weight-bound 2 --method soft", "--weight must be None unless the me"),
    ("{fit} --person region", "--person and --max-rows must be declared together"),
    ("{fit} --max-rows 3", "--person and --max-rows must be declared together"),
    ("{fit} --person region --max-rows 0", "--max-rows must be"),
    ("{fit} --person nobody --max-rows 3", "must have a column 'nobody'"),
    ("{fit} --person-weight row", "--person-weight must be left out without --person"),
    ("{fit} --person region --max-rows 3 --person-weight x", "--person-weight must be"),
    # scores and searches
    ("{score} --target price", "must have a column 'price'"),
    ("{score} --exposure years", "--exposure must be None for a LinearRegression"),
    ("{score} --max-rows 3", "--max-rows must be left out without --person"),
    ("{score} --person region", "--max-rows must be given beside --person"),
    ("{score} --pure", "--delta must not be given with --pure"),
    ("{search} --try target", "--try must give each parameter its values once, such as"),
    ("{search} --try target=", "--try must be different names separated by commas"),
    ("{search} --try epsilon=1,2", "--try must name parameters among"),
    ("{search} --try level=0.5", "--try must name parameters among"),
    # means and descriptions
    *((f"{{mean}} {options}", "--option must give each option once") for options in NOT_ONCE),
    ("{mean} --method clipped --option radius=1", "radius must not be given with method"),
    ("{mean} --method clipped --option clip_norm=far", "clip_norm must be"),
    ("{mean} --method clipped --option clip_norm=1e308", "clip_norm must be"),
    ("{mean} --method truncated --option n_groups=2.5", "--groups must be"),
    ("{mean} --option clip_norm=1", "--option must be given with a --method by name"),
    ("{mean} --method clip", "--method must be one of 'auto', 'clipped'"),
    (
        "fit {csv} --formula cost~cut(age,2,1) {privacy} --out {out}",
        "--term must be like cut(x, 10, 20), with",
    ),
    ("{describe} --quantiles half", "--quantiles must be numbers from 0 to 1"),
    ("{describe} --quantiles 2", "--quantiles must be"),
    ("{describe} --by cost", "by must name columns of declared levels"),
    ("{describe} --by cost,cost", "--by must be different names"),
    ("{describe} --spend tails=2", "--spend must name statistics that are requested (quantiles, "),
    # plans
    ("plan squared --columns 5 {privacy}", "--rows must be given, or "),
    ("plan squared {sizes} {privacy} --json --out {out}", "--out must be given with --html"),
    ("{persons} --rows-per-person few", "--rows-per-person must be numbers, such as 1,3,12; got"),
    ("plan squared --columns 5 --delta 1e-6 --html --persons 20000 --rows-per-person 3", "--html"),
    # ledgers
    ("ledger create {new} --name a", "one of the three; got 0"),
    ("ledger create {new} --name a --rho 1 --mu 1", "one of the three; got 2"),
    ("ledger create {new} --name a --epsilon 1", "--delta must be given"),
    ("ledger create {new} --name a --rho 1 --delta 1e-6", "with --epsilon"),
    ("ledger create {new} --name a --mu -1", "mu must be"),
    ("ledger create {new} --name {nothing} --mu 1", "name must be a text"),
    ("ledger create {ledger} --name claims --mu 1", "--name must be new"),
    ("ledger show {new}", "must be a file; there is none"),
    ("ledger show {new}", "pass its cap to tg.Ledger, or run 'tailguard ledger create'"),
    ("ledger show {ledger} --name patients", "'patients' must exist"),
    ("ledger history {csv}", "must be a file that a ledger wrote"),
    ("ledger verify {ledger} --against {csv}", "--against must be a file that"),
    (
        "ledger verify {ledger} --against {folder}/list.json",
        "--against must be what a ledger exported; it",
    ),
    ("ledger export {ledger} --out {folder}", "--out must be a file"),
    *((f"{spend} {options}", words) for spend in ("{fit}", "{mean}") for options, words in CHARGED),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory, model_file):
    """Files with something wrong about each."""
    path = tmp_path_factory.mktemp("malformed")
    content = {
        **{"empty.csv": "", "header.csv": "a,b\n", "one.csv": "a,b\n1,2\n", "claims.xlsx": "?"},
        **{"twice.csv": "a,a,b\n1,2,3\n4,5,6\n", "target.csv": "b\n1\n2\n", "list.json": "[1]"},
        "deep.json": "[" * 100_000,
        **{"index.csv": ",a,b\n0,1,2\n1,3,4\n"},
        **{"text.parquet": "a,b\n1,2\n", "empty.parquet": ""},
    }
    model = json.loads(model_file.read_text())
    for name, declared in {
        "schema": {"features": ["age", "power"]},
        "target": {"target": "cost"},
        "other": {"features": ["height"]},
        "classes": {"features": ["age"], "classes": ["no", "yes"]},
    }.items():
        content[f"{name}.json"] = json.dumps({"tailguard_schema": 1} | declared)
    content["newer.json"] = json.dumps(model | {"tailguard_model": 99})
    content["bare.json"] = json.dumps(model | {"certificate": {}})
    for name, text in content.items():
        (path / name).write_text(text)
    columns = {"age": [30.0, 40.0], "cost": [1.0, 2.0], "day": [date(2024, 1, 1)] * 2}
    columns["kind"] = pa.array(["a", "b"]).dictionary_encode()
    parquet.write_table(pa.table(columns), path / "types.parquet")
    tg.Ledger(path / "budget.sqlite", "claims", epsilon=2.0, delta=1e-5)
    return path


@pytest.fixture
def arguments_of(folder, csv_file, parquet_file, model_file, tmp_path):
    def split(line):
        privacy, out = "--epsilon 1 --delta 1e-6", tmp_path / "model.json"
        fitting = f"{privacy} --out {out}"
        sparse = "--target cost --features age --model sparse-linear --keep 1"
        levels = "--target cost --features age,region --categorical region=north,south"
        return line.format(
            folder=folder,
            csv=csv_file,
            parquet=parquet_file,
            model=model_file,
            privacy=privacy,
            sizes="--rows 1000 --columns 3",
            out=out,
            pure="--epsilon 1 --pure",
            cost=f"--columns cost {privacy}",
            second="--moment-order 2 --moment-bound 9",
            types=folder / "types.parquet",
            linear=f"--target cost {fitting}",
            fit=f"fit {csv_file} --target cost --features age {fitting}",
            sparse=f"fit {csv_file} {sparse} {fitting}",
            levels=f"fit {csv_file} {levels} {fitting}",
            mean=f"mean {csv_file} --columns cost {privacy}",
            describe=f"describe {csv_file} --columns cost {privacy}",
            score=f"score {model_file} {csv_file} {privacy}",
            search=f"search {csv_file} --target cost --features age,power {fitting}",
            persons=f"plan squared --columns 5 {privacy} --persons 20000",
            ledger=folder / "budget.sqlite",
            new=tmp_path / "new.sqlite",
            nothing="",
            huber="--model huber --features age",
            declared="--target cost --features age",
            counts=f"--target claims --model poisson {fitting}",
            label=f"--target ill --model logistic --features age {fitting}",
        ).split(" ")

    return split


def assert_one_sentence(stderr):
    sentence = stderr.removesuffix("\n")
    assert re.fullmatch(r"Error: [^\n]*[^.\n]\.", sentence), stderr
    assert not re.search(r"[.!?]\s+[A-Z]", sentence)
    assert "Traceback" not in stderr


@pytest.mark.parametrize("line", CALLS.values(), ids=CALLS)
def test_a_bad_input_gets_one_sentence(line, call, arguments_of, tmp_path):
    answer = call(*arguments_of(line))
    assert (answer.code, answer.out) == (2, "")
    assert_one_sentence(answer.err)
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(("line", "words"), SAID)
def test_the_sentence_says_what_is_wrong(line, words, call, arguments_of, folder, tmp_path):
    answer = call(*arguments_of(line))
    assert (answer.code, answer.out) == (2, "")
    assert_one_sentence(answer.err)
    assert words in answer.err
    assert [*tmp_path.iterdir()] == []
    assert len(tg.Ledger(folder / "budget.sqlite").lines()) == 1
