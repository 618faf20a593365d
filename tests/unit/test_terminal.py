"""Progress as plain lines, all of it on the stream that it was given."""

from __future__ import annotations

import io

import pytest

from lockgrid.terminal import LiveProgress, PlainProgress, open_progress


def told(*, quiet: bool) -> str:
    stream = io.StringIO()
    progress = PlainProgress(stream, quiet=quiet)
    progress.step("resolving")
    progress.advance(1, 2)
    progress.note("look at this")
    progress.close()
    return stream.getvalue()


def test_steps_and_notes_are_a_line_each() -> None:
    assert told(quiet=False) == "resolving\nnote: look at this\n"


def test_quiet_leaves_the_notes() -> None:
    assert told(quiet=True) == "note: look at this\n"


def test_without_a_terminal_progress_is_plain(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    for quiet in (True, False):
        progress = open_progress(quiet=quiet)
        assert isinstance(progress, PlainProgress)
        progress.step("x")
        progress.close()
    assert capsys.readouterr() == ("", "x\n")


def test_on_a_terminal_notes_and_steps_are_shown_as_they_are_written() -> None:
    stream = io.StringIO()
    progress = LiveProgress(stream)
    progress.step("resolving [bold]vgf[/bold]")
    progress.advance(1, 2)
    progress.transfer(1_000_000, 2_000_000)
    progress.note("a [red]note[/red]")
    progress.close()
    assert "note: a [red]note[/red]" in stream.getvalue()
