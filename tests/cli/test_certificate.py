"""``tailguard certificate``: the words for people, the record for programs."""

import json

import pytest

import tailguard as tg

PRIVACY = ("--epsilon", "5", "--delta", "1e-5")


def test_the_words_are_the_certificate_s(model_file, call):
    answer = call("certificate", model_file)
    stated = tg.Certificate.from_dict(json.loads(model_file.read_text())["certificate"])
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == stated.to_text().rstrip("\n") + "\n"


def test_the_record_can_be_read_back(model_file, call):
    record = json.loads(call("certificate", model_file, "--json").out)
    assert record == json.loads(model_file.read_text())["certificate"]
    assert tg.Certificate.from_dict(record).to_dict() == record


@pytest.mark.parametrize("command", ["mean", "describe"])
def test_files_of_means_and_descriptions_have_one_too(command, csv_file, tmp_path, call):
    out = tmp_path / "result.json"
    assert call(command, csv_file, "--columns", "age", *PRIVACY, "--out", out).code == 0
    answer = call("certificate", out)
    stated = tg.Certificate.from_dict(json.loads(out.read_text())["certificate"])
    assert (answer.code, answer.out) == (0, stated.to_text().rstrip("\n") + "\n")
