"""What the noxfile repeats of lockgrid, because it may not import it."""

from __future__ import annotations

import ast
from pathlib import Path

from lockgrid.adapters import uvconfig

ROOT = Path(__file__).parents[2]


def test_the_sessions_let_the_same_settings_of_uv_through_as_lockgrid() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    found = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NETWORK"
    )
    # Those that name indexes and files reach uv by another way than the environment.
    indexes = {"UV_CONFIG_FILE", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_INDEX_URL", "UV_NO_CONFIG"}
    assert ast.literal_eval(found) == uvconfig._NETWORK_VARIABLES | indexes
