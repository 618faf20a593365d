"""The TOSA backend, end to end on this machine's CPU: export, quantize, lower, execute, compare.

FP is compared with eager PyTorch. INT is compared with torch's own quantize-dequantize graph, which
is quantized in the same places but computed in floating point: the difference is then the backend's
arithmetic alone, without the loss that quantization itself costs (which is reported too).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from torch import Tensor, nn

import tosa_payload
from cases import PROFILES, Case, make_case
from compare import TOO_FAR, assert_agrees, describe, distance
from lowering import delegates, left_outside, lower
from models import MODELS, Model


def make_tosa_case(model: Model, profile: str) -> Case:
    """Lower a model for a profile, `FP` or `INT`."""
    spec = TosaCompileSpec(f"TOSA-1.0+{profile}")
    if profile == "FP":
        return make_case(model, TOSAPartitioner(spec))
    quantizer = TOSAQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    return make_case(model, TOSAPartitioner(spec), quantizer)


@pytest.fixture(
    scope="module",
    params=[(model, profile) for model in MODELS for profile in PROFILES],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def case(request: pytest.FixtureRequest) -> Case:
    """Each model with each profile, lowered once for all tests of this module."""
    return make_tosa_case(*request.param)


def test_everything_is_delegated(case: Case) -> None:
    outside = left_outside(case.program)
    assert not outside, f"not delegated: {', '.join(outside)}"
    backends = [delegate.backend_id for delegate in delegates(case.program)]
    assert backends == ["TOSABackend"]


def test_payload_is_the_graph_that_was_asked_for(case: Case) -> None:
    assert tosa_payload.version(case.payload) == (1, 0)
    needed = case.model.tosa if case.profile == "FP" else tosa_payload.in_integers(case.model.tosa)
    missing = needed - set(tosa_payload.operators(case.payload))
    assert not missing, f"not in the TOSA graph: {', '.join(sorted(missing))}"
    floats = {name for name in tosa_payload.types(case.payload) if "FP" in name or "BF" in name}
    assert floats == (set() if case.profile == "INT" else {"FP32"})


def test_outputs_agree(case: Case, report: Callable[..., None]) -> None:
    began = time.perf_counter()
    output = case.output(tosa_payload.execute)
    ran = time.perf_counter() - began
    found = case.compare(output)
    to_eager = case.compare_to_eager(output)
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
    output = case.output(tosa_payload.execute, tosa_payload.negate_weights(case.payload))
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(case.compare(output))


def test_other_inputs_are_noticed(case: Case) -> None:
    (other, *_) = case.model.calibration(batches=1)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(case.compare(case.output(tosa_payload.execute, inputs=other)))


def test_operators_that_tosa_cannot_take_are_listed() -> None:
    class Sorted(nn.Module):
        """A linear layer, which TOSA has, and a sort, which it has not."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return torch.sort(self.linear(x)).values

    spec = TosaCompileSpec("TOSA-1.0+FP")
    program = lower(Sorted().eval(), (torch.zeros(1, 4),), TOSAPartitioner(spec)).exported_program()
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
