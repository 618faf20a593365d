"""What uv answered is held to ``[sources]``, whatever version of uv it was."""

from __future__ import annotations

import pytest

from lockgrid.commands.prove import _check_origins
from lockgrid.core.select import Selection
from lockgrid.errors import ToolError
from unit.builders import environment, pin, target

APP = environment("a", sources={"a@linux-x86_64": "cpu"})


def test_every_package_comes_from_its_index() -> None:
    _check_origins(APP, target(), Selection(pins=(pin("a", "1.0", index="cpu"), pin("b", "1.0"))))


@pytest.mark.parametrize(
    ("name", "index", "said"),
    [
        ("a", "", "uv took a==1.0 from another index, and [sources] says the index cpu"),
        ("a", "gpu", "uv took a==1.0 from the index gpu, and [sources] says the index cpu"),
        ("b", "cpu", "uv took b==1.0 from the index cpu, and [sources] says another index"),
    ],
)
def test_a_package_from_elsewhere_stops_the_run(name: str, index: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        _check_origins(APP, target(), Selection(pins=(pin(name, "1.0", index=index),)))
    assert (caught.value.what, caught.value.where) == (said, "envs/app.toml, linux-x86_64, Python 3.12")
