"""A cell as a bill of materials: valid, byte-stable, with hashes, licences and the graph."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from lockgrid.core.render.cyclonedx import Origin, cyclonedx_text, stated_licences
from lockgrid.model.grid import ProvenCell
from lockgrid.model.index import Licence
from unit.builders import CUTOFF, cell, golden, index_file, pin, target

ORIGIN = Origin(lockfile="sha256:" + "0" * 64, cutoff=CUTOFF, lockgrid="0.1.0")
TORCH = index_file("torch-2.0+cpu-cp312-cp312-linux_x86_64.whl")
CELL = cell(
    "app",
    target(),
    pin("a", "1.0"),
    pin("b", "2"),
    pin("torch", "2.0+cpu", TORCH, index="cpu"),
    via={
        "a": ["envs/app.toml", "envs/base.toml", "a[fast]==1.0"],
        "b": ["a==1.0", "a[fast]==1.0"],
        "torch": ["b==2", "envs/app.toml"],
    },
)
LICENCES = {
    CELL.pins[0].file.sha256: Licence(expression="mit or apache-2.0"),
    CELL.pins[1].file.sha256: Licence(classifiers=("License :: OSI Approved :: BSD License",)),
}


def bill(of: ProvenCell = CELL, origin: Origin = ORIGIN) -> str:
    return cyclonedx_text(of, LICENCES, origin, "A summary")


def read(text: str) -> dict[str, Any]:
    """The document, which must meet the schema in every word."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert error is None, error
    document: dict[str, Any] = json.loads(text)
    return document


def test_the_bill_of_a_cell() -> None:
    read(bill())
    golden("bill.json", bill())


def test_every_reference_is_to_something_in_the_bill() -> None:
    document = read(bill())
    refs = [c["bom-ref"] for c in document["components"]] + [document["metadata"]["component"]["bom-ref"]]
    assert len(set(refs)) == len(refs)
    edges = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
    assert sorted(edges) == sorted(refs)
    assert {ref for refs in edges.values() for ref in refs} <= set(refs)


def test_the_graph_is_that_of_the_proof_and_nothing_depends_on_itself() -> None:
    document = read(bill())
    names = {c["bom-ref"]: c["name"] for c in [*document["components"], document["metadata"]["component"]]}
    edges = {names[e["ref"]]: [names[ref] for ref in e["dependsOn"]] for e in document["dependencies"]}
    assert edges == {"app": ["a", "torch"], "a": ["b"], "b": ["torch"], "torch": []}


def test_no_url_of_an_index_is_in_it() -> None:
    assert "index.example" not in bill()


def test_the_serial_number_is_that_of_this_lock_cell_cutoff_and_version() -> None:
    def serial(of: ProvenCell = CELL, origin: Origin = ORIGIN) -> str:
        return str(read(bill(of, origin))["serialNumber"])

    others = [
        serial(replace(CELL, environment="other")),
        serial(replace(CELL, target=target(python="3.11"))),
        serial(origin=replace(ORIGIN, lockfile="sha256:" + "1" * 64)),
        serial(origin=replace(ORIGIN, cutoff=CUTOFF + timedelta(days=1))),
        serial(origin=replace(ORIGIN, lockgrid="0.2.0")),
    ]
    assert len({serial(), *others}) == 6
    assert serial() == serial()


MIT = "License :: OSI Approved :: MIT License"
BSD = "License :: OSI Approved :: BSD License"


@pytest.mark.parametrize(
    ("licence", "stated"),
    [
        (Licence(), []),
        (Licence(text="UNKNOWN"), []),
        (Licence(classifiers=("License :: OSI Approved",)), []),
        (Licence(expression="MIT", text="other", classifiers=(BSD,)), [{"expression": "MIT"}]),
        (Licence(text="bsd-3-clause", classifiers=(BSD,)), [{"expression": "BSD-3-Clause"}]),
        (Licence(text="BSD", classifiers=(BSD,)), [{"license": {"name": "BSD License"}}]),
        (Licence(text="Apache License 2.0"), [{"license": {"name": "Apache License 2.0"}}]),
        (Licence(classifiers=(MIT, BSD, MIT)), [{"license": {"id": "MIT"}}, {"license": {"name": "BSD License"}}]),
        (
            Licence(classifiers=("License :: Other/Proprietary License",)),
            [{"license": {"name": "Other/Proprietary License"}}],
        ),
        (Licence(expression="no such licence!"), [{"license": {"name": "no such licence!"}}]),
    ],
)
def test_what_is_declared_is_stated_and_nothing_is_guessed(licence: Licence, stated: list[dict[str, Any]]) -> None:
    found = stated_licences(licence)
    for entry in found:
        assert entry.get("license", entry).pop("acknowledgement") == "declared"
    assert found == stated


def test_every_classifier_with_an_identifier_has_one_of_the_schema() -> None:
    from lockgrid.core.render import cyclonedx as module

    for name, identifier in module._CLASSIFIED.items():
        licences = {CELL.pins[0].file.sha256: Licence(classifiers=(f"License :: OSI Approved :: {name}",))}
        document = read(cyclonedx_text(CELL, licences, ORIGIN))
        assert document["components"][0]["licenses"][0]["license"]["id"] == identifier
