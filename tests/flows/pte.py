"""ExecuTorch's .pte files: write one, and read back what it holds."""

from __future__ import annotations

import copy

from executorch.exir import EdgeProgramManager
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.schema import ExecutionPlan, Program


def write(edge: EdgeProgramManager) -> bytes:
    """The .pte file of a lowered program, which stays as it is: the last passes work on a copy."""
    return bytes(copy.deepcopy(edge).to_executorch().buffer)


def delegates(pte: bytes) -> list[tuple[str, bytes]]:
    """The backend and the payload of each delegate of the only method."""
    program = _program(pte)
    return [
        (delegate.id, bytes(program.backend_delegate_data[delegate.processed.index].data))
        for delegate in _method(program).delegates
    ]


def operators(pte: bytes) -> list[str]:
    """The operators that a runtime must bring along to load the file, sorted: `aten::add.out`."""
    return sorted(f"{operator.name}.{operator.overload}" for operator in _method(_program(pte)).operators)


def _program(pte: bytes) -> Program:
    """The file's description, with the data of delegates moved back into it."""
    return deserialize_pte_binary(pte).program


def _method(program: Program) -> ExecutionPlan:
    """The plan of the only method."""
    (plan,) = program.execution_plan
    return plan
