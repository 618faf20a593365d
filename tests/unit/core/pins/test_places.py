"""Every kind of match: found, missing, in more than one place, with any line end, a mark, and much around it."""

from __future__ import annotations

import pytest

from lockgrid.core.pins.places import find_place
from lockgrid.core.pins.text import PlaceError, Text
from lockgrid.model.pins import Kind, Match, Place
from unit.core.pins.samples import SAMPLES, Sample

EACH = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])


def place_of(sample: Sample, text: str) -> Place:
    return find_place(Text(text), sample.match)


def marked(sample: Sample, noise: str = "") -> str:
    """The sample with 1.2.0 in the copy and 9.9 wherever else a version stands."""
    template = noise + sample.text
    spots = [at for at, letter in enumerate(template) if letter == "@"]
    place = place_of(sample, template.replace("@", "9.9"))
    number = next(n for n, at in enumerate(spots) if place.start == at + 2 * n)
    parts = template.split("@")
    return "9.9".join(parts[: number + 1]) + "1.2.0" + "9.9".join(parts[number + 1 :])


@EACH
@ENDS
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_the_one_place_is_found_whatever_is_around_it(sample: Sample, end: str, mark: str) -> None:
    tables = sample.match.kind in (Kind.TOML, Kind.DEPENDENCY)  # a table ends where the next begins
    text = marked(sample) + sample.noise.replace("@", "9.9") if tables else marked(sample, sample.noise)
    if end == "\r" and tables:
        end = "\n"  # TOML has no such line end
    text = mark + text.replace("\n", end)
    place = place_of(sample, text)
    assert (place.text, text[place.start : place.end]) == ("1.2.0", "1.2.0")
    assert text.count("1.2.0") == 1


@EACH
def test_nothing_found_is_an_error(sample: Sample) -> None:
    with pytest.raises(PlaceError) as caught:
        place_of(sample, sample.nothing)
    assert caught.value.what == f"nothing is found by {sample.match.text}"


def doubled(sample: Sample) -> str:
    """The sample with a second place, empty for TOML, which refuses a key that stands twice."""
    if sample.twice:
        return sample.text + sample.twice
    if sample.match.kind is Kind.JSON:
        return '{"packs": [0, {"version": "@", "version": "@"}]}'
    if sample.match.kind is Kind.DEPENDENCY:
        again = f"{sample.match.name}==@"
        text = sample.text.replace('{ include-group = "all" }', f'"{again}"')
        return text.replace("numpy", again).replace("setuptools", again)
    return ""


@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES.values() if doubled(sample)],
    ids=[n for n, s in SAMPLES.items() if doubled(s)],
)
def test_more_than_one_place_is_an_error_that_names_the_lines(sample: Sample) -> None:
    with pytest.raises(PlaceError) as caught:
        place_of(sample, doubled(sample).replace("@", "1.2.0"))
    assert f"{sample.match.text} finds more than one place, on the lines " in caught.value.what


def test_a_toml_key_that_stands_twice_is_broken_toml() -> None:
    with pytest.raises(PlaceError, match="broken TOML: Cannot overwrite a value"):
        find_place(Text("a = '1'\na = '1'\n"), Match(kind=Kind.TOML, key=("a",)))


COMMITS = ["0123abc", "dbf45dbfcc515421dd6099037d3e2637b90748c8"]


@pytest.mark.parametrize(
    ("sample", "held"),
    [
        pytest.param(sample, held, id=f"{name}: {held[:12]}")
        for name, sample in SAMPLES.items()
        for held in ("1.2", "1.2.3", "2026.05.0", "1.2rc1", *COMMITS)
        if held not in COMMITS or sample.match.kind not in (Kind.REQUIREMENT, Kind.DEPENDENCY)
    ],
)
def test_the_whole_version_is_taken_and_no_part(sample: Sample, held: str) -> None:
    text = sample.text.replace("v@", "@").replace("@", held)
    assert place_of(sample, text).text == held


@pytest.mark.parametrize(
    ("match", "text", "token", "wildcard"),
    [
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==1.2.*\n", "1.2", True),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a === 1.2\n", "1.2", False),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a\\\n  ==1.2\n", "1.2", False),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a\\\r\n  ==1.2 # x\r\n", "1.2", False),
        (Match(kind=Kind.REQUIREMENT, name="a"), "# x \\\na==1.2\n", "1.2", False),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==1.2+cpu", "1.2+cpu", False),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==1.2 --config-settings=x==9\n", "1.2", False),
        (Match(kind=Kind.REQUIREMENT, name="a", operator="~="), "a~=1.2,==1.*\n", "1.2", False),
        (
            Match(kind=Kind.REQUIREMENT, name="a"),
            "a @ git+https://u@git.example/x/a.git@0123abc#egg=a\n",
            "0123abc",
            False,
        ),
        (
            Match(kind=Kind.REQUIREMENT, name="a"),
            "a[b] @ git+ssh://git@git.example/a@v1.2 ; x\n".replace("; x", "; extra == 'x'"),
            "1.2",
            False,
        ),
        (Match(kind=Kind.TOML, key=("a", "0")), 'a = ["^1.2"]', "1.2", False),
        (Match(kind=Kind.TOML, key=("a",)), 'a = "==1.2.*"', "1.2", True),
        (Match(kind=Kind.TOML, key=("a", 3)), "a = [9, 'x,]', \"#\", '1.2', true] # 1", "1.2", False),
        (Match(kind=Kind.TOML, key=("a", 1)), 'a = ["\\"]", "1.2"]', "1.2", False),
        (Match(kind=Kind.TOML, key=("a", 2, 0)), "a = [1979-05-27, 1e3, ['1.2']]", "1.2", False),
        (Match(kind=Kind.TOML, key=("a", 1)), "a = [\n '9', # '8'\n '1.2',\n]", "1.2", False),
        (Match(kind=Kind.TOML, key=("b",)), "a = '''x\nb = '9' ''' \nb = '1.2'", "1.2", False),
        (Match(kind=Kind.TOML, key=("a", "b")), "a = {x = '9', b = '1.2'}", "1.2", False),
        (Match(kind=Kind.TOML, key=("a", "b", "c")), "a.b.\"c\"='''1.2'''", "1.2", False),
        (Match(kind=Kind.JSON, key=("a", "0")), '{"a": {"0": "~1.2"}}', "1.2", False),
        (Match(kind=Kind.YAML, key=("a",)), "a: 1.10\n", "1.10", False),
        (Match(kind=Kind.YAML, key=("a",)), "x: &v 1.2\na: *v\n", "1.2", False),
        (Match(kind=Kind.SHELL, name="V"), "V=release/0.28\n", "0.28", False),
        (Match(kind=Kind.SHELL, name="V"), "ARG V=0.28\n", "0.28", False),
        (Match(kind=Kind.CMAKE_SET, name="V"), "set(V [=[1.2]=])", "1.2", False),
        (Match(kind=Kind.CMAKE_SET, name="V"), 'set("V" 1.2)', "1.2", False),
        (Match(kind=Kind.CMAKE_GIT_TAG, name="nn"), "CPMAddPackage(NAME nn GIT_TAG v1.2)", "1.2", False),
        (Match(kind=Kind.REGEX, name="-(?P<v>[0-9.]+)-linux"), "x-1.2-linux.tar.gz", "1.2", False),
        (Match(kind=Kind.REGEX, name="(?P<v>v[0-9.]+)[.]tar"), "x-v1.2.tar.gz", "1.2", False),
    ],
)
def test_spellings(match: Match, text: str, token: str, wildcard: bool) -> None:
    place = find_place(Text(text), match)
    assert (place.text, text[place.start : place.end], place.wildcard) == (token, token, wildcard)


@pytest.mark.parametrize(
    ("match", "text", "said"),
    [
        (Match(kind=Kind.REQUIREMENT, name="a"), "a>=1.2\n", "it asks >=1.2, which has no =="),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a\n", "it asks no version, which has no =="),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==1,==2\n", "it asks ==1,==2, which has more than one =="),
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==\n", "'a==' is no requirement (PEP 508)"),
        (
            Match(kind=Kind.REQUIREMENT, name="a"),
            "a @ https://files.example/a-1.2.tar.gz\n",
            "https://files.example/a-1.2.tar.gz names no commit or tag after an @",
        ),
        (Match(kind=Kind.TOML, key=("a",)), "a = 1.2", "toml a is no string"),
        (Match(kind=Kind.TOML, key=("a",)), 'a = "\\u0031.2"', "toml a is written with escapes: use a regex"),
        (Match(kind=Kind.TOML, key=("a",)), "a = ", "broken TOML: Invalid value (at end of document)"),
        (Match(kind=Kind.TOML, key=("a",)), f"a = {'[' * 9000}", "the TOML is nested too deeply"),
        (Match(kind=Kind.JSON, key=("a",)), '{"a": 1.2}', "json a is no string"),
        (Match(kind=Kind.JSON, key=("a",)), "{", "broken JSON: Expecting property name"),
        (Match(kind=Kind.JSON, key=("a",)), "[" * 99999, "the JSON is nested too deeply"),
        (Match(kind=Kind.YAML, key=("a",)), "a: {b: 1}", "the key holds more than one value"),
        (Match(kind=Kind.YAML, key=("a",)), "a: |\n  1.2\n", "the value is not written as it is meant; use a regex"),
        (Match(kind=Kind.YAML, key=("a",)), "a: [", "broken YAML: did not find expected node content"),
        (Match(kind=Kind.YAML, key=("a",)), "a: 1\na: 2\n", "yaml a finds more than one place, on the lines 1, 2"),
        (Match(kind=Kind.PYTHON, name="A"), "A = 1.2", "1.2 is no plain string"),
        (Match(kind=Kind.PYTHON, name="A"), 'A = "1" ".2"', '"1" ".2" is no plain string'),
        (Match(kind=Kind.PYTHON, name="A"), 'A = f"{b}"', "is no plain string"),
        (Match(kind=Kind.PYTHON, name="A"), "A = (", "no Python that this one can parse: '(' was never closed"),
        (Match(kind=Kind.SHELL, name="A"), "A=$(cat version.txt)", "'$(cat' is no version and no commit"),
        (Match(kind=Kind.SHELL, name="A"), "A=", "'' is no version and no commit"),
        (Match(kind=Kind.CMAKE_SET, name="A"), "set(A)", "set(A) sets nothing"),
        (
            Match(kind=Kind.CMAKE_GIT_TAG, name="nn"),
            "FetchContent_Declare(nn GIT_TAG ${NN_VERSION})",
            "the value is ${NN_VERSION}: match where NN_VERSION is set instead",
        ),
        (Match(kind=Kind.REGEX, name="a==(?P<v>1.2)"), "a==1.2.3", "takes '1.2', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="a==(?P<v>1.2)"), "a==1.2rc1", "takes '1.2', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="a==.*?(?P<v>2.3)$"), "a==1.2.3", "takes '2.3', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="a==(?P<v>[0-9.]+)"), "a==1.2-rc1", "takes '1.2', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="a==(?P<v>1.2)"), "a==1.20000", "takes '1.2', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="a==(?P<v>1.2)"), "a==1.2.r1", "takes '1.2', a part of a longer version"),
        (Match(kind=Kind.REGEX, name="(?P<v>[0-9a-f]{7})"), "0123abcd", "takes '0123abc', a part of a longer version"),
    ],
)
def test_what_cannot_be_told_is_said(match: Match, text: str, said: str) -> None:
    with pytest.raises(PlaceError) as caught:
        find_place(Text(text), match)
    assert said in caught.value.what


def test_a_yaml_that_unfolds_to_a_billion_values_costs_nothing() -> None:
    layers = "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9))
    text = f"a: &a [x]\n{layers}version: 1.2\n"
    assert find_place(Text(text), Match(kind=Kind.YAML, key=("version",))).text == "1.2"


def test_a_pattern_that_would_stand_still_in_re_answers() -> None:
    match = Match(kind=Kind.REGEX, name="^(?:a*)*b(?P<version>[0-9.]+)$")
    text = "a" * 50_000 + "\nab1.2\n"
    assert find_place(Text(text), match).text == "1.2"


def test_a_pattern_stays_on_its_line() -> None:
    match = Match(kind=Kind.REGEX, name="V=(?P<version>[^;]*);")
    assert find_place(Text("V=1\n.2;\nV=1.3;"), match).text == "1.3"


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (Match(kind=Kind.REQUIREMENT, name="a"), "a==1.2"),
        (Match(kind=Kind.DEPENDENCY, name="a", build=True), "build-system.requires = ['a==1.2']"),
        (Match(kind=Kind.CMAKE_SET, name="V"), "set(V 1.2)"),
        (Match(kind=Kind.CMAKE_GIT_TAG, name="V"), "F(V GIT_TAG 1.2)"),
        (Match(kind=Kind.SHELL, name="V"), "V=1.2"),
        (Match(kind=Kind.PYTHON, name="V"), "V='1.2'"),
        (Match(kind=Kind.TOML, key=("V",)), "V='1.2'"),
        (Match(kind=Kind.JSON, key=("V",)), '{"V":"1.2"}'),
        (Match(kind=Kind.YAML, key=("V",)), "V: 1.2\nW: 1.2"),
        (Match(kind=Kind.REGEX, name="^V (?P<version>.*)$"), "V 1.2"),
    ],
)
def test_the_first_line_is_found_behind_a_mark(match: Match, text: str) -> None:
    place = find_place(Text(f"\ufeff{text}"), match)
    assert (place.text, place.start) == ("1.2", text.index("1.2") + 1)
    assert Text(f"\ufeff{text}").position(place.start) == (1, text.index("1.2") + 1)


def test_positions_count_lines_and_columns_from_one() -> None:
    text = Text("\ufeffab\r\nc\rd\n\nx")
    assert [text.position(text.text.index(letter)) for letter in "abcdx"] == [(1, 1), (1, 2), (2, 1), (3, 1), (5, 1)]


@pytest.mark.parametrize(
    "ending",
    [".rpm", ".crate", ".bz2", ".apk", ".aar", ".tar.gz", "-bin.zip", "-1.x86_64.rpm", "-linux", "_amd64.deb", "-post"],
)
def test_the_name_of_a_file_goes_on_after_its_version(ending: str) -> None:
    """``.rpm`` begins with ``.r``, which PEP 440 takes for a post-release."""
    text = Text(f"x foo-1.2{ending}\n")
    place = find_place(text, Match(kind=Kind.REGEX, name="foo-(?P<v>[0-9]+[.][0-9]+)"))
    assert (place.start, place.text) == (6, "1.2")
