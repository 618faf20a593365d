"""A model made ready for one backend and profile, with the references to compare with. Knows of no backend."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from executorch.exir.backend.partitioner import Partitioner
from torch import Tensor, nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantizer import Quantizer

from compare import Distance, distance
from lowering import Execute, delegates, lower, output_step, quantize, run
from models import Inputs, Model

PROFILES = ("FP", "INT")


@dataclass(frozen=True)
class Case:
    """A model lowered for one profile, with all that the tests ask about."""

    model: Model
    profile: str
    module: nn.Module  # what was lowered: the model itself, or its quantize-dequantize graph
    program: ExportedProgram
    inputs: Inputs
    eager: Tensor  # the model's own output
    reference: Tensor  # what the backend has to reproduce
    step: float | None  # of the output, in its own unit; None for FP
    seconds: float  # to export, quantize and lower

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
    """Lower a model: as it is, profile FP, or as `quantizer` makes it, profile INT."""
    began = time.perf_counter()
    module, inputs, step = model.module(), model.inputs(), None
    with torch.no_grad():
        eager = reference = module(*inputs)
    if quantizer is not None:
        module = quantize(module, inputs, quantizer, model.calibration())
        step = output_step(module)
        with torch.no_grad():
            reference = module(*inputs)
    program = lower(module, inputs, partitioner)
    seconds = time.perf_counter() - began
    profile = "FP" if quantizer is None else "INT"
    return Case(model, profile, module, program, inputs, eager, reference, step, seconds)
