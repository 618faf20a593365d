"""Project pages, from JSON and from HTML."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgrid.adapters.pages import decode_page, encode_page, parse_page
from lockgrid.errors import ToolError
from lockgrid.model.index import IndexFile, Page
from unit.builders import digest

URL = "https://index.example/simple/foo-bar/"
JSON = "application/vnd.pypi.simple.v1+json"
HTML = "application/vnd.pypi.simple.v1+html; charset=utf-8"
SHA = digest("x")


def entry(filename: str = "foo_bar-1.0-py3-none-any.whl", /, **more: Any) -> dict[str, Any]:
    return {"filename": filename, "url": f"../../files/{filename}", "hashes": {"sha256": SHA}, **more}


def from_json(*files: dict[str, Any], **more: Any) -> Page:
    body = {"meta": {"api-version": "1.1"}, "name": "foo-bar", "files": list(files), **more}
    return parse_page("foo-bar", URL, JSON, json.dumps(body).encode())


def from_html(*anchors: str, head: str = "") -> Page:
    text = f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(anchors)}</body></html>"
    return parse_page("foo-bar", URL, HTML, text.encode())


def only(page: Page) -> IndexFile:
    ((file,),) = page.releases.values()
    return file


def test_a_file_of_a_json_page_has_all_that_the_page_says() -> None:
    file = only(
        from_json(
            entry(
                **{
                    "size": 7,
                    "upload-time": "2026-05-01T12:00:00.500000Z",
                    "requires-python": ">=3.10",
                    "yanked": "broken",
                    "core-metadata": {"sha256": "ab"},
                },
            )
        )
    )
    assert file == IndexFile(
        filename="foo_bar-1.0-py3-none-any.whl",
        url="https://index.example/files/foo_bar-1.0-py3-none-any.whl",
        sha256=SHA,
        size=7,
        uploaded=datetime(2026, 5, 1, 12, 0, 0, 500000, tzinfo=UTC),
        requires_python=">=3.10",
        yanked="broken",
        metadata_sha256="ab",
    )


def test_what_a_json_page_does_not_say_is_absent() -> None:
    file = only(from_json(entry(hashes={}) | {"url": "https://files.example/x.whl"}))
    assert file == IndexFile(filename="foo_bar-1.0-py3-none-any.whl", url="https://files.example/x.whl")


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ({"yanked": False}, "yanked", None),
        ({"yanked": True}, "yanked", ""),
        ({"yanked": ""}, "yanked", ""),
        ({"core-metadata": True}, "metadata_sha256", ""),
        ({"core-metadata": False}, "metadata_sha256", ""),
        ({"dist-info-metadata": {"sha256": "cd"}}, "metadata_sha256", "cd"),
        ({"core-metadata": False, "dist-info-metadata": {"sha256": "cd"}}, "metadata_sha256", ""),
        ({"requires-python": None}, "requires_python", None),
        ({"requires-python": ""}, "requires_python", None),
        ({"hashes": {"sha256": SHA.upper()}}, "sha256", SHA),
        ({"hashes": {"md5": "00"}}, "sha256", ""),
        ({"upload-time": "2026-05-01T14:00:00+02:00"}, "uploaded", datetime(2026, 5, 1, 12, tzinfo=UTC)),
    ],
)
def test_the_spellings_of_the_simple_api(more: dict[str, Any], field: str, value: object) -> None:
    assert getattr(only(from_json(entry(**more))), field) == value


def test_a_file_of_an_html_page() -> None:
    file = only(
        from_html(
            f'<a href="../../files/foo_bar-1.0%2Bcpu-py3-none-any.whl#sha256={SHA.upper()}" '
            'data-requires-python="&gt;=3.10" data-yanked="bad &amp; old" '
            'data-core-metadata="sha256=ab">a name that means nothing</a>'
        )
    )
    assert file == IndexFile(
        filename="foo_bar-1.0+cpu-py3-none-any.whl",
        url="https://index.example/files/foo_bar-1.0%2Bcpu-py3-none-any.whl",
        sha256=SHA,
        requires_python=">=3.10",
        yanked="bad & old",
        metadata_sha256="ab",
    )


@pytest.mark.parametrize(
    ("attributes", "field", "value"),
    [
        ("", "yanked", None),
        ("data-yanked", "yanked", ""),
        ('data-yanked=""', "yanked", ""),
        ('data-core-metadata="true"', "metadata_sha256", ""),
        ('data-dist-info-metadata="sha256=cd"', "metadata_sha256", "cd"),
        ("", "sha256", ""),
        ("", "uploaded", None),
    ],
)
def test_the_attributes_of_an_html_page(attributes: str, field: str, value: object) -> None:
    file = only(from_html(f'<a href="/files/foo_bar-1.0-py3-none-any.whl#md5=00" {attributes}>x</a>'))
    assert getattr(file, field) == value


def test_files_are_grouped_by_version_in_normal_form() -> None:
    names = ["foo_bar-1.0-py3-none-any.whl", "Foo.Bar-1.0-cp312-cp312-win_amd64.whl", "foo-bar-1.0.tar.gz",
             "foo_bar-01.1RC1-py3-none-any.whl", "foo_bar-2.zip"]  # fmt: skip
    for page in (from_json(*map(entry, names)), from_html(*(f'<a href="{name}">x</a>' for name in names))):
        assert {v: [f.filename for f in files] for v, files in page.releases.items()} == {
            "1.0": names[:3],
            "1.1rc1": [names[3]],
            "2": [names[4]],
        }


@pytest.mark.parametrize(
    "filename",
    [
        "other-1.0-py3-none-any.whl",
        "other-1.0.tar.gz",
        "foo_bar-latest-py3-none-any.whl",
        "foo_bar-1.0.exe",
        "foo_bar-1.0-py3.6.egg",
        "foo_bar.whl",
        "foo_bar-x.tar.gz",
        "",
    ],
)
def test_files_named_after_another_project_or_no_specification_are_left_out(filename: str) -> None:
    assert dict(from_json(entry(filename)).releases) == {}


def test_a_quarantined_project_says_so() -> None:
    status = {"project-status": {"status": "quarantined", "reason": "malware"}}
    assert from_json(**status).quarantined
    assert from_html(head='<meta name="pypi:project-status" content="quarantined">').quarantined
    assert not from_json(**{"project-status": {"status": "archived"}}).quarantined
    assert not from_html(head='<meta name="pypi:repository-version" content="1.4">').quarantined


def test_an_empty_page_is_a_project_without_files() -> None:
    for page in (from_json(), from_html()):
        assert (page.name, dict(page.releases), page.missing, page.newest) == ("foo-bar", {}, False, None)


def times(*moments: str | None) -> datetime | None:
    files = [
        entry(f"foo_bar-{number}-py3-none-any.whl", **({"upload-time": moment} if moment else {}))
        for number, moment in enumerate(moments)
    ]
    return from_json(*files).newest


def test_the_newest_file_is_known_where_every_file_has_a_time() -> None:
    assert times("2026-05-01T00:00:00Z", "2026-04-01T00:00:00Z") == datetime(2026, 5, 1, tzinfo=UTC)
    assert times("2026-05-01T00:00:00Z", None) is None


@pytest.mark.parametrize(
    ("moments", "newest"),
    [
        (
            ["2026-05-01T00:00:00Z", "2026-05-01T00:00:00.5Z"],
            datetime(2026, 5, 1, 0, 0, 0, 500000, tzinfo=UTC),
        ),
        (
            ["2026-05-01T01:00:00+02:00", "2026-05-01T00:30:00Z"],
            datetime(2026, 5, 1, 0, 30, tzinfo=UTC),
        ),
        (
            ["2026-05-01T00:00:00-02:00", "2026-05-01T01:00:00"],
            datetime(2026, 5, 1, 2, tzinfo=UTC),
        ),
    ],
)
def test_the_newest_file_is_found_however_times_are_spelled(moments: list[str], newest: datetime) -> None:
    assert times(*moments) == newest


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a zone that a test may set")
def test_a_time_without_a_zone_is_utc_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XXX-5")
        time.tzset()
        file = only(from_json(entry(**{"upload-time": "2026-05-01T12:00:00"})))
    time.tzset()
    assert file.uploaded == datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_the_digest_changes_with_anything_that_a_page_says() -> None:
    pages = [
        from_json(),
        from_json(entry()),
        from_json(entry(yanked=True)),
        from_json(entry(size=1)),
        from_json(entry(), **{"project-status": {"status": "quarantined"}}),
        from_json(entry(), entry("foo_bar-2-py3-none-any.whl")),
    ]
    assert len({page.digest for page in pages}) == len(pages)
    assert from_json(entry(), name="x").digest == pages[1].digest


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (JSON, b"{"),
        (JSON, b"[]"),
        (JSON, b'{"files": []}'),
        (JSON, b'{"meta": {"api-version": "2.0"}, "files": []}'),
        (JSON, b'{"meta": {"api-version": "1.0"}}'),
        (JSON, b'{"meta": {"api-version": "1.0"}, "files": [{"filename": "a"}]}'),
        (JSON, b'{"meta": {"api-version": "1.0"}, "files": [1]}'),
        (JSON, b'{"meta": {"api-version": "1.0"}, "files": {"a": 1}}'),
        ("text/html", b"just text"),
        ("text/html", b""),
        ("text/html", b"<html><![foo[ x ]]>"),
        (JSON, b"[" * 100_000),
        ("text/plain", b"<a href='x'>x</a>"),
        ("", b"<a href='x'>x</a>"),
    ],
)
def test_what_is_no_project_page_is_a_tool_error_without_credentials(content_type: str, body: bytes) -> None:
    with pytest.raises(ToolError) as caught:
        parse_page("foo-bar", "https://me:secret@index.example/simple/foo-bar/", content_type, body)
    assert caught.value.where == URL
    assert "no project page" in caught.value.what
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        {"upload-time": "1 May"},
        {"upload-time": 5},
        {"upload-time": ["2026-05-01T00:00:00Z"]},
        {"upload-time": "0001-01-01T00:00:00+23:00"},
        {"size": "5"},
        {"size": 5.5},
        {"requires-python": 3},
    ],
)
def test_a_value_that_is_none_is_a_tool_error_with_the_page(more: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=r"foo_bar-1\.0-py3-none-any\.whl has the ") as caught:
        from_json(entry("foo_bar-2-py3-none-any.whl"), entry(**more))
    assert caught.value.where == URL


def test_json_is_recognised_by_its_type_alone() -> None:
    body = json.dumps({"meta": {"api-version": "1.0"}, "files": [entry()]}).encode()
    assert only(parse_page("foo-bar", URL, "application/json; charset=utf-8", body)).sha256 == SHA


VERSION = st.sampled_from(["1.0", "1.0.post1", "2.0rc1", "1!3+cpu"])
TAG = st.sampled_from(["py3-none-any", "cp312-cp312-win_amd64"])
TIME = st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda m: m.isoformat() + "Z")
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
FILE = st.builds(
    lambda version, tag, time, yanked, size: entry(
        f"foo_bar-{version}-{tag}.whl", yanked=yanked, size=size, **({"upload-time": time} if time else {})
    ),
    VERSION,
    TAG,
    TIME,
    st.booleans() | TEXT,
    st.none() | st.integers(0, 2**40),
)


@given(st.lists(FILE, max_size=4), st.booleans())
def test_a_page_survives_the_cache(files: list[dict[str, Any]], quarantined: bool) -> None:
    page = from_json(*files, **({"project-status": {"status": "quarantined"}} if quarantined else {}))
    head, body = encode_page(page)
    again = decode_page(head, {page.digest: body}.__getitem__)
    assert dict(again.releases) == dict(page.releases)
    assert (again.name, again.quarantined, again.digest, again.newest) == (
        page.name,
        page.quarantined,
        page.digest,
        page.newest,
    )
    assert encode_page(again) == (head, body)


def test_the_body_of_a_cached_page_is_read_once_and_only_when_it_is_looked_into() -> None:
    page = from_json(entry())
    head, body = encode_page(page)
    asked: list[str] = []

    def fetch(digest: str) -> bytes:
        asked.append(digest)
        return body

    again = decode_page(head, fetch)
    assert (again.digest, asked) == (page.digest, [])
    assert list(again.releases) == ["1.0"]
    assert again.releases["1.0"] == page.releases["1.0"]
    assert asked == [page.digest]


def test_a_missing_project_survives_the_cache_and_has_no_body() -> None:
    head, _ = encode_page(Page(name="foo-bar", missing=True))
    again = decode_page(head, dict[str, bytes]().__getitem__)
    assert (again.name, again.missing, dict(again.releases)) == ("foo-bar", True, {})


def test_an_html_page_may_tell_upload_times() -> None:
    text = '<a href="a-1.0-py3-none-any.whl#sha256=00" data-upload-time="2026-05-01T12:00:00Z">a</a>'
    page = parse_page("a", "https://index.example/simple/a/", "text/html", text.encode())
    (file,) = page.releases["1.0"]
    assert file.uploaded == page.newest == datetime(2026, 5, 1, 12, tzinfo=UTC)
