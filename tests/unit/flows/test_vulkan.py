"""What the VGF flow finds out about Vulkan on a machine, with folders made up for it. No Vulkan is needed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from flows import vulkan


def write_driver(folder: Path, name: str = "lvp_icd.x86_64.json", library: str = "libvulkan_lvp.so") -> Path:
    """Write a driver's manifest; a library that is a path is made too, next to it if it is relative."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / name
    manifest.write_text(json.dumps({"ICD": {"library_path": library, "api_version": "1.3.0"}}), encoding="utf-8")
    if "/" in library:
        (folder / library).touch()
    return manifest


def find(root: Path, machine: str = "x86_64", **environ: str) -> Path:
    return vulkan.find_driver(environ, root, machine)


@pytest.mark.parametrize("folder", ["usr/share", "usr/local/share", "etc", "etc/xdg"])
def test_lavapipe_is_found_where_the_loader_looks(tmp_path: Path, folder: str) -> None:
    manifest = write_driver(tmp_path / folder / "vulkan" / "icd.d")
    assert find(tmp_path) == manifest


@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"])
def test_the_folders_of_xdg_count(tmp_path: Path, variable: str) -> None:
    manifest = write_driver(tmp_path / "own" / "vulkan" / "icd.d")
    assert find(tmp_path / "no", **{variable: str(tmp_path / "own")}) == manifest


def test_a_relative_xdg_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_driver(tmp_path / "own" / "vulkan" / "icd.d")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(vulkan.NotHereError):
        find(tmp_path / "no", XDG_DATA_DIRS="own")


@pytest.mark.parametrize("variable", ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"])
@pytest.mark.parametrize("form", ["file", "folder", "second of two"])
def test_a_driver_that_the_environment_names_comes_first(tmp_path: Path, variable: str, form: str) -> None:
    write_driver(tmp_path / "usr/share/vulkan/icd.d")
    own = write_driver(tmp_path / "own folder")
    other = write_driver(tmp_path / "other", "radeon.json", "libvulkan_radeon.so")
    value = {"file": str(own), "folder": str(own.parent), "second of two": os.pathsep.join([str(other), str(own)])}
    assert find(tmp_path, **{variable: value[form]}) == own


def test_a_graphics_card_that_the_environment_names_does_not_hide_lavapipe(tmp_path: Path) -> None:
    lavapipe = write_driver(tmp_path / "usr/share/vulkan/icd.d")
    card = write_driver(tmp_path / "own", "radeon.json", "libvulkan_radeon.so")
    assert find(tmp_path, VK_DRIVER_FILES=str(card)) == lavapipe


def test_a_driver_for_another_machine_is_no_driver(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/vulkan/icd.d"
    write_driver(folder, "lvp_icd.i686.json")
    with pytest.raises(vulkan.NotHereError):
        find(tmp_path)
    own = write_driver(folder, "lvp_icd.x86_64.json")
    assert find(tmp_path) == own
    assert find(tmp_path, "i686").name == "lvp_icd.i686.json"


def test_a_manifest_without_a_machine_in_its_name_will_do(tmp_path: Path) -> None:
    manifest = write_driver(tmp_path / "usr/share/vulkan/icd.d", "lvp_icd.json")
    assert find(tmp_path) == manifest


@pytest.mark.parametrize("library", ["./libvulkan_lvp.so", "{}/libvulkan_lvp.so"])
def test_a_driver_whose_library_is_gone_is_no_driver(tmp_path: Path, library: str) -> None:
    folder = tmp_path / "usr/share/vulkan/icd.d"
    manifest = write_driver(folder, library=library.format(folder))
    assert find(tmp_path) == manifest
    (folder / "libvulkan_lvp.so").unlink()
    with pytest.raises(vulkan.NotHereError, match=r"libvulkan_lvp\.so, which does not exist.*mesa-vulkan-drivers"):
        find(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"ICD": 1}', '{"ICD": {"library_path": 1}}', "\udcff"])
def test_what_is_no_manifest_is_passed_over(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "usr/share/vulkan/icd.d"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(vulkan.NotHereError):
        find(tmp_path)
    assert find(tmp_path, VK_DRIVER_FILES=str(write_driver(tmp_path / "own"))).parent.name == "own"


def test_without_a_driver_the_packages_are_named(tmp_path: Path) -> None:
    write_driver(tmp_path / "usr/share/vulkan/icd.d", "radeon.json", "libvulkan_radeon.so")
    with pytest.raises(vulkan.NotHereError, match=r"no CPU driver .*apt-get install mesa-vulkan-drivers libvulkan1"):
        find(tmp_path)


def test_without_a_loader_the_packages_are_named() -> None:
    with pytest.raises(vulkan.NotHereError, match=r"no Vulkan loader .*libno-such.*apt-get install .*libvulkan1"):
        vulkan.require_loader("libno-such-library.so.1")


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a library that every Linux has")
def test_a_loader_that_opens_is_enough() -> None:
    vulkan.require_loader("libc.so.6")


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_say_that_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(vulkan.NotHereError, match="Linux only"):
        vulkan.find(tmp_path)


def made_up() -> vulkan.Vulkan:
    return vulkan.Vulkan(Path("/d/lvp.json"), (Path("/l/graph"), Path("/l/tensor")), Path("/cache"))


def test_the_subprocess_gets_these_settings_and_none_of_the_callers() -> None:
    environ = made_up().environment({"VK_LOADER_DRIVERS_DISABLE": "*", "VK_ADD_LAYER_PATH": "/x", "PATH": "/bin"})
    assert environ == {
        "PATH": "/bin",
        "VK_DRIVER_FILES": str(Path("/d/lvp.json")),
        "VK_ICD_FILENAMES": str(Path("/d/lvp.json")),
        "VK_LAYER_PATH": os.pathsep.join([str(Path("/l/graph")), str(Path("/l/tensor"))]),
        "VK_INSTANCE_LAYERS": os.pathsep.join(["VK_LAYER_ML_Graph_Emulation", "VK_LAYER_ML_Tensor_Emulation"]),
        "MESA_SHADER_CACHE_DIR": str(Path("/cache")),
    }


def test_reversed_turns_both_lists() -> None:
    environ = made_up().reversed().environment({})
    assert environ["VK_LAYER_PATH"] == os.pathsep.join([str(Path("/l/tensor")), str(Path("/l/graph"))])
    assert environ["VK_INSTANCE_LAYERS"].startswith("VK_LAYER_ML_Tensor")


@pytest.mark.parametrize(
    ("printed", "meaning"),
    [
        ("[Layer][Error] requires extension: VK_ARM_tensors\ncreateDevice: ErrorFeatureNotPresent", "wrong order"),
        ("createDevice: ErrorFeatureNotPresent", "lacks a feature"),
        ("ERROR: Failed to load vulkan library!", "no Vulkan loader.*libvulkan1"),
        ("Context::createInstance: ErrorIncompatibleDriver", "could not load a driver.*mesa-vulkan-drivers"),
        ("ERROR: Cannot find queue index", "not loaded: VK_LAYER_PATH"),
        ("createDevice: ErrorExtensionNotPresent", "Tensor layer is not loaded"),
    ],
)
def test_what_a_run_says_is_explained(tmp_path: Path, printed: str, meaning: str) -> None:
    code = f"import sys; sys.stderr.write({printed!r}); sys.exit(3)"
    with pytest.raises(vulkan.RunError, match=f"(?s)exit code 3: .*{meaning}.*{printed[:5].replace('[', '.')}"):
        vulkan.run([sys.executable, "-c", code], tmp_path, os.environ, timeout=30)


def test_an_unknown_failure_keeps_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(vulkan.RunError, match=r"ended with exit code 1\nsomething else"):
        vulkan.run([sys.executable, "-c", "import sys; sys.exit('something else')"], tmp_path, os.environ, timeout=30)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_crash_is_named(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(vulkan.RunError, match="was killed by SIGSEGV"):
        vulkan.run([sys.executable, "-c", code], tmp_path, os.environ, timeout=30)


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(vulkan.RunError, match="was stopped after 1 s"):
        vulkan.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, os.environ, timeout=1)


def test_a_program_runs_in_its_folder_and_returns_what_it_prints(tmp_path: Path) -> None:
    printed = vulkan.run([sys.executable, "-c", "import os; print(os.getcwd())"], tmp_path, os.environ, timeout=30)
    assert Path(printed.strip()).resolve() == tmp_path.resolve()
