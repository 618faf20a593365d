"""``pins.toml``: what is read, and every fault in one run."""

from __future__ import annotations

import datetime

import pytest

from lockgrid.core.pins.rules import parse_pins
from lockgrid.errors import InputError
from lockgrid.model.pins import Copy, Differs, FileTruth, GitTruth, Kind, LiteralTruth, Match, PackageTruth

PIN = "[pins.a]\ntruth = {{ {truth} }}\ncopies = [{{ {copy} }}]\n"


def pin(truth: str = 'package = "a"', copy: str = 'file = "r.txt", match = "requirement"') -> str:
    return PIN.format(truth=truth, copy=copy)


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_pins(text)
    assert all(problem.file == "pins.toml" for problem in caught.value.problems)
    return [str(problem).removeprefix("pins.toml: ") for problem in caught.value.problems]


def test_every_kind_of_truth_and_of_match() -> None:
    rules = parse_pins(
        """
[pins.vela]
truth = { package = "Ethos_U.Vela", environment = "ethos_u", platform = "linux-x86_64", python = "3.12" }
copies = [
    { file = "a/r.txt", match = "requirement" },
    { file = "p.toml", match = { dependency = "ethos-u-vela", extra = "ethos_u", operator = ">=" } },
    { file = "p.toml", match = { dependency = "x", group = "dev" }, components = 2 },
    { file = "p.toml", match = { dependency = "x", build = true } },
    { file = "./C.txt", match = { cmake-set = "V" } },
    { file = "C.txt", match = { cmake-git-tag = "nn" } },
    { file = "s.sh", match = { shell = "V" }, differs = { why = "so", until = 2026-12-31 } },
    { file = "s.py", match = { python = "V" } },
    { file = "t.toml", match = { toml = "a.0.b" } },
    { file = "t.json", match = { json = ["a.b", 0] } },
    { file = "t.yaml", match = { yaml = "a" } },
    { file = "t.txt", match = { regex = 'x(?P<v>\\d+)(y)?' } },
]
[pins.b]
truth = { package = "b", required-by = "C_c" }
copies = [{ file = "r.txt", match = "requirement" }]
[pins.c]
truth = { file = "version.json", match = { json = "v" }, tree = true }
copies = [{ file = "r.txt", match = { requirement = "C.d" } }]
[pins.d]
truth = { git = "cmsis-nn", environment = "cortex_m" }
copies = [{ file = "r.txt", match = { requirement = "x" } }]
[pins.e]
truth = { literal = "v1.2" }
copies = [{ file = "r.txt", match = { requirement = "x" } }]
"""
    )
    assert [rule.name for rule in rules] == ["vela", "b", "c", "d", "e"]
    assert [rule.truth for rule in rules] == [
        PackageTruth(package="ethos-u-vela", environment="ethos_u", platform="linux-x86_64", python="3.12"),
        PackageTruth(package="b", required_by="c-c"),
        FileTruth(file="version.json", match=Match(kind=Kind.JSON, key=("v",)), in_tree=True),
        GitTruth(source="cmsis-nn", environment="cortex_m"),
        LiteralTruth(value="v1.2"),
    ]
    assert rules[2].copies == (Copy(file="r.txt", match=Match(kind=Kind.REQUIREMENT, name="c-d")),)
    assert rules[0].copies == (
        Copy(file="a/r.txt", match=Match(kind=Kind.REQUIREMENT, name="ethos-u-vela")),
        Copy(file="p.toml", match=Match(kind=Kind.DEPENDENCY, name="ethos-u-vela", extra="ethos_u", operator=">=")),
        Copy(file="p.toml", match=Match(kind=Kind.DEPENDENCY, name="x", group="dev"), components=2),
        Copy(file="p.toml", match=Match(kind=Kind.DEPENDENCY, name="x", build=True)),
        Copy(file="C.txt", match=Match(kind=Kind.CMAKE_SET, name="V")),
        Copy(file="C.txt", match=Match(kind=Kind.CMAKE_GIT_TAG, name="nn")),
        Copy(
            file="s.sh",
            match=Match(kind=Kind.SHELL, name="V"),
            differs=Differs("so", datetime.date(2026, 12, 31)),
        ),
        Copy(file="s.py", match=Match(kind=Kind.PYTHON, name="V")),
        Copy(file="t.toml", match=Match(kind=Kind.TOML, key=("a", "0", "b"))),
        Copy(file="t.json", match=Match(kind=Kind.JSON, key=("a.b", 0))),
        Copy(file="t.yaml", match=Match(kind=Kind.YAML, key=("a",))),
        Copy(file="t.txt", match=Match(kind=Kind.REGEX, name=r"x(?P<v>\d+)(y)?")),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "pins: there is no pin (add [pins.<name>])"),
        ("pins = 1", 'pins: must be a table (for an exception: { version = "==1.0", why = "the reason" })'),
        ("[pin.a]", "pin: unknown key (did you mean 'pins'?)"),
        ("[pins]\na = 1", "pins.a: must be a table (write [pins.vela], then truth and copies)"),
        ("[pins.a]\ntruth = { literal = '1' }", "pins.a.copies: this key is missing"),
        (
            "[pins.a]\ntruth = { literal = '1' }\ncopies = []",
            'pins.a.copies: no copy is listed (write { file = "...", match = { ... } })',
        ),
        ("[pins.a]\ncopies = [{ file = 'x', match = { shell = 'V' } }]", "pins.a.truth: this key is missing"),
        (
            "[pins.a]\ntruth = { literal = '1' }\ncopies = ['x']",
            'pins.a.copies: must be a list of tables (such as [{ file = "requirements.txt", match = "requirement" }])',
        ),
        (pin() + "copys = 1\n", "pins.a.copys: unknown key (did you mean 'copies'?)"),
        (
            pin(truth='package = "a", literal = "1"'),
            (
                "pins.a.truth: a truth is one of package, file, git, literal, and this names package and literal "
                "(choose one)"
            ),
        ),
        (
            pin(truth='pakage = "a"', copy='file = "r", match = { shell = "V" }'),
            (
                "pins.a.truth: a truth is one of package, file, git, literal, and this names none of them "
                "(pakage: did you mean 'package'?)"
            ),
        ),
        (
            pin(truth='package = "a", enviroment = "x"'),
            "pins.a.truth.enviroment: unknown key (did you mean 'environment'?)",
        ),
        (pin(truth='package = "a b"'), "pins.a.truth.package: 'a b' is no valid name of a package"),
        (
            pin(truth='literal = "main"', copy='file = "r", match = { shell = "V" }'),
            (
                "pins.a.truth.literal: 'main' is neither a version (PEP 440) nor a commit "
                '(write "1.2.0", or a commit of 7 to 64 hexadecimal digits)'
            ),
        ),
        (
            pin(truth='file = "x"', copy='file = "r", match = { shell = "V" }'),
            "pins.a.truth.match: this key is missing",
        ),
        (
            pin(truth='literal = "1"'),
            'pins.a.copies[0].match: the truth is no package of the grid (name it: { requirement = "torch" })',
        ),
        (pin(copy='file = "x"'), "pins.a.copies[0].match: this key is missing"),
        (pin(copy='match = "requirement"'), "pins.a.copies[0].file: this key is missing"),
        (
            pin(copy='file = "x", match = "shell"'),
            "pins.a.copies[0].match: 'shell' names nothing to look for (write { shell = \"...\" })",
        ),
        (
            pin(copy='file = "x", match = "requirment"'),
            "pins.a.copies[0].match: 'requirment' names nothing to look for (did you mean 'requirement'?)",
        ),
        (
            pin(copy='file = "x", match = 1'),
            'pins.a.copies[0].match: must be a table (such as { requirement = "torch" })',
        ),
        (
            pin(copy='file = "x", match = { shel = "V" }'),
            "pins.a.copies[0].match: a match names one kind, and this names none (shel: did you mean 'shell'?)",
        ),
        (
            pin(copy='file = "x", match = { shell = "V", python = "V" }'),
            (
                "pins.a.copies[0].match: a match names one kind, and this names shell and python "
                "(choose one of requirement, "
                "dependency, cmake-set, cmake-git-tag, shell, python, toml, json, yaml, regex)"
            ),
        ),
        (
            pin(copy='file = "x", match = { shell = "V", extra = "y" }'),
            "pins.a.copies[0].match.extra: unknown key (known: shell)",
        ),
        (pin(copy='file = "x", match = { shell = "a b" }'), "pins.a.copies[0].match.shell: 'a b' is no name"),
        (
            pin(copy='file = "x", match = { requirement = "-" }'),
            "pins.a.copies[0].match.requirement: '-' is no valid name of a package",
        ),
        (
            pin(copy='file = "x", match = { requirement = "a", operator = "=" }'),
            "pins.a.copies[0].match.operator: '=' is no operator (PEP 440) (one of == === ~= >= <= > < !=)",
        ),
        (
            pin(copy='file = "x", match = { dependency = "a", extra = "y", group = "z" }'),
            "pins.a.copies[0].match: extra, group and build exclude each other (list a copy for each)",
        ),
        (
            pin(copy='file = "x", match = { toml = "a..b" }'),
            (
                'pins.a.copies[0].match.toml: must be keys (write "project.version", or ["a.b", 0, "c"] '
                "where a key has a dot or a list is counted)"
            ),
        ),
        (
            pin(copy='file = "x", match = { regex = "(?P<v>" }'),
            (
                "pins.a.copies[0].match.regex: no pattern of RE2: missing ): (?m)(?P<v> "
                "(lookaround and backreferences do not exist in it)"
            ),
        ),
        (
            pin(copy='file = "x", match = { regex = "(?=a)(?P<v>a)" }'),
            (
                "pins.a.copies[0].match.regex: no pattern of RE2: invalid perl operator: (?= "
                "(lookaround and backreferences do not exist in it)"
            ),
        ),
        (
            pin(copy='file = "x", match = { regex = "a(.)" }'),
            (
                "pins.a.copies[0].match.regex: a pattern has one named group, which holds the version "
                "(write (?P<version>[0-9][0-9a-z.]*))"
            ),
        ),
        (
            pin(copy=f'file = "x", match = {{ regex = "(?P<v>a){"b" * 500}" }}'),
            (
                "pins.a.copies[0].match.regex: the pattern has 508 characters, and 500 are allowed "
                "(match less of the line)"
            ),
        ),
        (
            pin(copy='file = "x", match = "requirement", components = 0'),
            "pins.a.copies[0].components: must be a number of components (2 compares the 2.13 of 2.13.0 alone)",
        ),
        (
            pin(copy='file = "x", match = "requirement", differs = { why = " ", until = 2026-12-31 }'),
            "pins.a.copies[0].differs.why: an exception needs a reason",
        ),
        (
            pin(copy='file = "x", match = "requirement", differs = { why = "y" }'),
            "pins.a.copies[0].differs.until: this key is missing",
        ),
        (
            pin(copy='file = "x", match = "requirement", differs = { why = "y", until = "2026-12-31" }'),
            "pins.a.copies[0].differs.until: must be a date (write 2026-11-30, without quotes)",
        ),
        *(
            (
                pin(copy=f'file = "{path}", match = "requirement"'),
                f"pins.a.copies[0].file: {path!r} is no path inside the project or the tree",
            )
            for path in ("", "/etc/x", "../x", "a/../../x", "C:/x", ".")
        ),
        (
            pin(copy="file = 'a\\b', match = 'requirement'"),
            "pins.a.copies[0].file: 'a\\\\b': write / between folders, on every system",
        ),
        (
            pin(copy='file = "a/*.txt", match = "requirement"'),
            (
                "pins.a.copies[0].file: 'a/*.txt': a copy is one file, not a pattern "
                "(list each file, so that none is lost unseen)"
            ),
        ),
    ],
)
def test_faults(text: str, said: str) -> None:
    assert faults(text) == [said]


def test_all_faults_are_told_in_one_run() -> None:
    text = pin(truth='package = "a b"', copy='file = "../x", match = { shel = "V" }') + pin(copy='file = "x"').replace(
        "pins.a", "pins.b"
    )
    assert len(faults(text)) == 4


def test_broken_toml_is_one_fault() -> None:
    (said,) = faults("[pins.a")
    assert said.startswith("broken TOML: ")
