"""What is known of the pins, for people."""

from __future__ import annotations

from lockgrid.core.render.advisories import render_advisories
from lockgrid.model.advisory import Advisories, Advisory, NotAudited, TouchedPin
from unit.builders import golden

EVERY = tuple((e, p, v) for e in ("tosa", "vgf") for p in ("linux-x86_64", "macos-arm64") for v in ("3.11", "3.12"))
OPEN = Advisory(
    id="GHSA-1",
    aliases=("CVE-1", "PYSEC-1"),
    description="reads " + "far " * 100,
    pins=(
        TouchedPin(name="jinja2", version="3.1.4", fixed="3.1.5", cells=EVERY),
        TouchedPin(name="jinja2", version="3.1.3", fixed="", cells=(("build", "any", "3.11"), *EVERY[:3])),
    ),
    accepted=(("vgf", "no template of a stranger"),),
    open=("build", "tosa"),
)
ACCEPTED = Advisory(
    id="PYSEC-2",
    aliases=(),
    description="",
    pins=(TouchedPin(name="b", version="1", fixed="2", cells=EVERY[4:5]),),
    accepted=(("vgf", "never called"),),
    open=(),
)
SKIPPED = NotAudited(name="c", version="1+cpu", why="not found", cells=(("build", "any", "3.11"), *EVERY[:5]))


def test_advisories_in_words() -> None:
    found = Advisories(
        service="pypi",
        pins=9,
        cells=8,
        advisories=(OPEN, ACCEPTED),
        not_audited=(SKIPPED,),
        stale=(("envs/a.toml", "advisory:X"),),
    )
    golden("advisories.txt", render_advisories(found))


def test_a_clean_grid_in_words() -> None:
    clean = Advisories(service="pypi", pins=9, cells=8, advisories=(), not_audited=(), stale=())
    assert render_advisories(clean) == "9 of 9 pins audited, in 8 cells, by pypi: 0 advisories\n"
