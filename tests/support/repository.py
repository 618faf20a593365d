"""A git repository of a test, whatever the settings of this machine are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *words: str, check: bool = True, environ: Mapping[str, str] | None = None) -> str:
    """Run git in a folder, as somebody without settings of their own; what it prints. AssertionError where it fails.

    ``environ``: further variables. Without ``check`` it may fail, as a merge does that ends in conflict.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **(environ or {})}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


def commit_all(folder: Path, message: str = "x") -> str:
    """Commit everything below the folder, into a new repository where there is none; the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")
