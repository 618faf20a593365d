"""Cortex-M programs: lower a quantized graph, run it, ask what became of each operator. Needs the Cortex-M backend."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
from executorch.backends.cortex_m.library import cmsis_nn
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.backends.cortex_m.passes.scratch_buffer_sizes import required_cmsis_nn_buffer_sizes
from executorch.backends.cortex_m.target_config import CortexMTargetConfig
from executorch.exir import EdgeProgramManager, to_edge
from executorch.exir.memory import alloc
from torch import Tensor, fx, nn
from torch.export import ExportedProgram

from lowering import name_of
from models import Inputs

DIALECT = "cortex_m."
_QUANTIZE = "quantize_per_tensor"


def lower(quantized: nn.Module, inputs: Inputs, target: str) -> EdgeProgramManager:
    """Rewrite a quantized graph in the Cortex-M dialect, for a CPU such as `cortex-m55`."""
    compile_config = cortex_m_edge_compile_config()
    edge = to_edge(torch.export.export(quantized, inputs), compile_config=compile_config)
    passes = CortexMPassManager(edge.exported_program(), target_config=CortexMTargetConfig.from_target_string(target))
    return EdgeProgramManager(passes.transform(), None, compile_config)


def backend(target: str) -> cmsis_nn.Backend:
    """The instructions that CMSIS-NN uses on a CPU: MVE, DSP or none of them."""
    return CortexMTargetConfig.from_target_string(target).backend


def operators(program: ExportedProgram) -> list[str]:
    """The operators in the order of the graph, `cortex_m.quantized_add.default`. Reserved memory does not count."""
    return [name_of(node) for node in _calls(program.graph_module)]


def scratch_bytes(program: ExportedProgram, cpu: cmsis_nn.Backend) -> dict[str, int]:
    """What CMSIS-NN asks for as working memory, in bytes, by the name of the node that needs it."""
    sizes = {node.name: required_cmsis_nn_buffer_sizes(node, cpu) for node in _calls(program.graph_module)}
    return {name: sum(size) for name, size in sizes.items() if size is not None}


def reserved_bytes(program: ExportedProgram) -> int:
    """The working memory that the program reserves, in bytes."""
    return sum(
        node.meta["val"].numel() * node.meta["val"].element_size()
        for node in program.graph_module.graph.nodes
        if node.target is alloc
    )


def run(program: ExportedProgram, inputs: Inputs) -> Tensor:
    """The only output, each operator of the dialect computed by its Python implementation."""
    with torch.no_grad():
        output: Tensor = program.module(check_guards=False)(*inputs)
    return output


def negate_weights(program: ExportedProgram) -> ExportedProgram:
    """The same program with the sign of its largest int8 constant turned, a layer's weights."""
    altered = copy.deepcopy(program)
    stored = [*altered.state_dict.values(), *altered.constants.values()]
    weights = max((t for t in stored if isinstance(t, Tensor) and t.dtype == torch.int8), key=Tensor.numel)
    with torch.no_grad():
        weights.neg_()
    return altered


def steps_of_each_operator(program: ExportedProgram, quantized: nn.Module, inputs: Inputs) -> dict[str, int]:
    """How far each operator of the dialect is from quantize-dequantize, in steps, when it gets the very same inputs.

    The output of each operator is compared and then replaced by the reference's, so that what one
    operator rounds differently does not become the next one's error. Operators that only move values
    (a pad, a transpose that a kernel asks for) stand for no node of the reference and are left out.
    """
    reference = _Recorder(torch.export.export(quantized, inputs).module(check_guards=False))
    origins = {
        node.name: node.meta["from_node"][0].name for node in _calls(program.graph_module) if _has_counterpart(node)
    }
    with torch.no_grad():
        reference.run(*inputs)
        integers = reference.integers()
        expected = {name: integers[origin] for name, origin in origins.items()}
        replay = _Replay(program.module(check_guards=False), expected)
        replay.run(*inputs)
    assert replay.steps.keys() == expected.keys(), "not every operator was compared"
    return replay.steps


def _has_counterpart(node: fx.Node) -> bool:
    """Whether a node of the dialect returns integers that a node of the reference stands for."""
    value = node.meta["val"]
    is_integer = isinstance(value, Tensor) and value.dtype == torch.int8
    return is_integer and name_of(node).startswith(DIALECT) and bool(node.meta.get("from_node"))


class _Recorder(fx.Interpreter):
    """Runs a quantize-dequantize graph and keeps every value."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)

    def integers(self) -> dict[str, Tensor]:
        """The integers that an operator's result becomes, by the name of the operator's node."""
        found: dict[str, Tensor] = {}
        for node in self.module.graph.nodes:
            if not node.name.startswith(_QUANTIZE):
                continue
            found[node.name] = self.env[node]
            source = node.all_input_nodes[0]
            # A relu that is folded into the operator before it.
            while source.op == "call_function" and source.name not in found:
                found[source.name] = self.env[node]
                if "relu" not in source.name:
                    break
                source = source.all_input_nodes[0]
        return found


class _Replay(fx.Interpreter):
    """Runs a lowered graph on the reference's intermediate values, by the name of the node."""

    def __init__(self, module: fx.GraphModule, expected: Mapping[str, Tensor]) -> None:
        super().__init__(module)
        self._expected = expected
        self.steps: dict[str, int] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Called by the interpreter for each node."""
        result = super().run_node(n)
        if n.name not in self._expected:
            return result
        expected = self._expected[n.name]
        self.steps[n.name] = int((result.int() - expected.int()).abs().max())
        return expected


def _calls(module: fx.GraphModule) -> Iterator[fx.Node]:
    """The nodes that compute something."""
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not alloc and node.target is not operator.getitem:
            yield node
