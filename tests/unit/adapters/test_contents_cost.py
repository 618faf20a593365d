"""Hostile texts inside wheels: small archives that must not cost a gigabyte, or hours."""

from __future__ import annotations

import time
import tracemalloc
import zipfile
from io import BytesIO

import pytest

from lockgrid.adapters.contents import read_contents
from lockgrid.model.contents import Contents

NAME, INFO = "a-1.0-py3-none-any.whl", "a-1.0.dist-info"
MEGABYTE = 1024**2


class Bytes:
    """A byte source in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.bytes_read = 0

    def read(self, start: int, end: int) -> bytes:
        self.bytes_read += end - start
        return self.data[start:end]


def read(**info: str) -> Contents:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", "")
        for name, text in info.items():
            archive.writestr(f"{INFO}/{name.replace('_txt', '.txt')}", text)
    return read_contents(NAME, Bytes(buffer.getvalue()))


@pytest.mark.parametrize("line", ["\n", ",,\n", "a\n", "a,\n"])
def test_a_record_of_many_short_lines_takes_no_more_memory_than_a_few_times_its_size(line: str) -> None:
    """16 kB of archive must not become a gigabyte of rows; sixteen such wheels are read at once."""
    text = line * (2 * MEGABYTE // len(line))
    tracemalloc.start()
    try:
        read(RECORD=text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(text)


def test_entry_points_of_many_spaces_are_read_in_time_that_grows_with_their_length() -> None:
    """configparser's expression tries each split of the spaces: a megabyte would take hours, and hold the GIL."""
    seconds = []
    for length in (4_000, 16_000):
        begin = time.perf_counter()
        read(RECORD="a.py,,\n", entry_points_txt="[console_scripts]\na" + " " * length + "b\n")
        seconds.append(time.perf_counter() - begin)
    assert seconds[1] < 8 * max(seconds[0], 0.01)


def test_base64_padding_is_no_other_hash() -> None:
    plain, padded = (read(RECORD=f"a.py,sha256={'A' * 43}{end},0\n") for end in ("", "="))
    assert plain.members[0].sha256 == padded.members[0].sha256
