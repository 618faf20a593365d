"""Open the request for a branch, or update the one that is open. ``gh`` talks to the forge: GH_TOKEN, GH_REPO, GH_HOST.

The first line of the body's file is the title. A request that a person closed is left so while its branch holds the
same commit. Needs nothing but Python and gh.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

_HINTS = {
    "not permitted to create or approve pull requests": "allow it in the repository's settings: Actions, General, "
    "Workflow permissions; see docs/bot.md",
    "Resource not accessible by integration": "the token needs `pull-requests: write`; see docs/bot.md",
}


class ForgeError(Exception):
    """Something that gh said, as it said it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0 done, 1 the forge refused, 2 the input is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--branch", required=True)
    parser.add_argument("--base", required=True)
    parser.add_argument("--body", required=True, type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        title, body = read_body(given.body)
    except (OSError, ValueError) as error:
        print(f"error: {given.body}: {error}", file=sys.stderr)
        return 2
    try:
        print(open_or_update(given.branch, given.base, title, body))
    except ForgeError as error:
        print(f"error: {error}", file=sys.stderr)
        for said, hint in _HINTS.items():
            if said in str(error):
                print(f"  next: {hint}", file=sys.stderr)
        return 1
    return 0


def read_body(path: Path) -> tuple[str, str]:
    """The title and the body of a file that begins with ``# title``. Raises ``ValueError`` where it does not."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n")
    title = head.removeprefix("# ").strip()
    if not head.startswith("# ") or not title:
        raise ValueError("the first line is not `# title`")
    return title, body.strip() + "\n"


def open_or_update(branch: str, base: str, title: str, body: str) -> str:
    """What was done, as one line. Raises ``ForgeError``."""
    query = f"head={{owner}}:{quote(branch)}&base={quote(base)}&state=all&sort=created&direction=desc&per_page=30"
    known = gh("GET", f"repos/{{owner}}/{{repo}}/pulls?{query}")
    opened = next((request for request in known if request["state"] == "open"), None)
    if opened:
        if (opened["title"], _plain(opened["body"])) == (title, _plain(body)):
            return f"unchanged: {opened['html_url']}"
        updated = gh("PATCH", f"repos/{{owner}}/{{repo}}/pulls/{opened['number']}", {"title": title, "body": body})
        return f"updated: {updated['html_url']}"
    tip = gh("GET", f"repos/{{owner}}/{{repo}}/git/ref/heads/{quote(branch)}")["object"]["sha"]
    for request in known:
        if not request["merged_at"] and request["head"]["sha"] == tip:
            return f"left closed, since it was closed with this very commit: {request['html_url']}"
    made = gh("POST", "repos/{owner}/{repo}/pulls", {"title": title, "body": body, "head": branch, "base": base})
    return f"opened: {made['html_url']}"


def _plain(body: str | None) -> str:
    """A body without what forges change of it."""
    return "\n".join(line.rstrip() for line in (body or "").replace("\r\n", "\n").strip().split("\n"))


def gh(method: str, path: str, fields: Mapping[str, str] | None = None) -> Any:
    """What the forge's API answers. Raises ``ForgeError`` where gh fails."""
    command = ["gh", "api", "--method", method, "--header", "Accept: application/vnd.github+json", path]
    command += ["--input", "-"] if fields else []
    try:
        done = subprocess.run(
            command,
            input=json.dumps(fields) if fields else None,
            stdin=None if fields else subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ForgeError(f"gh cannot be run: {error}") from error
    if done.returncode:
        details = _details(done.stdout)
        raise ForgeError(f"{method} {path}: {done.stderr.strip()}{details}")
    return json.loads(done.stdout)


def _details(answer: str) -> str:
    """What a refusal says beyond its message."""
    try:
        errors = json.loads(answer).get("errors", [])
    except (ValueError, AttributeError):
        return ""
    said = [str(error.get("message", error) if isinstance(error, dict) else error) for error in errors]
    return "".join(f"\n    {one}" for one in said)


if __name__ == "__main__":
    sys.exit(main())
