"""The sessions are imported from the repository's root, as the noxfile does."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
