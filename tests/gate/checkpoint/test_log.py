"""A checkpoint's file: whole lines, one holder, and no answer that can be read in part."""

import json
import sys
from base64 import b64decode
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from tailguard.checks import InputError, ReleaseError
from tailguard.gate import checkpoint as checkpoints
from tailguard.gate.checkpoint import Checkpoint, CheckpointFile, sealed, unsealed
from tailguard.noise.sources import CryptographicSource, SimulationSource

FACTS = {"plan": "mean", "records": (5, 1)}
ANSWERS = [np.array([3, -4]), np.array([2**62]), np.arange(500)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture(autouse=True)
def _closed(monkeypatch):
    """Close every file in the end, as an engine does."""
    logs, begin = [], CheckpointFile.__init__

    def kept(self, path):
        begin(self, path)
        logs.append(self)

    monkeypatch.setattr(CheckpointFile, "__init__", kept)
    yield
    for log in logs:
        log.close()


def begun(path, facts=FACTS):
    checkpoint = Checkpoint(path, CryptographicSource())
    checkpoint.begin(facts)
    return checkpoint


def answered(checkpoint, release, draw):
    """What the gate does: takes a recorded answer, or draws one and keeps it."""
    answer = checkpoint.recorded(release)
    if answer is None:
        answer = draw()
        checkpoint.keep(release, answer)
    return answer


def asked(checkpoint, answers=ANSWERS):
    return [
        answered(checkpoint, {"name": f"question {number}"}, lambda answer=answer: answer)
        for number, answer in enumerate(answers)
    ]


def written(path):
    checkpoint = begun(path)
    asked(checkpoint)
    checkpoint.close()
    return path.read_bytes()


def test_answers_come_back_and_new_ones_follow(path):
    written(path)
    again = begun(path)
    others = [np.zeros(1, dtype=int)] * 3 + [np.array([9])]
    found = asked(again, others)
    again.finish()
    again.close()
    for answer, expected in zip(found, [*ANSWERS, [9]], strict=True):
        np.testing.assert_array_equal(answer, expected)
    assert begun(path).finished


def test_wherever_the_file_is_cut_every_answer_is_whole_or_nobodys(path):
    text = written(path)
    ends = [end for end in range(1, len(text) + 1) if text[end - 1 : end] == b"\n"]
    keys = [
        (start, end)
        for start, end in zip([0, *ends], ends, strict=False)
        if text[start:end].startswith(b'{"content":{"key"')
    ]
    cuts = {*range(0, len(text), 197), *range(len(text) - 120, len(text), 3)}
    for start, end in keys:
        cuts |= {start - 1, start, start + 5, start + 19, start + 20, end - 1, end}
    refused = 0
    for cut in sorted(cuts):
        path.write_bytes(text[:cut])
        # Of a key anything may be known, so an answer may have been read by somebody.
        if any(start + len(b'{"content":{"key":"') <= cut < end for start, end in keys):
            with pytest.raises(InputError, match="cut short where a run cannot go on"):
                begun(path)
            assert path.read_bytes() == text[:cut]  # and so it is the second time
            refused += 1
            continue
        checkpoint = begun(path)
        known = sum(end <= cut for _, end in keys)
        fresh = [answer + 1 for answer in ANSWERS]
        for number, answer in enumerate(asked(checkpoint, fresh)):
            expected = ANSWERS[number] if number < known else fresh[number]
            np.testing.assert_array_equal(answer, expected)
        checkpoint.close()
    assert refused > 3


def test_an_answer_without_its_key_looks_the_same_whatever_it_is():
    lengths = set()
    for answer in (np.zeros(50, dtype=int), np.full(50, -(2**62))):
        texts = [sealed(answer, CryptographicSource().words(4).tobytes()) for _ in range(500)]
        lengths |= {len(text) for text in texts}
        np.testing.assert_array_equal(unsealed(sealed(answer, b"k"), b"k"), answer)
        stored = np.array([list(b64decode(text)) for text in texts], dtype=np.uint8)
        share = np.unpackbits(stored, axis=1).mean(axis=0)
        # Each of 3200 binary digits is one half of the time set: six deviations of 500 coins.
        assert np.abs(share - 0.5).max() < 6 * 0.5 / 500**0.5
    assert len(lengths) == 1


def test_the_file_holds_what_left_and_nothing_else(path):
    lines = [json.loads(line) for line in written(path).splitlines()]
    assert [line["kind"] for line in lines] == ["run", *["answer", "key"] * 3]
    assert {frozenset(line["content"]) - {"padding"} for line in lines} == {
        frozenset({"run", "facts", "file"}),
        frozenset({"release", "sealed", "words"}),
        frozenset({"key"}),
    }
    assert {line["content"].get("words", 0) for line in lines} == {0}  # where nothing is seeded


def test_a_run_of_another_kind_is_refused(path):
    written(path)
    for name, fact in (("plan", "another mean"), ("rows", 6)):
        again = Checkpoint(path, CryptographicSource())
        with pytest.raises(InputError, match=f"of the same run; .* with another {name}"):
            again.begin(FACTS | {name: fact})
        again.close()


def test_a_run_that_asks_something_else_gets_nothing(path):
    written(path)
    again = begun(path)
    with pytest.raises(ReleaseError, match="asks for something else"):
        answered(again, {"name": "another question"}, lambda: np.array([1]))


def test_a_run_that_ended_answers_nothing_more(path):
    written(path)
    again = begun(path)
    asked(again)
    again.finish()
    with pytest.raises(ReleaseError, match="asks for more"):
        answered(again, {"name": "one more"}, lambda: np.array([1]))


@pytest.mark.parametrize("text", [b"age,cost\n41,7.5\n", b"age", b'{"content":{}}\n', b"{}\n"])
def test_another_file_is_refused_and_stays_as_it_is(path, text):
    path.write_bytes(text)
    with pytest.raises(InputError, match="must be a file that a run wrote"):
        begun(path)
    assert path.read_bytes() == text


def test_a_file_that_was_changed_is_refused(path):
    text = written(path)
    for place in range(0, len(text), 157):
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        with pytest.raises(InputError):
            begun(path)


def test_two_runs_do_not_share_a_file(path):
    first = begun(path)
    with pytest.raises(InputError, match="no other run holds"):
        begun(path)
    first.close()
    begun(path).close()


@pytest.mark.parametrize("given", [7, 2.5, "", b"", np.zeros(2), np.zeros((2, 2))])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(InputError, match="checkpoint must be"):
        Checkpoint(given, CryptographicSource())


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        CheckpointFile(str(tmp_path / "none" / "run.checkpoint"))


def test_a_disk_without_room_is_one_sentence_and_the_run_goes_on_later(path, monkeypatch):
    checkpoint = begun(path)
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError()))
        with pytest.raises(InputError, match="has room"):
            asked(checkpoint)
    checkpoint.close()
    np.testing.assert_array_equal(asked(begun(path))[0], ANSWERS[0])


def test_a_key_lies_in_the_last_block_of_its_answer_which_the_disk_has_given(path):
    checkpoint, padded = begun(path), 0
    asked(checkpoint, [np.arange(size) for size in range(1, 160, 3)])
    checkpoint.close()
    text, start = path.read_bytes(), 0
    for line in text.splitlines(keepends=True):
        padded += b'"padding"' in line
        if json.loads(line)["kind"] == "key":
            assert (start - 1) // 512 == (start + len(line) - 1) // 512
        start += len(line)
    assert padded > 3
    again = begun(path)
    np.testing.assert_array_equal(asked(again, [np.zeros(1)] * 2)[1], np.arange(4))


@pytest.mark.parametrize(("kept", "expected"), [(60, "cannot go on"), (5, "can go on once")])
def test_a_disk_that_cuts_a_key_says_that_the_budget_is_spent(path, monkeypatch, kept, expected):
    checkpoint = begun(path)
    file = checkpoint._log._file

    class Full:
        def write(self, line):
            return file.write(line[:kept] if b'"kind":"key"' in line else line)

        def __getattr__(self, name):
            return getattr(file, name)

    monkeypatch.setattr(checkpoint._log, "_file", Full())
    with pytest.raises(InputError, match=expected):
        asked(checkpoint)
    checkpoint.close()
    if kept == 60:
        with pytest.raises(InputError, match="cut short where a run cannot go on"):
            begun(path)
    else:
        np.testing.assert_array_equal(asked(begun(path))[0], ANSWERS[0])


def test_a_simulation_draws_the_words_that_it_would_have_drawn(path):
    source = SimulationSource(3)
    first = Checkpoint(path, source)
    first.begin({})
    answered(first, {"name": "one"}, lambda: source.words(5).astype(np.int64))
    first.close()
    expected = source.words(3)
    again = SimulationSource(3)
    second = Checkpoint(path, again)
    second.begin({})
    answered(second, {"name": "one"}, lambda: np.zeros(5, dtype=int))
    np.testing.assert_array_equal(again.words(3), expected)


def test_a_system_that_cannot_hold_a_file_refuses_a_checkpoint(path, monkeypatch):
    monkeypatch.setattr("tailguard.gate.checkpoint.fcntl", None)
    with pytest.raises(InputError, match="checkpoint must be None on this system"):
        Checkpoint(path, CryptographicSource())


def test_a_link_leads_to_the_file_that_a_refused_run_removes(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    begun(link).close(begun=False)
    assert link.is_symlink()
    assert not path.exists()


def test_a_refused_run_ends_where_somebody_removed_its_file(path):
    checkpoint = begun(path)
    path.unlink()
    checkpoint.close(begun=False)
    assert not path.exists()
    begun(path).close()


def test_where_the_system_has_no_locks_the_module_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = spec_from_file_location("without_locks", checkpoints.__file__)
    without = module_from_spec(spec)
    spec.loader.exec_module(without)
    assert without.fcntl is None
