"""The venv of a cell: built from the lockfile by hash, checked from the inside, kept while both stay the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock

from sessions.cell import Cell, only_pins, sdists
from sessions.failure import Failure
from sessions.isolation import differences, unmet
from sessions.machine import ROOT, UV, clean_env, say, sync_command
from sessions.spec import Spec
from sessions.uvsettings import uv_env

_INSIDE = Path(__file__).with_name("inside.py")
_WINDOWS = os.name == "nt"
# What was checked of a venv, and with which lock: written when all of it has passed.
_STAMP = "lockgrid-checked.json"


class Venv:
    """``.nox/<environment>-<python>``."""

    def __init__(self, cell: Cell, root: Path = ROOT) -> None:
        self.cell = cell
        self.folder = root / ".nox" / f"{cell.environment}-{cell.python}"
        self.binaries = self.folder / ("Scripts" if _WINDOWS else "bin")
        self.python = str(self.binaries / ("python.exe" if _WINDOWS else "python"))

    @property
    def env(self) -> dict[str, str]:
        """The environment for what runs in the venv, less what would bend pytest or a tool of the lock."""
        kept = {k: v for k, v in clean_env().items() if not k.startswith("PYTEST_") and k != "MODEL_CONVERTER_PATH"}
        path = os.pathsep.join([str(self.binaries), os.environ.get("PATH", "")])
        return kept | {"PATH": path, "VIRTUAL_ENV": str(self.folder)}

    def prepare(self, spec: Spec) -> bool:
        """Make the venv what the lock says and check it; True when it already was, and nothing was done.

        Raises ``Failure`` of the stages install, isolation, closure and smoke.
        """
        try:
            self.folder.parent.mkdir(exist_ok=True)
            with FileLock(f"{self.folder}.lock"):  # two sessions of one cell build its venv once
                return self._prepare(spec)
        except OSError as error:
            raise Failure("install", f"{self.folder} cannot be made: {error}") from error

    def _prepare(self, spec: Spec) -> bool:
        if self._is_checked(spec):
            return True
        size = f"up to {max(1, round(self.cell.download / 1e6)):,} MB to download"
        say(f"building .nox/{self.folder.name}: {len(self.cell.pins)} pins, {size}")
        self._create()
        self._install()
        seen = self._see()
        if problems := differences(self.cell.pins, seen, self.folder):
            raise Failure(
                "isolation", f"the venv of {self.cell} is not what {self.cell.lock} says: {'; '.join(problems)}"
            )
        if problems := unmet(spec.requires, spec.overridden, seen["distributions"], seen["python"].split()[0]):
            raise Failure("closure", f"{self.cell.lock} does not hold what {self.cell} needs: {'; '.join(problems)}")
        self._smoke(spec)
        stamp = json.dumps(self._stamp(spec, seen))
        (self.folder / _STAMP).write_text(stamp, encoding="utf-8")
        return False

    # -- what is there ---------------------------------------------------------------------------------

    def _is_checked(self, spec: Spec) -> bool:
        """Whether the venv passed every check with this lock, and still holds exactly the pins."""
        try:
            stamp = json.loads((self.folder / _STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        try:
            seen = self._see()
        except Failure:
            return False
        return bool(stamp == self._stamp(spec, seen)) and not differences(self.cell.pins, seen, self.folder)

    def _stamp(self, spec: Spec, seen: dict[str, Any]) -> dict[str, Any]:
        asked = json.dumps([spec.imports, spec.commands, spec.requires, sorted(spec.overridden)])
        own = sha256(asked.encode() + _INSIDE.read_bytes()).hexdigest()
        return {"lock": list(self.cell.digests), "python": seen["python"], "smoke": own}

    def _see(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask("see")
        return answer

    def _ask(self, question: str, names: Sequence[str] = (), stage: str = "install") -> Any:
        """What ``inside.py`` answers."""
        with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
            out = Path(folder) / "answer.json"
            command = [self.python, str(_INSIDE), question, str(out), *names]
            try:
                done = self._run(command)
            except OSError as error:
                raise Failure(stage, f"the venv's Python does not start: {error}") from error
            if done.returncode or not out.is_file():
                said = (done.stderr or done.stdout).strip()[-2000:]
                what = " ".join([question, *names])
                raise Failure(stage, f"{self.cell}: `{what}` ended Python with exit code {done.returncode}\n{said}")
            return json.loads(out.read_text(encoding="utf-8"))

    def _run(self, command: Sequence[str], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the venv, for at most so many seconds, and keep what it says."""
        return subprocess.run(
            command,
            env=self.env,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )

    # -- making it -------------------------------------------------------------------------------------

    def _create(self) -> None:
        """From nothing: uv trusts an installed version whatever its hash, and a torn one for whole."""
        shutil.rmtree(self.folder, ignore_errors=True)
        command = [*UV, "venv", "--quiet", "--no-project", "--python", self.cell.interpreter, str(self.folder)]
        self._uv(command, "the venv cannot be made")

    def _install(self) -> None:
        """What comes from an index of its own first, each index by itself; uv then leaves what is there alone.

        With several indexes at once uv might ask one for what is another's: it never looks for a hash. What builds a
        sdist need not be on its index, so sdists have to be looked for in all of them, after the wheels.
        """
        failed = f"{self.cell.lock} cannot be installed for {self.cell}"
        sources = self.cell.sources
        with tempfile.TemporaryDirectory(prefix="lockgrid-") as folder:
            part = Path(folder) / "pins.txt"
            text = self.cell.lockfile.read_text(encoding="utf-8")
            done: set[str] = set()
            built = sdists(text)
            for building, index in sorted({(name in built, index) for name, index in sources.items()}):
                done |= {name for name in sources if sources[name] == index and (name in built) == building}
                part.write_text(only_pins(text, done), encoding="utf-8")
                self._uv(sync_command(self.python, part, self.cell.build), failed, index, building=building)
        self._uv(sync_command(self.python, self.cell.lockfile, self.cell.build), failed)

    def _uv(self, command: Sequence[str], failed: str, index: str = "", *, building: bool = False) -> None:
        with uv_env(index, set(self.cell.sources.values()), building=building) as env:
            done = subprocess.run(
                command,
                env=env,
                cwd=ROOT,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        if done.returncode:
            hint = ""
            if "hash mismatch" in done.stderr.lower():
                hint = "\na hash in the lock is not that of the file which the index serves: compare the lock with "
                hint += "version control; if it was not touched, somebody changed the file"
            raise Failure("install", f"{failed}:\n{done.stderr.strip()}{hint}")
        sys.stderr.write(done.stderr)

    # -- [smoke] ---------------------------------------------------------------------------------------

    def _smoke(self, spec: Spec) -> None:
        lock = self.cell.lock
        problems = []
        for module, failed in (self._ask("import", spec.imports, "smoke") if spec.imports else {}).items():
            if failed is not None:
                sys.stderr.write(failed["trace"])
                problems.append(f"`import {module}` failed: {failed['error']} ({_who(failed, lock)})")
        for command in spec.commands:
            if said := self._command_fails(command):
                pin = self._ask("command", [command[0]])[command[0]]
                by = f"it is {pin} that installs it" if pin else f"no pin of {lock} installs a command {command[0]}"
                problems.append(f"`{' '.join(command)}` failed: {said} ({by})")
        if problems:
            raise Failure("smoke", f"[smoke] of {self.cell}: {'; '.join(problems)}")

    def _command_fails(self, command: Sequence[str]) -> str:
        """What a smoke command said, empty when it exits with 0."""
        found = shutil.which(command[0], path=str(self.binaries))
        if found is None:
            return "there is no such command in the venv"
        try:
            done = self._run([found, *command[1:]], seconds=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode == 0:
            return ""
        return f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-1000:]}"


def _who(failed: dict[str, Any], lock: str) -> str:
    """Who should have provided what is missing."""
    provider = failed["provider"]
    missing = failed["missing"]
    if missing is None:
        return f"it is {provider['pin']} that installs it" if provider else f"no pin of {lock} installs it"
    if provider is None:
        return f"no pin of {lock} installs a module {missing.partition('.')[0]}"
    return f"{provider['pin']} should have it: it installs {provider['provides']}, and no {missing}"
