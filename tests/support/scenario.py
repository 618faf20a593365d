"""Scenarios: an index, a project and what to expect of it, in one TOML file.

```toml
quarantined = ["evil"]              # projects; their pages list no files (PEP 792)

[[packages]]                        # one version of one package; several tables may share a version
name = "a"
version = "1.0"
requires = ["b>=2", "c ; sys_platform == 'win32'"]
extras = { fast = ["d"] }           # Provides-Extra, and its requirements
requires_python = ">=3.10"
wheels = ["cp311-cp311-manylinux_2_28_x86_64"]   # default ["py3-none-any"]; [] for none
python_wheels = "3.10-3.13"         # more wheels: each Python on four platforms; wheels is then []
sdist = true                        # or a table of arguments of `wheels.sdist`
files = { "a.py" = "x = 1" }        # what the wheels hold, default one module
scripts = { run = "a:main" }
metadata_name = "b"                 # METADATA names another package
uploaded = 2026-01-01T00:00:00Z     # or a string; false: the index tells no time
yanked = "broken"                   # or true
core_metadata = true                # the default here; false, "no-hash", "wrong-hash"
size = true                         # false, or a number of bytes
sha256 = "..."                      # what the index says, "" for nothing
index = "cpu"                       # offered by this index only, see `Scenario.populate`

[envs.app]                          # envs/app.toml
requires = ["a"]

[targets]                           # envs/targets.toml, all of it; default: `DEFAULT_TARGETS`

[expected]                          # for the test, not looked at
```
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomlkit

from support.catalogue import Catalogue
from support.metadata import Built
from support.wheels import sdist, wheel

DEFAULT_TARGETS: Final[dict[str, Any]] = {
    "cooldown": "7 days",
    "pythons": ["3.10", "3.11", "3.12", "3.13", "3.14"],
    "platforms": {
        "linux-x86_64": {"glibc": "2.28"},
        "linux-aarch64": {"glibc": "2.28"},
        "macos-arm64": {"macos": "15.0"},
        "windows-x86_64": {},
    },
}

PYPROJECT: Final = """\
# This comment must survive whatever lockgrid does to this file.
[project]
name = "environments"  # never built, never installed
version = "0"
requires-python = ">=3.10"
"""

_WHEEL_PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_28_aarch64",
    "macosx_14_0_arm64",
    "win_amd64",
)
_TOP_KEYS = {"packages", "quarantined", "envs", "targets", "expected"}
_OFFER_KEYS = ("uploaded", "yanked", "core_metadata", "size", "sha256")
_WHEEL_KEYS = ("files", "scripts", "metadata_name", "headers")
_PACKAGE_KEYS = {"name", "version", "requires", "extras", "requires_python", "wheels"} | {
    *("python_wheels", "sdist", "index"),
    *_OFFER_KEYS,
    *_WHEEL_KEYS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One file, the index that has it, and the arguments of `LocalIndex.add` that go with it."""

    built: Built
    index: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario as read; `name` is the name of its file without `.toml`."""

    name: str
    offers: tuple[Offer, ...]
    quarantined: tuple[str, ...]
    envs: dict[str, dict[str, Any]]
    targets: dict[str, Any]
    expected: dict[str, Any]

    @property
    def builts(self) -> tuple[Built, ...]:
        """Every distribution of every index, in the order of the file."""
        return tuple(offer.built for offer in self.offers)

    def populate(self, index: Catalogue, label: str = "") -> None:
        """Add to `index` the packages with `index = "<label>"`; by default those without the key.

        Projects in `quarantined` become so in an index that has files of them.
        """
        mine = [offer for offer in self.offers if offer.index == label]
        for offer in mine:
            index.add(offer.built, **offer.options)
        for name in self.quarantined:
            if any(offer.built.name == name for offer in mine):
                index.quarantine(name)

    def write_project(self, folder: Path) -> None:
        """Write envs/*.toml and pyproject.toml into `folder`, which need not exist."""
        envs = folder / "envs"
        envs.mkdir(parents=True, exist_ok=True)
        for name, content in {**self.envs, "targets": self.targets}.items():
            (envs / f"{name}.toml").write_text(tomlkit.dumps(content), encoding="utf-8")
        (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")


def load(path: Path) -> Scenario:
    """Read a scenario. Raises ValueError, naming file, package and key, for what it cannot read."""
    try:
        return parse(path.read_text(encoding="utf-8"), name=path.stem)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def parse(text: str, *, name: str = "inline") -> Scenario:
    """Return the scenario that TOML text says; errors as for `load`, without the file name."""
    table = tomllib.loads(text)
    _refuse_unknown(table, _TOP_KEYS, "the file")
    offers = [offer for package in table.get("packages", []) for offer in _offers(package)]
    return Scenario(
        name=name,
        offers=tuple(offers),
        quarantined=tuple(table.get("quarantined", [])),
        envs=table.get("envs", {}),
        targets=table.get("targets", DEFAULT_TARGETS),
        expected=table.get("expected", {}),
    )


def python_wheel_tags(pythons: str) -> list[str]:
    """Return the tags that `python_wheels` stands for: "3.10-3.13", "3.12"."""
    first, _, last = pythons.partition("-")
    minors = [int(end.strip().removeprefix("3.")) for end in (first, last or first)]
    versions = [f"cp3{minor}" for minor in range(minors[0], minors[1] + 1)]
    return [f"{cp}-{cp}-{platform}" for cp in versions for platform in _WHEEL_PLATFORMS]


def _offers(package: dict[str, Any]) -> Iterator[Offer]:
    """Yield the files of one `[[packages]]` table."""
    where = f"package {package.get('name', '?')} {package.get('version', '?')}"
    _refuse_unknown(package, _PACKAGE_KEYS, where)
    if missing := {"name", "version"} - package.keys():
        raise ValueError(f"{where}: no {' and no '.join(sorted(missing))}")
    common = _common(package)
    shape = {key: package[key] for key in _WHEEL_KEYS if key in package}
    options = {key: package[key] for key in _OFFER_KEYS if key in package}
    if "uploaded" in options:
        options["uploaded"] = _upload_time(options["uploaded"])
    index = package.get("index", "")
    for tag in _wheel_tags(package):
        built = wheel(tags=(tag,), **common, **shape)
        yield Offer(built=built, index=index, options={"core_metadata": True, **options})
    if source := package.get("sdist", False):
        built = sdist(**common, **(source if isinstance(source, dict) else {}))
        yield Offer(built=built, index=index, options={**options, "core_metadata": False})


def _common(package: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `wheel` and `sdist` share."""
    requires = list(package.get("requires", []))
    extras: dict[str, list[str]] = package.get("extras", {})
    for extra, wanted in extras.items():
        requires += [_with_extra(requirement, extra) for requirement in wanted]
    return {
        "name": package["name"],
        "version": package["version"],
        "requires": requires,
        "provides_extra": list(extras),
        "requires_python": package.get("requires_python"),
    }


def _with_extra(requirement: str, extra: str) -> str:
    """Return a requirement that applies only where the extra is asked for."""
    wanted, _, marker = (part.strip() for part in requirement.partition(";"))
    condition = f'extra == "{extra}"'
    return f"{wanted} ; ({marker}) and {condition}" if marker else f"{wanted} ; {condition}"


def _wheel_tags(package: dict[str, Any]) -> list[str]:
    more = python_wheel_tags(package["python_wheels"]) if "python_wheels" in package else []
    wheels: list[str] = package.get("wheels", [] if more else ["py3-none-any"])
    return wheels + more


def _upload_time(value: object) -> str | None:
    """Return RFC 3339 for a TOML time, date or string; None for false."""
    if value is False:
        return None
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return moment.isoformat().replace("+00:00", "Z")
    return f"{value}T00:00:00Z" if isinstance(value, datetime.date) else str(value)


def _refuse_unknown(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(table.keys() - known):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")
