"""The TOSA backend, end to end on this machine's CPU: export, quantize, lower, execute, compare.

FP is compared with eager PyTorch. INT is compared with torch's own quantize-dequantize graph, which
is quantized in the same places but computed in floating point: the difference is then the backend's
arithmetic alone, without the loss that quantization itself costs (which is reported too).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from torch import Tensor, nn
from torch.export import ExportedProgram

import tosa_payload
from compare import Distance, assert_close, assert_within_steps, distance
from lowering import delegates, left_outside, lower, output_step, quantize, run
from models import MODELS, Inputs, Model

PROFILES = ("FP", "INT")

# Absolute, on outputs of order 1. The float32 sums of a layer taken in another order differ by some
# 1e-6; a wrong operator, layout or weight differs by far more than this.
FP_LIMIT = 1e-5

# Integers and floats may round a value in the middle of two steps to either of them; more than one
# step is not rounding. These models come out equal, 0 steps.
INT_LIMIT = 1

# What a comparison says when the outputs are too far off, and only then.
TOO_FAR = "max abs error|steps of"


@dataclass(frozen=True)
class Case:
    """A model lowered for one profile, with all that the tests ask about."""

    model: Model
    profile: str
    program: ExportedProgram
    inputs: Inputs
    eager: Tensor  # the model's own output
    reference: Tensor  # what TOSA has to reproduce
    step: float | None  # of the output, in its own unit; None for FP
    seconds: float  # to export, quantize and lower

    @property
    def payload(self) -> bytes:
        """The TOSA flatbuffer of the only delegate."""
        (delegate,) = delegates(self.program)
        return bytes(delegate.processed_bytes)

    def output(self, payload: bytes, inputs: Inputs) -> Tensor:
        """What the program returns for these inputs when its delegate is this flatbuffer."""
        return run(self.program, inputs, lambda _, tensors: tosa_payload.execute(payload, tensors))

    def compare(self, output: Tensor) -> Distance:
        """The distance of an output to the reference of this case."""
        return distance(output, self.reference, self.step)


def assert_agrees(found: Distance) -> None:
    """The one judgement, of the tests and of their negative controls: within the limit."""
    if found.step is None:
        assert_close(found, FP_LIMIT)
    else:
        assert_within_steps(found, INT_LIMIT)


def make_case(model: Model, profile: str) -> Case:
    """Lower a model for a profile, `FP` or `INT`."""
    began = time.perf_counter()
    module, inputs, step = model.module(), model.inputs(), None
    spec = TosaCompileSpec(f"TOSA-1.0+{profile}")
    with torch.no_grad():
        eager = reference = module(*inputs)
    if profile == "INT":
        quantizer = TOSAQuantizer(spec)
        quantizer.set_global(get_symmetric_quantization_config())
        module = quantize(module, inputs, quantizer, model.calibration())
        step = output_step(module)
        with torch.no_grad():
            reference = module(*inputs)
    program = lower(module, inputs, TOSAPartitioner(spec))
    seconds = time.perf_counter() - began
    return Case(model, profile, program, inputs, eager, reference, step, seconds)


@pytest.fixture(
    scope="module",
    params=[(model, profile) for model in MODELS for profile in PROFILES],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def case(request: pytest.FixtureRequest) -> Case:
    """Each model with each profile, lowered once for all tests of this module."""
    return make_case(*request.param)


def test_everything_is_delegated(case: Case) -> None:
    outside = left_outside(case.program)
    assert not outside, f"not delegated: {', '.join(outside)}"
    backends = [delegate.backend_id for delegate in delegates(case.program)]
    assert backends == ["TOSABackend"]


def test_payload_is_the_graph_that_was_asked_for(case: Case) -> None:
    assert tosa_payload.version(case.payload) == (1, 0)
    missing = case.model.tosa - set(tosa_payload.operators(case.payload))
    assert not missing, f"not in the TOSA graph: {', '.join(sorted(missing))}"
    floats = {name for name in tosa_payload.types(case.payload) if "FP" in name or "BF" in name}
    assert floats == (set() if case.profile == "INT" else {"FP32"})


def test_outputs_agree(case: Case, report: Callable[..., None]) -> None:
    began = time.perf_counter()
    output = case.output(case.payload, case.inputs)
    ran = time.perf_counter() - began
    found = case.compare(output)
    to_eager = distance(output, case.eager, case.step)
    report(
        f"tosa {case.model.name:<9}{case.profile:<4} {describe(found, to_eager)}; "
        f"lowered in {case.seconds:.1f} s, ran in {ran:.3f} s, {len(case.payload)} bytes of TOSA",
        max_abs_error=found.error,
        max_abs_error_to_eager=to_eager.error,
        step=case.step or 0.0,
        seconds_to_lower=round(case.seconds, 3),
        seconds_to_run=round(ran, 3),
        flatbuffer_bytes=len(case.payload),
    )
    assert_agrees(found)


def test_negated_weights_are_noticed(case: Case) -> None:
    output = case.output(tosa_payload.negate_weights(case.payload), case.inputs)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(case.compare(output))


def test_other_inputs_are_noticed(case: Case) -> None:
    (other, *_) = case.model.calibration(batches=1)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(case.compare(case.output(case.payload, other)))


def test_operators_that_tosa_cannot_take_are_listed() -> None:
    class Sorted(nn.Module):
        """A linear layer, which TOSA has, and a sort, which it has not."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return torch.sort(self.linear(x)).values

    spec = TosaCompileSpec("TOSA-1.0+FP")
    program = lower(Sorted().eval(), (torch.zeros(1, 4),), TOSAPartitioner(spec))
    assert left_outside(program) == ["aten.sort.default"]
    assert len(delegates(program)) == 1


@pytest.mark.parametrize(("steps", "passes"), [(0, True), (1, True), (2, False)])
def test_the_limit_of_int_is_between_one_step_and_two(steps: int, passes: bool) -> None:
    reference = torch.arange(-128.0, 128.0) * 0.1
    output = reference.clone()
    output[7] += steps * 0.1
    found = distance(output, reference, step=0.1)
    if passes:
        assert_agrees(found)
    else:
        with pytest.raises(AssertionError, match=TOO_FAR):
            assert_agrees(found)


def describe(found: Distance, to_eager: Distance) -> str:
    """The figures of a comparison in words; `to_eager` is the same output against eager PyTorch.

    "q-dq" is torch's own quantize-dequantize graph.
    """
    if found.step is None:
        return f"max abs error {found.error:.1e} to eager (limit {FP_LIMIT:.0e})"
    return (
        f"max abs error {found.error:.1e} to q-dq = {found.steps:.0f} steps of {found.step:.4f} "
        f"(limit {INT_LIMIT}), {to_eager.error:.1e} to eager"
    )
