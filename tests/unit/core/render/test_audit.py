"""What was read of wheels, in a sentence."""

from __future__ import annotations

from lockgrid.core.render.audit import read_text
from lockgrid.core.render.found import found_lines
from lockgrid.model.contents import Binary, Code, Contents
from unit.grids import GRID, REASONS


def contents(*partial: bool, read: int = 1_500_000, size: int = 4_000_000_000) -> Contents:
    binaries = [Binary(path="a", format="ELF", codes=(Code(machine="X86_64"),), partial=part) for part in partial]
    return Contents(filename="a-1-py3-none-any.whl", members=(), binaries=tuple(binaries), read=read, size=size)


def test_what_was_read_of_how_much_and_what_in_part() -> None:
    said = "looked into 2 wheels with 3 binaries (1 of them in part): 3.0 MB of 8,000.0 MB were read"
    assert read_text([contents(True, False), contents(False)]) == said
    said = "looked into 1 wheel with 1 binary: 0.0 MB of 0.0 MB were read"
    assert read_text([contents(False, read=1, size=2)]) == said


def test_a_finding_stands_once_with_its_cells_errors_first_and_why_it_is_accepted() -> None:
    lines = list(found_lines(GRID.findings, REASONS))
    assert [line for line in lines if not line.startswith("    ")] == [
        "  error, accepted: glibc:b (cells: tosa 2)",
        "  warning: accept:any:gone",
        "  warning: file-clash:flatc (cells: tosa 3)",
    ]
    assert lines[2] == "    accepted: the flows never load it"
    assert "accepted:" not in " ".join(found_lines(GRID.findings, {})).replace("error, accepted:", "")
