"""A model made ready for one backend and profile, with the references to compare with. Knows of no backend."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from executorch.exir import EdgeProgramManager
from executorch.exir.backend.partitioner import Partitioner
from torch import Tensor, nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantizer import Quantizer

from compare import Distance, distance
from lowering import Execute, delegates, lower, output_step, quantize, run
from models import Inputs, Model

PROFILES = ("FP", "INT")

# Lowers a module for the inputs that it is exported with.
Lower = Callable[[nn.Module, Inputs], EdgeProgramManager]


@dataclass(frozen=True)
class Case:
    """A model lowered for one profile, with all that the tests ask about."""

    model: Model
    profile: str
    module: nn.Module  # what was lowered: the model itself, or its quantize-dequantize graph
    edge: EdgeProgramManager  # the lowered program, as it goes into a .pte
    inputs: Inputs
    eager: Tensor  # the model's own output
    reference: Tensor  # what the backend has to reproduce
    step: float | None  # of the output, in its own unit; None for FP
    seconds: float  # to export, quantize and lower

    @property
    def program(self) -> ExportedProgram:
        """The lowered program's only method."""
        program: ExportedProgram = self.edge.exported_program()
        return program

    @property
    def payload(self) -> bytes:
        """What the only delegate holds."""
        (delegate,) = delegates(self.program)
        return bytes(delegate.processed_bytes)

    def output(self, execute: Execute, payload: bytes | None = None, inputs: Inputs | None = None) -> Tensor:
        """What the program returns when `execute` computes its delegates.

        `payload` takes the place of what each delegate holds, `inputs` that of the case's own.
        """
        return run(
            self.program,
            self.inputs if inputs is None else inputs,
            lambda own, tensors: execute(own if payload is None else payload, tensors),
        )

    def compare(self, output: Tensor) -> Distance:
        """The distance of an output to the reference of this case."""
        return distance(output, self.reference, self.step)

    def compare_to_eager(self, output: Tensor) -> Distance:
        """The distance of an output to the unquantized model's."""
        return distance(output, self.eager, self.step)


def make_case(model: Model, partitioner: Partitioner, quantizer: Quantizer | None = None) -> Case:
    """Lower a model to delegates: as it is, profile FP, or as `quantizer` makes it, profile INT."""
    return build_case(model, partial(lower, partitioner=partitioner), quantizer)


def build_case(model: Model, lower_it: Lower, quantizer: Quantizer | None, *, channels_last: bool = False) -> Case:
    """Lower a model by a function that takes the module, quantized or not, and its inputs.

    `channels_last` lays images out as a backend may want them; what they mean stays the same.
    """

    def lay_out(inputs: Inputs) -> Inputs:
        if not channels_last:
            return inputs
        return tuple(x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in inputs)

    began = time.perf_counter()
    module, inputs, step = model.module(), lay_out(model.inputs()), None
    with torch.no_grad():
        eager = reference = module(*inputs)
    if quantizer is not None:
        module = quantize(module, inputs, quantizer, [lay_out(batch) for batch in model.calibration()])
        step = output_step(module)
        with torch.no_grad():
            reference = module(*inputs)
    edge = lower_it(module, inputs)
    seconds = time.perf_counter() - began
    profile = "FP" if quantizer is None else "INT"
    return Case(model, profile, module, edge, inputs, eager, reference, step, seconds)
