"""Each solver found here on the tiny scripts, and models that another solver refutes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tailcut.domains.domain import find_solvers, read_answer
from tailcut.domains.smt import DOMAIN
from tailcut.domains.smt.answers import extract, verify
from tailcut.domains.smt.solve import main

FOUND = find_solvers(DOMAIN)
SAT, UNSAT = (tiny.path for tiny in DOMAIN.check)


@pytest.mark.parametrize("solver", FOUND)
def test_the_tiny_scripts(solver: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    packed = tmp_path / "packed.smt2.gz"
    packed.write_bytes(gzip.compress(SAT.read_bytes()))
    for path, expected in ((SAT, "sat"), (UNSAT, "unsat"), (packed, "sat")):
        words = [word.replace("{instance}", str(path)) for word in FOUND[solver].arguments]
        assert main(words) == 0
        output = capfdbinary.readouterr().out
        assert read_answer(DOMAIN.answers, 0, output) == expected, output
        (tmp_path / "output").write_bytes(output)
        assert verify([str(path), str(tmp_path / "output"), solver]) == 0


@pytest.mark.skipif(len(FOUND) < 1, reason="no SMT solver is installed: pip install 'tailcut[smt]'")
def test_a_wrong_model_is_refuted_by_another_solver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "output"
    output.write_text("sat\n((define-fun x () (_ BitVec 8) #x02)(define-fun y () (_ BitVec 8) #x03))\n")
    assert verify([str(SAT), str(output), "nobody"]) == 1
    assert "says that the model does not satisfy the script" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["z3"], ["nobody", "x.smt2"], ["cvc5", "none.smt2"], ["nobody", "p", "none.smt2"]]
)
def test_a_wrong_call_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_features_say_what_a_script_is_about() -> None:
    found = extract(SAT)
    assert found["logic_bit_vectors"] == 1.0
    assert found["logic_quantifiers"] == found["logic_integers"] == found["logic_arrays"] == 0.0
    assert found["bv_multiply"]
    assert found["log_widest"] == pytest.approx(2.197, abs=1e-3)
    assert found.keys() == extract(UNSAT).keys()


def test_a_script_with_one_check_is_not_solved_incrementally(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pytest.importorskip("cvc5", reason="needs the extra smt")
    script = tmp_path / "one.smt2"
    script.write_text(
        "(set-logic QF_BV)(set-option :bitblast eager)(declare-const x (_ BitVec 8))"
        "(assert (= (bvmul x x) #x09))(check-sat)"
    )
    assert main(["cvc5", str(script)]) == 0
    assert capfdbinary.readouterr().out.startswith(b"sat")


def test_z3_passes_over_options_of_other_solvers(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    found = FOUND.get("z3")
    if found is None:
        pytest.skip("z3 is not installed: pip install 'tailcut[smt]'")
    script = tmp_path / "option.smt2"
    script.write_text("(set-option :incremental false)\n" + SAT.read_text())
    main([word.replace("{instance}", str(script)) for word in found.arguments])
    assert read_answer(DOMAIN.answers, 0, capfdbinary.readouterr().out) == "sat"
