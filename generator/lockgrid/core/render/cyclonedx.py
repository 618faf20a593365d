"""A cell as a bill of materials: CycloneDX 1.6 in JSON (ECMA-424), the same bytes for the same lock."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid5

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from lockgrid.core.resolution import timestamp
from lockgrid.model.grid import Pin, ProvenCell
from lockgrid.model.index import Licence

_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
# The classifiers that mean one licence of SPDX's list and no other; "BSD License" may be any of several.
_CLASSIFIED = {
    "CMU License (MIT-CMU)": "MIT-CMU",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a bill comes from: the digest of its lockfile, the grid's cut-off, and lockgrid's version."""

    lockfile: str
    cutoff: datetime
    lockgrid: str


def cyclonedx_text(cell: ProvenCell, licences: Mapping[str, Licence], origin: Origin, summary: str = "") -> str:
    """The bill of a cell whose ``via`` says who asks for what; ``licences`` by the sha256 of the files.

    No URL of an index is in it. The serial number (RFC 9562, version 5) and the time follow from ``origin``.
    """
    root = f"{cell.environment}@{cell.target.platform.name}-{cell.target.python}"
    names = (cell.environment, cell.target.platform.name, cell.target.python)
    moment = timestamp(origin.cutoff)
    serial = uuid5(NAMESPACE_OID, " ".join(["lockgrid", origin.lockgrid, origin.lockfile, moment, *names]))
    value = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "tools": {"components": [{"type": "application", "name": "lockgrid", "version": origin.lockgrid}]},
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": cell.environment,
                **({"description": summary} if summary else {}),
            },
            "properties": [
                {"name": "lockgrid:lockfile", "value": origin.lockfile},
                {"name": "lockgrid:platform", "value": cell.target.platform.label},
                {"name": "lockgrid:python", "value": cell.target.python},
            ],
        },
        "components": [_component(pin, licences.get(pin.file.sha256, Licence())) for pin in cell.pins],
        "dependencies": list(_dependencies(cell, root)),
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _component(pin: Pin, licence: Licence) -> dict[str, Any]:
    licences = stated_licences(licence)
    return {
        "type": "library",
        "bom-ref": _purl(pin),
        "name": pin.name,
        "version": pin.version,
        "hashes": [{"alg": "SHA-256", "content": pin.file.sha256}],
        **({"licenses": licences} if licences else {}),
        "purl": _purl(pin),
        **({"properties": [{"name": "lockgrid:index", "value": pin.index}]} if pin.index else {}),
    }


def _purl(pin: Pin) -> str:
    """The package URL of the one file that the cell installs."""
    return f"pkg:pypi/{pin.name}@{quote(pin.version, safe='')}?file_name={quote(pin.file.filename, safe='')}"


def _dependencies(cell: ProvenCell, root: str) -> Iterator[dict[str, Any]]:
    """Who asks for whom: the environment, then each pin. A package that asks for an extra of its own is no edge."""
    refs = {pin.name: _purl(pin) for pin in cell.pins}
    asked: dict[str, list[str]] = {}
    for name, askers in cell.via:
        for asker in dict.fromkeys(_asker(label, refs) for label in askers):
            if asker != name:
                asked.setdefault(asker, []).append(refs[name])
    yield {"ref": root, "dependsOn": sorted(asked.get("", ()))}
    for name, ref in refs.items():
        yield {"ref": ref, "dependsOn": sorted(asked.get(name, ()))}


def _asker(label: str, known: Collection[str]) -> str:
    """The name in ``name[extra]==version``; nothing for a file of ``envs/``, which asks for the environment."""
    name = label.partition("==")[0].partition("[")[0]
    return name if name in known else ""


def stated_licences(licence: Licence) -> list[dict[str, Any]]:
    """What a distribution declares, in CycloneDX's words; nothing where it declares nothing.

    An SPDX expression where there is one, be it in the older field; else what the classifiers name; else the older
    field as a name. Nothing is guessed: "BSD" stays "BSD".
    """
    for text in (licence.expression, licence.text):
        if expression := _spdx(text):
            return [{"expression": expression, "acknowledgement": "declared"}]
    named = [c.rpartition(" :: ")[2] for c in licence.classifiers if c.count(" :: ") > 1 or "OSI" not in c]
    if not named and licence.text.upper() not in ("", "UNKNOWN"):
        named = [licence.text]
    if not named and licence.expression:
        named = [licence.expression]
    return [{"license": {**_named(name), "acknowledgement": "declared"}} for name in dict.fromkeys(named)]


def _named(name: str) -> dict[str, str]:
    return {"id": _CLASSIFIED[name]} if name in _CLASSIFIED else {"name": name}


def _spdx(text: str) -> str:
    try:
        return canonicalize_license_expression(text) if text else ""
    except InvalidLicenseExpression:
        return ""
