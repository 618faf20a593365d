"""The cells that the golden files of the exports show."""

from __future__ import annotations

from lockgrid.core.export import Export, IndexUrls, gather
from lockgrid.model.grid import Pin, ProvenCell
from lockgrid.model.index import IndexFile
from lockgrid.model.target import Platform, Target
from unit.builders import LINUX, MAC, WINDOWS, cell, index_file, pin, target

TARGETS = (target(LINUX, "3.11"), target(LINUX, "3.12"), target(MAC, "3.12"), target(WINDOWS, "3.11"))
URLS = IndexUrls(plain=("https://index.example/simple",), named=(("cpu", "https://cpu.example/simple"),))
MANY_URLS = IndexUrls(plain=("https://first.example/simple", *URLS.plain), named=URLS.named)
TAGS = {"linux-x86_64": "manylinux_2_28_x86_64", "macos-arm64": "macosx_14_0_arm64", "windows-x86_64": "win_amd64"}


def compiled(name: str, version: str, where: Target) -> IndexFile:
    """The wheel of a compiled package that is for one target alone."""
    cp = f"cp{where.python.replace('.', '')}"
    return index_file(f"{name}-{version}-{cp}-{cp}-{TAGS[where.platform.name]}.whl")


def pins(where: Target) -> list[Pin]:
    """What a target of the golden files installs."""
    found = [
        pin("plain", "1!2.0+cpu.1"),
        pin("engine", "1.0", compiled("engine", "1.0", where)),
        pin("tree", "4.9", index_file("tree-4.9.tar.gz", uploaded=None, size=None)),
    ]
    if where.python == "3.11":
        found.append(pin("numpy", "2.9", compiled("numpy", "2.9", where)))
    else:
        found.append(pin("numpy", "2.10", compiled("numpy", "2.10", where)))
    if where.platform == LINUX:
        found.append(pin("torch", "2.13", compiled("torch", "2.13", where), index="cpu"))
    if where.platform == WINDOWS:
        found.append(pin("torch", "2.13", compiled("torch", "2.13", where)))
    return found


def cell_of(where: Target) -> ProvenCell:
    return cell("app", where, *pins(where))


CELLS = tuple(map(cell_of, TARGETS))
MANY: Export = gather(CELLS)
ONE: Export = gather([CELLS[0]])
PLATFORMS: tuple[Platform, ...] = (LINUX, MAC, WINDOWS)
