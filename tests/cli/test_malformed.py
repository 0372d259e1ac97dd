"""Bad inputs: one sentence on stderr, exit code 2, nothing else, and no budget is spent.

``test_option_names.py`` gives a wrong value to every option by itself.
"""

import json
import re
from datetime import date

import pyarrow as pa
import pytest
from pyarrow import parquet

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
    "epsilon infinite": "fit {csv} --target cost --epsilon inf --delta 1e-6 --out {out}",
    "epsilon tiny": "fit {csv} --target cost --epsilon 1e-300 --delta 1e-300 --out {out}",
    "epsilon huge": "fit {csv} --target cost --epsilon 1e308 --delta 1e-6 --out {out}",
    "epsilon beyond the sampler": "fit {csv} {declared} --epsilon 1000 --delta 1e-6 --out {out}",
    "epsilon not a number": "fit {csv} --target cost --epsilon much --delta 1e-6 --out {out}",
    "epsilon nan": "fit {csv} --target cost --epsilon nan --delta 1e-6 --out {out}",
    "delta missing": "fit {csv} --target cost --epsilon 1 --out {out}",
    "delta above 1": "fit {csv} --target cost --epsilon 1 --delta 2 --out {out}",
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
    "a feature twice": "fit {csv} {linear} --features age,age",
    "an empty feature": "fit {csv} {linear} --features age,,power",
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
    "schema that is a model": "fit {csv} {linear} --schema {model}",
    "schema of a newer format": "fit {csv} {linear} --schema {folder}/newer-schema.json",
    "schema with an unknown key": "fit {csv} {linear} --schema {folder}/odd-schema.json",
    "schema with a column twice": "fit {csv} {linear} --schema {folder}/twice.json",
    "schema of another table": "fit {csv} {linear} --schema {folder}/other.json",
    "classes in the schema of a line": "fit {csv} {linear} --schema {folder}/classes.json",
    "begun without out": "schema {csv}",
    "categorical of the target": "fit {csv} {linear} --categorical cost=1,2",
    "categorical without levels": "fit {csv} {linear} --categorical region",
    "categorical with an empty level": "fit {csv} {linear} --categorical region=north,",
    "a level twice": "fit {csv} {linear} --categorical region=north,north",
    "the level other": "fit {csv} {linear} --categorical region=north,other",
    "categorical twice": "fit {csv} {linear} --categorical region=a,b --categorical region=c,d",
    # models
    "one class": "fit {csv} {label} --classes yes",
    "the same class twice": "fit {csv} {label} --classes yes,yes",
    "the same number twice": "fit {csv} {label} --classes 1,1.0",
    "three classes of a sparse model": "fit {csv} {label} --model sparse-logistic --keep 1 "
    "--classes no,yes,maybe",
    "classes without logistic": "fit {csv} {linear} --classes no,yes",
    "exposure without poisson": "fit {csv} {linear} --exposure years",
    "level without quantile": "fit {csv} {linear} --level 0.5",
    "keep without a sparse model": "fit {csv} {linear} --keep 5",
    "power below 2": "fit {csv} {linear} --model lp --features age --power 1",
    "power above 16": "fit {csv} {linear} --features age --model lp --power 900",
    "threshold above all floats' squares": "fit {csv} {linear} {huber} --threshold 1e300",
    "power of a mean above 2": "fit {csv} {linear} --features age --model tweedie --power 2.5",
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
    "model of format 0": "certificate {folder}/old.json",
    "model with a coefficient too few": "predict {folder}/short.json {csv}",
    "model without certificate": "certificate {folder}/bare.json",
    "rows lack a column": "predict {model} {folder}/one.csv",
    "rows missing": "predict {model}",
    "exposure for a linear model": "predict {model} {csv} --exposure years",
    "certificate of a directory": "certificate {folder}",
    # planning
    "plan of an unknown task": "plan forest {sizes} {privacy}",
    "plan without rows": "plan mean --columns 3 {privacy}",
    "plan without a moment": "plan convex {sizes} {privacy} --diameter 2",
    "plan with a moment of no kind": "plan mean {sizes} {privacy} {moment} --moment-kind odd",
    "plan with a moment of order 1": "plan mean {sizes} {privacy} {moment} --moment-order 1",
    "plan of more rows than count": f"plan mean --rows {10**400} --columns 3 {{privacy}}",
    "plan of more columns than fit": f"plan mean --rows 9 --columns {10**9} {{privacy}}",
    "plan with a diameter beyond floats": "plan convex {sizes} {privacy} {moment} --diameter 1e300",
    "plan with a smoothness of 0": "plan convex {sizes} {privacy} --smoothness 0",
    # means
    "mean without privacy": "mean {csv} --columns cost",
    "mean without delta": "mean {csv} --columns cost --epsilon 1",
    "mean with delta and pure": "mean {csv} --columns cost {privacy} --pure",
    "mean of a dropped column": "mean {csv} --columns cost --drop cost {privacy}",
    "mean of levels that are not chosen": "mean {csv} {cost} --categorical region=north,south",
    "mean of a column twice": "mean {csv} --columns cost,cost {privacy}",
    "mean with half a moment": "mean {csv} --columns cost {privacy} --moment-order 2",
    "mean with a moment of order 1": "mean {csv} {cost} --moment-order 1 --moment-bound 2",
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
        "newer-schema": {"tailguard_schema": 2},
        "odd-schema": {"columns": ["age"]},
        "twice": {"features": ["age"], "drop": ["age"]},
        "other": {"features": ["height"]},
        "classes": {"features": ["age"], "classes": ["no", "yes"]},
    }.items():
        content[f"{name}.json"] = json.dumps({"tailguard_schema": 1} | declared)
    content["newer.json"] = json.dumps(model | {"tailguard_model": 99})
    content["short.json"] = json.dumps(model | {"coef": model["coef"][1:]})
    content["bare.json"] = json.dumps(model | {"certificate": {}})
    content["old.json"] = json.dumps(model | {"tailguard_model": 0})
    for name, text in content.items():
        (path / name).write_text(text)
    columns = {"age": [30.0, 40.0], "cost": [1.0, 2.0], "day": [date(2024, 1, 1)] * 2}
    columns["kind"] = pa.array(["a", "b"]).dictionary_encode()
    parquet.write_table(pa.table(columns), path / "types.parquet")
    return path


@pytest.fixture
def arguments_of(folder, csv_file, parquet_file, model_file, tmp_path):
    def split(line):
        privacy, out = "--epsilon 1 --delta 1e-6", tmp_path / "model.json"
        fitting = f"{privacy} --out {out}"
        return line.format(
            folder=folder,
            csv=csv_file,
            parquet=parquet_file,
            model=model_file,
            privacy=privacy,
            sizes="--rows 1000 --columns 3",
            moment="--moment-bound 1",
            out=out,
            pure="--epsilon 1 --pure",
            cost=f"--columns cost {privacy}",
            second="--moment-order 2 --moment-bound 9",
            types=folder / "types.parquet",
            linear=f"--target cost {fitting}",
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
