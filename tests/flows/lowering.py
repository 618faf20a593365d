"""From a module to a program with delegates, and back to numbers. Shared by all backends."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.lowered_backend_module import LoweredBackendModule
from torch import Tensor, fx, nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer

from models import Inputs

# Runs one delegate: its payload and the tensors it is called with, to the tensors it returns.
Execute = Callable[[bytes, Sequence[Tensor]], list[Tensor]]

_CALL_DELEGATE = torch.ops.higher_order.executorch_call_delegate
_QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
_DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"


def quantize(module: nn.Module, inputs: Inputs, quantizer: Quantizer, calibration: Sequence[Inputs]) -> fx.GraphModule:
    """The module with quantize and dequantize operators, still computed by torch in floating point.

    Run eagerly it is the reference for a backend's integer arithmetic.
    """
    # Without guards: they are a call in the graph that the quantizer's own passes stumble over
    # (its decomposition of an average pooling does).
    graph = torch.export.export(module, inputs).module(check_guards=False)
    prepared = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for batch in calibration:
            prepared(*batch)
    converted: fx.GraphModule = convert_pt2e(prepared)
    return converted


def output_step(quantized: fx.GraphModule) -> float:
    """One quantization step of the only output, in the output's own unit."""
    (last,) = quantized.graph.output_node().all_input_nodes
    assert name_of(last) == _DEQUANTIZE, f"the output comes from {name_of(last)}, it is not quantized"
    _, scale, *_ = last.args
    assert isinstance(scale, float), f"scale {scale} is not one number"
    return scale


def lower(module: nn.Module, inputs: Inputs, partitioner: Partitioner) -> EdgeProgramManager:
    """Export a module and hand all that the partitioner accepts to its backend."""
    return to_edge_transform_and_lower(
        torch.export.export(module, inputs),
        partitioner=[partitioner],
        # As upstream lowers for the Arm backends: the check knows the core operators only, and a
        # partitioner may keep others whole.
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )


def delegates(program: ExportedProgram) -> list[LoweredBackendModule]:
    """What is called as a delegate, in the order of the calls."""
    graph_module = program.graph_module
    return [
        getattr(graph_module, node.args[0].target) for node in graph_module.graph.nodes if node.target is _CALL_DELEGATE
    ]


def left_outside(program: ExportedProgram) -> list[str]:
    """The operators that no delegate took, by name, in the order of the graph.

    The quantization of an input and the dequantization of an output do not count: a delegate of
    integer type takes and returns integers, and this is the boundary to the caller's floats.
    """
    return [
        name_of(node)
        for node in program.graph_module.graph.nodes
        if node.op == "call_function"
        and node.target not in (_CALL_DELEGATE, operator.getitem)
        and not _is_boundary(node)
    ]


def run(program: ExportedProgram, inputs: Inputs, execute: Execute) -> Tensor:
    """The only output of a lowered program; `execute` computes what was delegated."""
    with torch.no_grad():
        outputs: tuple[Tensor, ...] = _Runner(program.graph_module, execute).run(*inputs)
    (output,) = outputs
    return output


class _Runner(fx.Interpreter):
    """Runs a graph node by node: a delegate by `execute`, everything else as torch would."""

    def __init__(self, module: fx.GraphModule, execute: Execute) -> None:
        super().__init__(module)
        self._execute = execute

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called by the interpreter for each call in the graph."""
        if target is not _CALL_DELEGATE:
            return super().call_function(target, args, kwargs)
        delegate, *tensors = args
        outputs = self._execute(delegate.processed_bytes, tensors)
        _check_outputs(delegate, outputs)
        return outputs


def _check_outputs(delegate: LoweredBackendModule, outputs: Sequence[Tensor]) -> None:
    """A delegate must return what the graph that it replaced would: number, shapes, types."""
    (nodes,) = delegate.original_module.graph.output_node().args
    expected = [(tuple(node.meta["val"].shape), node.meta["val"].dtype) for node in nodes]
    found = [(tuple(output.shape), output.dtype) for output in outputs]
    assert found == expected, f"the delegate returned {found}, the graph says {expected}"


def name_of(node: fx.Node) -> str:
    """An operator's name without its dialect: `aten.add.Tensor`."""
    target = node.target
    return str(target._op if isinstance(target, EdgeOpOverload) else target)


def _is_boundary(node: fx.Node) -> bool:
    """Whether a node quantizes an input of the program or dequantizes an output of it."""
    if name_of(node) == _QUANTIZE:
        return node.all_input_nodes[0].op == "placeholder"
    return name_of(node) == _DEQUANTIZE and all(user.op == "output" for user in node.users)
