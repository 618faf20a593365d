"""Which environments' flows a changed file belongs to."""

from __future__ import annotations

import pytest

from lockgrid.core.flows import changed_flows, has_flow

FILES = {
    "tests/flows/test_tosa.py": b"import models\nfrom payload import run\n",
    "tests/flows/test_vgf.py": b"import payload\nSCRIPT = 'driver.sh'\n",
    "tests/flows/models.py": b"import shapes\n",
    "tests/flows/shapes.py": b"",
    "tests/flows/payload.py": b"",
    "tests/flows/driver.sh": b"echo\n",
    "tests/flows/conftest.py": b"",
    "tests/flows/pytest.ini": b"",
}
ALL = ("tosa", "vgf", "dev")


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("test_tosa.py", "tosa"),
        ("test_vgf.py", "vgf"),
        ("models.py", "tosa"),
        ("shapes.py", "tosa"),
        ("payload.py", "tosa vgf"),
        ("driver.sh", "vgf"),
        ("conftest.py", "tosa vgf"),
        ("pytest.ini", "tosa vgf"),
        ("new.py", "tosa vgf"),
        ("data/x.bin", "tosa vgf"),
    ],
)
def test_a_file_belongs_to_the_flows_that_lead_to_it_and_else_to_all(file: str, touched: str) -> None:
    path = f"tests/flows/{file}"
    assert changed_flows(FILES, {**FILES, path: b"\xff changed"}, ALL) == set(touched.split())
    assert changed_flows({**FILES, path: b"\xff changed"}, FILES, ALL) == set(touched.split())


def test_a_file_that_is_gone_belonged_to_who_named_it() -> None:
    new = {path: text for path, text in FILES.items() if not path.endswith("shapes.py")}
    assert changed_flows(FILES, new, ALL) == {"tosa"}


def test_nothing_changed_and_line_endings() -> None:
    assert changed_flows(FILES, FILES, ALL) == set()
    assert changed_flows(FILES, {path: text.replace(b"\n", b"\r\n") for path, text in FILES.items()}, ALL) == set()


def test_without_a_flow_there_is_none_to_change() -> None:
    assert changed_flows({}, {}, ALL) == set()
    assert not has_flow("dev", FILES)
    assert changed_flows({}, FILES, ALL) == {"tosa", "vgf"}
