"""The only place that runs pip-audit: a program that asks a vulnerability service about pins."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lockgrid.adapters.tools import find_tool
from lockgrid.errors import ToolError

_LIMIT_SECONDS = 1800.0
_INSTALL = "install it beside lockgrid (`pip install pip-audit`), or set LOCKGRID_PIP_AUDIT"
# It exits with 0 where it found nothing, with 1 where it found something, and with 1 where it crashed.
_CODES = (0, 1)


def find_pip_audit(environ: Mapping[str, str]) -> str:
    """The one to run: ``$LOCKGRID_PIP_AUDIT``, the one beside lockgrid, or the first on PATH.

    Raises ``ToolError`` when there is none.
    """
    return find_tool("pip-audit", environ, _INSTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipAudit:
    """pip-audit with one service: ``pypi``, or ``osv`` at ``osv_url`` (empty for pip-audit's own).

    ``cache`` is the folder where it keeps answers for as long as their servers allow.
    """

    binary: str
    environ: Mapping[str, str]
    cache: Path
    service: str = "pypi"
    osv_url: str = ""

    def report(self, requirements: str) -> str:
        """Its JSON report on a requirements file of pins; nothing is resolved, installed or downloaded for it.

        Raises ``ToolError`` where it fails, or comes to an end without a report.
        """
        with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
            asked, told = Path(folder) / "pins.txt", Path(folder) / "report.json"
            asked.write_text(requirements, encoding="utf-8")
            code, said = self._run(asked, told)
            if code in _CODES and told.is_file():
                return told.read_text(encoding="utf-8")
        raise ToolError(
            f"pip-audit ended with exit code {code} and no report:\n{_quoted(said)}",
            next_step="check that its service can be reached; `--service` chooses another one",
        )

    def _run(self, asked: Path, told: Path) -> tuple[int, str]:
        command = [self.binary, "--requirement", str(asked), "--no-deps", "--disable-pip"]
        command += ["--format", "json", "--aliases", "on", "--desc", "on", "--progress-spinner", "off"]
        command += ["--output", str(told), "--cache-dir", str(self.cache), "--vulnerability-service", self.service]
        command += ["--osv-url", self.osv_url] if self.osv_url else []
        # Every option of it has a variable too, one of which makes it leave advisories out.
        kept = {k: v for k, v in self.environ.items() if not k.upper().startswith(("PIP_", "PYTHON"))}
        try:
            done = subprocess.run(
                command,
                env={**kept, "PYTHONUTF8": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_LIMIT_SECONDS,
                check=False,
            )
        except OSError as error:
            raise ToolError(f"pip-audit cannot be run: {error}", next_step=_INSTALL) from error
        except subprocess.TimeoutExpired as error:
            what = f"pip-audit took more than {_LIMIT_SECONDS:.0f} s and was ended"
            raise ToolError(what, next_step="check that its service can be reached") from error
        return done.returncode, done.stderr or done.stdout


# What stands between the frames of a traceback, at the beginning of a line.
_BETWEEN = ("Traceback (most recent", "During handling of", "The above exception")


def _quoted(said: str) -> str:
    """The last lines of what it said, indented; of tracebacks, which tell of its insides, the errors alone."""
    lines = [line for line in said.splitlines() if line.strip()]
    if any(line.startswith(_BETWEEN) for line in lines):
        lines = [line for line in lines if not line.startswith((" ", *_BETWEEN))]
    return "\n".join(f"    {line}" for line in lines[-8:])
