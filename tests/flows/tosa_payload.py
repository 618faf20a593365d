"""TOSA flatbuffers: look inside, alter, execute. Needs tosa-tools."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
import tosa_reference_model
from torch import Tensor
from tosa.DType import DType
from tosa.Op import Op
from tosa.TosaBasicBlock import TosaBasicBlock
from tosa.TosaGraph import TosaGraph

_OPERATORS = {number: name for name, number in vars(Op).items() if isinstance(number, int)}
_TYPES = {number: name for name, number in vars(DType).items() if isinstance(number, int)}

# What takes the place of an operator that works on floats alone: a function is a table of its 256
# values, a clamp (relu) the range of the integers that a result is rescaled to.
_IN_INTEGERS = {"CLAMP": "RESCALE", "EXP": "TABLE", "RECIPROCAL": "TABLE", "RSQRT": "TABLE"}


def in_integers(operators: Iterable[str]) -> set[str]:
    """What the operators of a graph of profile FP become in profile INT."""
    return {_IN_INTEGERS.get(name, name) for name in operators}


def version(payload: bytes) -> tuple[int, int]:
    """Major and minor version of the specification that the graph is written in."""
    found = TosaGraph.GetRootAs(payload).Version()
    return found._Major(), found._Minor()


def operators(payload: bytes) -> list[str]:
    """The names of the operators, constants left out, in the order of the graph."""
    names = [
        _OPERATORS[block.Operators(index).Op()]
        for block in _blocks(payload)
        for index in range(block.OperatorsLength())
    ]
    return [name for name in names if not name.startswith("CONST")]


def types(payload: bytes) -> set[str]:
    """The element types of all tensors: `FP32`, `INT8`."""
    return {_TYPES[block.Tensors(index).Type()] for block in _blocks(payload) for index in range(block.TensorsLength())}


def negate_weights(payload: bytes) -> bytes:
    """The same graph with the sign of its largest constant turned, a layer's weights.

    The flatbuffer stays well formed on purpose: the reference model does not verify what it
    reads, so a truncated one ends the whole process with a segmentation fault.
    """
    altered = bytearray(payload)
    tensors = [block.Tensors(index) for block in _blocks(altered) for index in range(block.TensorsLength())]
    weights = max(tensors, key=lambda tensor: tensor.DataLength())
    element = {"FP32": np.float32, "INT8": np.int8}[_TYPES[weights.Type()]]
    values = weights.DataAsNumpy().view(element)  # a view into `altered`
    np.negative(values, out=values)
    return bytes(altered)


def execute(payload: bytes, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Run a graph in the reference model; inputs and outputs in the order of the graph.

    It writes to stdout each time that 1.0 is older than the 1.1 of its serializer and still
    understood; no argument turns that off. pytest captures it if it is flushed while the test runs.
    """
    outputs, status = tosa_reference_model.run(payload, [tensor.numpy() for tensor in inputs])
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
    assert status == tosa_reference_model.GraphStatus.TOSA_VALID, f"reference model: {status}"
    return [torch.from_numpy(np.array(output)) for output in outputs]


def _blocks(payload: bytes | bytearray) -> Iterator[TosaBasicBlock]:
    """All basic blocks of all regions."""
    graph = TosaGraph.GetRootAs(payload)
    for index in range(graph.RegionsLength()):
        region = graph.Regions(index)
        for position in range(region.BlocksLength()):
            yield region.Blocks(position)
