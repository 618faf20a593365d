"""Vulkan on the CPU, for one subprocess at a time: Mesa's lavapipe under Arm's ML emulation layers.

Nothing here opens Vulkan in this process: a driver that crashes is then a failed test with the
driver's own words in it, and the settings end with the subprocess.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PACKAGES = (
    "install Mesa's lavapipe and the Vulkan loader: `apt-get install mesa-vulkan-drivers libvulkan1` "
    "(Debian, Ubuntu), `dnf install mesa-vulkan-drivers vulkan-loader` (Fedora)"
)
LOADER = "libvulkan.so.1"

# From the application towards the driver: the Graph layer is built on what the Tensor layer adds.
LAYERS = ("Graph", "Tensor")

# What a failed run prints, and what that means; the first that is found counts.
_WRONG_ORDER = (
    "the emulation layers are in the wrong order: the Graph layer needs VK_ARM_tensors, which the Tensor layer adds; "
    "Graph must come before Tensor, in VK_LAYER_PATH (a loader before 1.4 goes by that) and in VK_INSTANCE_LAYERS"
)
_NO_GRAPH_LAYER = (
    "the emulation layers, or the Graph layer alone, are not loaded: VK_LAYER_PATH must name the folders of their "
    "manifests, and the library_path in these must be absolute"
)
_MEANINGS = (
    ("requires extension: VK_ARM_tensors", _WRONG_ORDER),
    ("Failed to load vulkan library", f"there is no Vulkan loader: {PACKAGES}"),
    ("ErrorIncompatibleDriver", f"the Vulkan loader could not load a driver: {PACKAGES}"),
    ("Cannot find queue index", _NO_GRAPH_LAYER),
    ("ErrorExtensionNotPresent", "the Tensor layer is not loaded, or the driver lacks an extension"),
    ("ErrorFeatureNotPresent", "the driver lacks a feature that the emulation layers need"),
)


class NotHereError(Exception):
    """This machine cannot execute a payload: what it lacks, and what to do about it."""

    def __init__(self, lack: str, remedy: str = PACKAGES) -> None:
        super().__init__(f"{lack}: {remedy}")
        self.lack = lack


class RunError(Exception):
    """A program ended badly: which, how, what that means, and its last words."""


def find_driver(environ: Mapping[str, str], root: Path = Path("/"), machine: str | None = None) -> Path:
    """The manifest of lavapipe: among those that the environment names, else in the loader's usual folders.

    `root` is where the system's folders are looked for, `machine` what the driver must be built for
    (default: this machine). NotHereError when there is none, or none whose library exists.
    """
    machine = machine or platform.machine()
    faults: list[str] = []
    found = []
    for manifest in (*_named(environ), *_installed(environ, root)):
        library = _lavapipe_library(manifest, machine)
        if library is None:
            continue
        # A bare name is looked up by the dynamic linker; a path has to exist.
        if len(library.parts) > 1 and not library.is_file():
            faults.append(f"{manifest} names {library}, which does not exist")
        else:
            found.append(manifest)
    if not found:
        raise NotHereError(f"no CPU driver for Vulkan ({'; '.join(faults) or 'no manifest of lavapipe'})")
    # Of equals the one that says in its name for which machine it is, else the first.
    return next((manifest for manifest in found if machine in manifest.name), found[0])


def require_loader(library: str = LOADER) -> None:
    """NotHereError unless the Vulkan loader can be opened; tried in another process."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    tried = subprocess.run([sys.executable, "-c", code, library], capture_output=True, text=True, check=False)
    if tried.returncode:
        last = tried.stderr.strip().splitlines()[-1:] or ["no message"]
        raise NotHereError(f"no Vulkan loader ({last[0]})")


def write_layers(folder: Path) -> list[Path]:
    """Write the layers' manifests below `folder`, one folder each; returns these in the order of LAYERS.

    The installed manifests name a library that only the loader's search path could find; the
    copies name it by its absolute path.
    """
    spec = find_spec("emulation_layer")
    assert spec is not None, "ai-ml-emulation-layer-for-vulkan is not in this venv: install from the lockfile"
    assert spec.origin is not None
    deployed = Path(spec.origin).resolve().parent / "deploy"
    folders = []
    for name in LAYERS:
        manifest = deployed / "share" / "vulkan" / "explicit_layer.d" / f"VkLayer_{name}.json"
        data = json.loads(manifest.read_text(encoding="utf-8"))
        file = Path(data["layer"]["library_path"]).name
        libraries = [path for path in (deployed / "lib64" / file, deployed / "lib" / file) if path.is_file()]
        assert libraries, f"{manifest} names {file}, which is not in {deployed}"
        data["layer"]["library_path"] = str(libraries[0])
        target = folder / name.lower()
        target.mkdir(parents=True)
        (target / manifest.name).write_text(json.dumps(data), encoding="utf-8")
        folders.append(target)
    return folders


@dataclass(frozen=True)
class Vulkan:
    """A loader, a driver and layers that are there; runs programs with them."""

    driver: Path  # lavapipe's manifest
    layers: tuple[Path, ...]  # a folder for each layer, in the order from application to driver
    cache: Path  # where Mesa keeps compiled shaders, which else go to the home folder

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with these settings for Vulkan, and none of its own."""
        kept = {key: value for key, value in base.items() if not key.startswith("VK_")}
        names = [f"VK_LAYER_ML_{folder.name.title()}_Emulation" for folder in self.layers]
        return kept | {
            "VK_DRIVER_FILES": str(self.driver),
            "VK_ICD_FILENAMES": str(self.driver),  # the same for loaders before 1.3.207
            "VK_LAYER_PATH": os.pathsep.join(str(folder) for folder in self.layers),
            "VK_INSTANCE_LAYERS": os.pathsep.join(names),
            "MESA_SHADER_CACHE_DIR": str(self.cache),
        }

    def reversed(self) -> Vulkan:
        """The same with the layers in the wrong order."""
        return Vulkan(self.driver, self.layers[::-1], self.cache)

    def run(self, command: Sequence[str | Path], folder: Path, timeout: float = 300.0) -> str:
        """What a program prints, run in `folder` for at most `timeout` seconds; RunError when it fails."""
        return run(command, folder, self.environment(os.environ), timeout)


def find(folder: Path) -> Vulkan:
    """What this machine has, with the layers' manifests written below `folder`; NotHereError where it lacks some."""
    if sys.platform != "linux":
        raise NotHereError(
            "Vulkan on the CPU is set up on Linux only",
            "for macOS and Windows no packages are known that this flow ran with; use a Linux machine or container",
        )
    require_loader()
    driver = find_driver(os.environ)
    return Vulkan(driver, tuple(write_layers(folder / "layers")), folder / "shaders")


def run(command: Sequence[str | Path], folder: Path, environ: Mapping[str, str], timeout: float) -> str:
    """What a program prints to stdout; RunError, with what is known about the cause, when it fails."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{name} was stopped after {timeout:.0f} s") from error
    if done.returncode:
        printed = f"{done.stdout}\n{done.stderr}"
        raise RunError(f"{name} {_ending(done.returncode)}{explain(printed)}\n{printed.strip()[-2000:]}")
    return done.stdout


def explain(printed: str) -> str:
    """What the output of a failed run means, ": " before it; empty when nothing is known."""
    return next((f": {meaning}" for sign, meaning in _MEANINGS if sign in printed), "")


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _named(environ: Mapping[str, str]) -> Iterator[Path]:
    """The manifests that the loader would take in place of the installed ones: files, or folders of them."""
    value = environ.get("VK_DRIVER_FILES") or environ.get("VK_ICD_FILENAMES") or ""
    for name in filter(None, value.split(os.pathsep)):
        yield from sorted(Path(name).glob("*.json")) if Path(name).is_dir() else [Path(name)]


def _installed(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    """The manifests in the folders that the loader searches, in its order."""

    def listed(name: str, default: str) -> list[str]:
        return [folder for folder in (environ.get(name) or default).split(os.pathsep) if folder]

    home = environ.get("HOME", "")
    folders = [
        environ.get("XDG_CONFIG_HOME") or f"{home}/.config",
        *listed("XDG_CONFIG_DIRS", str(root / "etc" / "xdg")),
        str(root / "etc"),
        environ.get("XDG_DATA_HOME") or f"{home}/.local/share",
        *listed("XDG_DATA_DIRS", os.pathsep.join([str(root / "usr/local/share"), str(root / "usr/share")])),
    ]
    for folder in folders:
        if os.path.isabs(folder):  # the XDG specification has relative ones ignored
            yield from sorted((Path(folder) / "vulkan" / "icd.d").glob("*.json"))


def _lavapipe_library(manifest: Path, machine: str) -> Path | None:
    """The library of a manifest, made absolute if it is a path; None when it is not lavapipe for this machine."""
    try:
        library = json.loads(manifest.read_text(encoding="utf-8"))["ICD"]["library_path"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if not isinstance(library, str) or "vulkan_lvp" not in library:
        return None
    others = {"i386", "i586", "i686", "x86_64", "aarch64", "armv7l"} - {machine}
    if others & set(manifest.name.split(".")):
        return None
    return manifest.parent / library if "/" in library else Path(library)
