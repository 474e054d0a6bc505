"""The framework of tests/attack/ finds planted defects; what it found in the past stays mended."""

import sys
from pathlib import Path

import pytest

ATTACK = Path(__file__).resolve().parents[1] / "attack"
sys.path.insert(0, str(ATTACK))

import entries  # noqa: E402  # found by the line above
import families  # noqa: E402
import past  # noqa: E402
import run  # noqa: E402
from shrink import shrink  # noqa: E402
from worker import Worker  # noqa: E402

GOOD = {"size": 1, "how": "well", "more": []}


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setitem(families.FAMILIES, "planted", ("defects", 1.0))


def test_a_case_follows_from_family_seed_and_number():
    for name in families.FAMILIES:
        cases = [families.draw(name, 3, number) for number in (5, 5, 6)]
        assert cases[0] == cases[1] != cases[2]
        assert families.draw(name, 4, 5) != cases[0]
        assert set(cases[0]) == set(families.family(name).SIMPLEST)


def test_a_child_that_dies_or_hangs_is_a_defect_and_not_the_end():
    with Worker("planted") as worker:
        assert worker.ask(GOOD, 3).word == "fine"
        assert worker.ask({**GOOD, "how": "dies"}, 3).kind == "dies: SIGSEGV"
        assert worker.ask(GOOD, 3).word == "fine"
        hang = worker.ask({**GOOD, "how": "hangs"}, 0.5)
        assert hang.kind == "hangs"
        assert "in check" in hang.text  # it says where
        assert worker.ask(GOOD, 3).word == "fine"


def test_what_the_library_prints_is_not_taken_for_a_verdict():
    with Worker("planted") as worker:
        assert worker.ask({**GOOD, "how": "prints"}, 3).word == "fine"


def test_a_defect_is_found_counted_and_shrunk_to_a_program(planted, capsys):
    tally = run.attack("planted", 1, 2.0)
    (defect,) = tally.defects.values()
    assert defect.n_times == tally.words["defect"] > 1
    assert tally.n_cases == tally.words.total() > 10
    assert defect.case == {"size": 17, "how": "wrong", "more": [4]}
    said = capsys.readouterr().out
    assert "planted, seed 1, number" in said
    program = said[said.index("import sys") :]
    assert program == families.program("planted", defect.case) + "\n\n"
    with pytest.raises(AssertionError, match="size 17"):
        exec(program.replace('"tests/', f'"{ATTACK.parent}/'), {})


def test_shrinking_asks_no_more_often_than_it_may():
    asked = []

    def fails(case):
        asked.append(case)
        return case["size"] > 3

    found = shrink({"size": 10**6, "x": 0.123}, {"size": 0, "x": 1.0}, fails, most=200)
    assert found == {"size": 4, "x": 1.0}
    assert len(asked) <= 200


def test_every_public_callable_can_be_called_well():
    for name, entry in entries.entries().items():
        entries.run(entry, entries.receiver(entry), {})
        if entry.is_learner:
            assert set(entry.parameters) <= set(entry.owner().get_params()), name
    methods = {name.partition(".")[2] for name in entries.entries()}
    assert {"fit", "partial_fit", "predict", "transform", "__call__", "diag"} <= methods


@pytest.mark.parametrize("number", range(len(past.CASES)))
def test_what_was_found_in_the_past_stays_mended(number):
    name, case = past.CASES[number]
    with Worker(name) as worker:
        verdict = worker.ask({**families.family(name).SIMPLEST, **case}, 60)
    assert not verdict.is_defect, verdict.text


@pytest.mark.parametrize("name", families.FAMILIES)
def test_the_first_cases_of_each_family_pass(name):
    if name == "memory":
        pytest.skip("needs the C tests; make attack-minute has it")
    with Worker(name) as worker:
        for number in range(2):
            verdict = worker.ask(families.draw(name, 0, number), 90)
            assert not verdict.is_defect, verdict.text
