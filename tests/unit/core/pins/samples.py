"""A file for every kind of match, with a version or a commit in it and much that only looks like one."""

from __future__ import annotations

from dataclasses import dataclass

from lockgrid.model.pins import Kind, Match

HASH = "0" * 64


@dataclass(frozen=True)
class Sample:
    """``text`` has ``@`` where the copy stands; ``twice`` is to be added to it, so that there are two.

    ``noise`` holds ``@`` in what is no copy: comments, other names, other keys. ``nothing`` has no copy at all.
    """

    match: Match
    text: str
    twice: str
    noise: str
    nothing: str = ""


SAMPLES = {
    "requirement": Sample(
        match=Match(kind=Kind.REQUIREMENT, name="ml-dtypes"),
        text=(
            "numpy==1.26.4\n"
            f"ML_dtypes[extra, more] == @ ; python_version < '3.13' \\\n    --hash=sha256:{HASH} \\\n"
            f"    --hash=sha256:{HASH}  # was @\npytest>=8\n"
        ),
        twice="ml.dtypes==@\n",
        noise=(
            "# ml_dtypes==@\nml_dtypes_more==@\nml==@\n-r ml_dtypes\n"
            "other  # ml_dtypes==@\nother; extra == 'ml_dtypes==@'\n"
        ),
        nothing="numpy==1.26.4\n",
    ),
    "requirement with >=": Sample(
        match=Match(kind=Kind.REQUIREMENT, name="openvino", operator=">="),
        text="openvino >=@,<2099, !=2025.3.1\n",
        twice="openvino >= @\n",
        noise="# openvino>=@\n",
        nothing="other>=1\n",
    ),
    "requirement with parentheses": Sample(
        match=Match(kind=Kind.REQUIREMENT, name="semver"),
        text="semver (==@)\n",
        twice="semver===@\n",
        noise="# semver (==@)\n",
    ),
    "dependency": Sample(
        match=Match(kind=Kind.DEPENDENCY, name="tosa-tools"),
        text=(
            '[project]\nname = "app"  # "tosa-tools==@"\ndependencies = [\n'
            '  "tosa-tools-more==@",  # tosa-tools==@\n  "numpy>=2",\n'
            "  'tosa_tools==@; python_version < \"3.14\"',\n]\n"
        ),
        twice="",
        noise=(
            '[project.optional-dependencies]\nall = ["tosa-tools==@"]\n[dependency-groups]\ndev = ["tosa-tools==@"]\n'
        ),
        nothing='[project]\ndependencies = ["numpy==1.0"]\n',
    ),
    "dependency of an extra": Sample(
        match=Match(kind=Kind.DEPENDENCY, name="ethos-u-vela", extra="ethos-u"),
        text='[project.optional-dependencies]\nvgf = ["ethos-u-vela==@"]\nethos_u = [ "numpy", "ethos-u-vela==@", ]\n',
        twice="",
        noise='[project]\ndependencies = ["ethos-u-vela==@"]\n',
        nothing='[project.optional-dependencies]\nvgf = ["ethos-u-vela==1.0"]\n',
    ),
    "dependency of a group": Sample(
        match=Match(kind=Kind.DEPENDENCY, name="ruff", group="dev"),
        text='[dependency-groups]\nall = ["ruff==@"]\ndev = [{ include-group = "all" }, "ruff==@"]\n',
        twice="",
        noise='[project]\ndependencies = ["ruff==@"]\n',
        nothing='[dependency-groups]\nall = ["ruff==1.0"]\n',
    ),
    "dependency of the build": Sample(
        match=Match(kind=Kind.DEPENDENCY, name="torch", build=True),
        text='[build-system]\nrequires = ["setuptools", "torch==@"]\n',
        twice="",
        noise='[project]\ndependencies = ["torch==@"]\n',
        nothing='[build-system]\nrequires = ["setuptools"]\n',
    ),
    "cmake-set": Sample(
        match=Match(kind=Kind.CMAKE_SET, name="NN_VERSION"),
        text='set(NN_VERSION_OLD "@")\nset(NN_VERSION\n    "@" # "@"\n    CACHE STRING "version (@) to download"\n)\n',
        twice="SET( NN_VERSION @ )\n",
        noise='# set(NN_VERSION "@")\n#[[ set(NN_VERSION "@")\n]]\nmessage("set(NN_VERSION @)")\nset(nn_version "@")\n',
        nothing='set(OTHER "1.0")\n',
    ),
    "cmake-git-tag": Sample(
        match=Match(kind=Kind.CMAKE_GIT_TAG, name="nn"),
        text=(
            "FetchContent_Declare(\n  nn_more GIT_TAG @)\nFetchContent_Declare(\n  NN # GIT_TAG @\n"
            "  GIT_REPOSITORY https://git.example/nn.git\n  GIT_TAG @ # @\n)\n"
        ),
        twice="ExternalProject_Add(nn GIT_TAG v@)\n",
        noise="# FetchContent_Declare(nn GIT_TAG @)\nmessage(STATUS nn GIT_TAG @)\n",
        nothing="FetchContent_Declare(other GIT_TAG 1.0)\n",
    ),
    "shell": Sample(
        match=Match(kind=Kind.SHELL, name="VELA_VERSION"),
        text='#!/bin/sh\nOLD_VELA_VERSION=@\nreadonly VELA_VERSION="@" # was @\necho $VELA_VERSION=@\n',
        twice="  export VELA_VERSION=@; true\n",
        noise="# VELA_VERSION=@\nVELA_VERSION_OLD=@\nx() { test $VELA_VERSION = @; }\n",
        nothing="OTHER=1.0\n",
    ),
    "shell with a default": Sample(
        match=Match(kind=Kind.SHELL, name="tag"),
        text='tag="${TAG:-refs/tags/v@}" # keep in sync\n',
        twice="local -r tag='@'\n",
        noise="# tag=@\n",
    ),
    "python": Sample(
        match=Match(kind=Kind.PYTHON, name="TORCH_VERSION"),
        text='"""é TORCH_VERSION = \'@\'"""\nOLD_TORCH_VERSION = "@"\né = 1; TORCH_VERSION: str = "@"  # "@"\n',
        twice="def f():\n    TORCH_VERSION = 'v@'\n",
        noise='# TORCH_VERSION = "@"\ntorch_version = "@"\nassert OLD_TORCH_VERSION != "@"\n',
        nothing='OTHER = "1.0"\n',
    ),
    "python with a call": Sample(
        match=Match(kind=Kind.PYTHON, name="MINIMUM"),
        text='MINIMUM = Version("@")\n',
        twice="MINIMUM = '@'\n",
        noise='OTHER = Version("@")\n',
    ),
    "toml": Sample(
        match=Match(kind=Kind.TOML, key=("package", 1, "vela", "version")),
        text=(
            "# version = '@'\n[[package]]\nvela = { version = '@' }\n[[package]]\n'a.b' = [[1, 2], ['@', 1.5]]\n"
            'text = """\nversion = "@"\n"""\n[package.vela]\n"version" = "@" # @\nwhen = 1979-05-27 07:32:00\n'
        ),
        twice="",
        noise='[other]\nversion = "@"\n',
        nothing="[[package]]\n",
    ),
    "json": Sample(
        match=Match(kind=Kind.JSON, key=("packs", 1, "version")),
        text=(
            '{"version": "@", "packs": [{"version": "@"}, {"name": "\\u00e9 @",\n'
            '\t"version" : "@" , "x": [1, {}, []]}]}'
        ),
        twice="",
        noise="",
        nothing='{"packs": [{"version": "1.0"}]}',
    ),
    "yaml": Sample(
        match=Match(kind=Kind.YAML, key=("dependencies", 1, "version")),
        text=(
            "# version: @\nversion: @\ndependencies:\n  - pack: é\n    version: @\n"
            "  - pack: b # version: @\n    version: '@' # @\n    text: |\n      version: @\n"
        ),
        twice="---\ndependencies: [{}, {version: @}]\n",
        noise="other:\n  version: @\n",
        nothing="dependencies:\n  - version: 1.0\n",
    ),
    "regex": Sample(
        match=Match(kind=Kind.REGEX, name=r"^git clone --branch (?P<version>\S+)$"),
        text="# clone\ngit clone --branch v@\n",
        twice="git clone --branch v@\n",
        noise="  git clone --branch v@\ngit clone --branch v@ # so\n",
        nothing="git clone\n",
    ),
}
