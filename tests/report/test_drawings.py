"""Figures: every kind is drawn from data, in all formats, with the names it should show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import pytest

from tailcut.bench.ranks import Ranking
from tailcut.bench.store import opened
from tailcut.report.curves import complement
from tailcut.report.figures import critical_difference, growth
from tailcut.report.gather import gather
from tailcut.report.page import Drawings, render_all, slug
from tailcut.report.reports import results_drawings, write_results_page
from tailcut.report.style import INK, look
from tailcut.scenarios import Scenario
from tests.report.conftest import SELECTORS, fill


@pytest.fixture(scope="module")
def found(results: Path, scenarios_folder: Path) -> Drawings:
    with opened(results, read_only=True) as store:
        return results_drawings(gather(store, scenarios_folder))


@pytest.fixture(scope="module")
def drawn(found: Drawings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all figures as SVG."""
    folder = tmp_path_factory.mktemp("figures")
    render_all(found, folder, ["svg"])
    return folder


def _texts(path: Path) -> str:
    """All texts of an SVG file, which must be well-formed."""
    return "\n".join(text for text in ElementTree.parse(path).getroot().itertext() if text.strip())


def test_all_kinds_are_there(found: Drawings) -> None:
    expected = {"npar10", "regret-overview", "critical-difference", "tradeoff-thompson"}
    expected |= {"tradeoff-competitors"}
    for scenario in ("ALPHA", "BETA", "GAMMA"):
        expected |= {
            f"{kind}-{scenario}" for kind in ("instances", "regret", "solved", "choices", "survival")
        }
    expected |= {f"explained-ALPHA-{step}" for step in (6, 30, 60)}
    assert set(found) == expected


def test_every_figure_is_well_formed_and_names_what_it_shows(drawn: Path) -> None:
    assert all(name in _texts(drawn / "critical-difference.svg") for name in SELECTORS[:4])
    assert "thompson" in _texts(drawn / "tradeoff-thompson.svg")
    for kind in ("regret", "solved"):
        assert all(name in _texts(drawn / f"{kind}-ALPHA.svg") for name in ("epsilon_greedy", "sbs"))
    assert "solver-1" in _texts(drawn / "survival-BETA.svg")
    assert "solver-1" in _texts(drawn / "choices-BETA.svg")
    assert all(name in _texts(drawn / "regret-overview.svg") for name in ("ALPHA", "BETA", "GAMMA"))


def test_a_figure_comes_in_three_formats_and_the_same_every_time(found: Drawings, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    for folder in (tmp_path, tmp_path / "again"):
        render_all({"regret-ALPHA": found["regret-ALPHA"]}, folder, ["svg", "pdf", "png"])
    for ending, start in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        content = (tmp_path / f"regret-ALPHA.{ending}").read_bytes()
        assert content.startswith(start)
        assert content == (tmp_path / "again" / f"regret-ALPHA.{ending}").read_bytes()


def test_a_selector_has_its_colour_in_every_figure(drawn: Path) -> None:
    colour = look("epsilon_greedy").colour
    kinds = ("regret-ALPHA", "regret-overview", "solved-ALPHA", "critical-difference", "tradeoff-competitors")
    for name in kinds:
        assert colour in (drawn / f"{name}.svg").read_text(encoding="utf-8"), name


def test_texts_and_axes_are_in_the_ink_that_a_dark_page_replaces(drawn: Path) -> None:
    for path in drawn.iterdir():
        svg = path.read_text(encoding="utf-8")
        assert INK in svg
        assert "#000000" not in svg
        assert "fill: black" not in svg


def test_odd_names_are_drawn_as_they_stand(tmp_path: Path) -> None:
    names = ("$x_1$ & <b>", "a\\frac{b}", "ok")
    ranked = Ranking(names, ("s", "t"), (1.0, 2.0, 3.0), (1, 1, 0), 3.0, 0.2, 1.5, 0.05)
    render_all({"odd": partial(critical_difference, ranked, "PAR10")}, tmp_path, ["svg", "pdf", "png"])
    assert all(name in _texts(tmp_path / "odd.svg") for name in names)


def test_a_scenario_with_an_odd_name_gives_files(scenarios_folder: Path, tmp_path: Path) -> None:
    scenario = Scenario.read(scenarios_folder / "ALPHA")
    object.__setattr__(scenario, "name", "50%/of $it")
    scenario.write(tmp_path / "aslib" / "odd")
    path = fill(tmp_path / "r.db", tmp_path / "aslib", ("odd",), ("thompson", "oracle", "sbs"), seeds=1)
    with opened(path, read_only=True) as store:
        report = gather(store)
    page = write_results_page(report, tmp_path, formats=["svg"]).read_text(encoding="utf-8")
    assert "<figcaption>50%/of $it: " in page
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == set(results_drawings(report))
    assert len({slug(name) for name in ("a/b", "a_b", "a b", "a:b")}) == 4


def test_the_practitioners_bars_name_the_newcomers(scenarios_folder: Path, tmp_path: Path) -> None:
    parts = complement(Scenario.read(scenarios_folder / "ALPHA"))
    render_all({"growth": partial(growth, parts, "PAR10")}, tmp_path, ["svg"])
    assert all(name in _texts(tmp_path / "growth.svg") for name in parts.growth[-1].algorithms)
