"""`uv lock` in the project's own folder: its answer stays where it is judged well, and nowhere else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lockgrid.adapters.uvrun import finish, locking
from lockgrid.errors import ToolError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in for uv is a script with a #! line")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment whose uv writes what it was told and which uv.lock it found."""
    fake = tmp_path / "uv"
    fake.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, pathlib\n"
        "lock = pathlib.Path(sys.argv[sys.argv.index('--project') + 1], 'uv.lock')\n"
        "lock.write_text(f'{lock.exists()} {sorted(k for k in os.environ if k.startswith(\"UV_\"))}')\n"
    )
    fake.chmod(0o755)
    return {"LOCKGRID_UV": str(fake), "UV_INDEX_URL": "https://index.example/simple", "UV_LOCKED": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_uv_finds_no_old_lock_and_the_users_settings(project: Path, environ: dict[str, str]) -> None:
    (project / "uv.lock").write_text("old")
    with locking(project, environ) as process:
        assert finish(process, "lock").code == 0
    assert (project / "uv.lock").read_text() == "False ['UV_INDEX_URL', 'UV_NO_PROGRESS', 'UV_NO_WRAP']"


@pytest.mark.parametrize("error", [ToolError("bad"), KeyboardInterrupt()], ids=["an error", "an interrupt"])
@pytest.mark.parametrize("old", ["old", None])
def test_on_any_error_what_was_there_is_put_back(
    project: Path, environ: dict[str, str], error: BaseException, old: str | None
) -> None:
    path = project / "uv.lock"
    if old is not None:
        path.write_text(old)

    def judge() -> None:
        with locking(project, environ) as process:
            finish(process, "lock")
            assert path.exists()
            raise error

    with pytest.raises(type(error)):
        judge()
    assert (path.read_text() if path.exists() else None) == old


def test_a_uv_that_cannot_be_started_leaves_the_old_lock(project: Path, environ: dict[str, str]) -> None:
    (project / "uv.lock").write_text("old")
    Path(environ["LOCKGRID_UV"]).write_text("#!/nowhere\n")
    with pytest.raises(ToolError, match="cannot be run"), locking(project, environ):
        pass
    assert (project / "uv.lock").read_text() == "old"
    with pytest.raises(ToolError, match="LOCKGRID_UV"), locking(project, {"LOCKGRID_UV": "/nowhere"}):
        pass
