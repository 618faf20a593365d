"""The Cortex-M backend, ahead of time: export, quantize, rewrite in the Cortex-M dialect, write a .pte.

There is no delegate: operators are replaced by those of the dialect `cortex_m`, for which CMSIS-NN
has kernels. They have Python implementations that follow the kernels' integer arithmetic; the
lowered graph is run with these and compared with torch's own quantize-dequantize graph. The kernels
themselves run on a Cortex-M alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from executorch.backends.cortex_m.library import cmsis_nn
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
from executorch.runtime import Runtime

import cortex_m_lowering
import pte
from cases import Case, build_case
from compare import INT_LIMIT, TOO_FAR, assert_agrees, describe
from models import MODELS, Attention, Model

TARGETS = ("cortex-m55", "cortex-m4")

# Which operators of the dialect a model must become, and which stay outside of it: they run on the
# portable kernels.
EXPECTED = {
    "mlp": frozenset({"quantized_linear"}),
    "conv_net": frozenset(
        {
            "quantized_conv2d",
            "quantized_depthwise_conv2d",
            "quantized_add",
            "quantized_max_pool2d",
            "quantized_avg_pool2d",
            "quantized_linear",
        }
    ),
    "attn": frozenset({"quantized_linear", "quantized_batch_matmul", "softmax", "quantized_add"}),
}

# In steps of the output. Each operator is within one step of quantize-dequantize where it gets the same
# inputs (a test below), but a softmax magnifies what the operators before it rounded differently: one
# step of its input is 0.05 here, which moves a probability near 1/2 by 0.05/4, three of its own steps of
# 1/256. 3 steps are what comes out.
LIMITS = {"attn": 4}


@dataclass(frozen=True)
class McuCase:
    """A model lowered for one CPU."""

    case: Case
    target: str

    @property
    def name(self) -> str:
        """How a line of the report begins."""
        return f"cortex_m {self.target:<10} {self.case.model.name:<9}"

    @property
    def limit(self) -> int:
        """The largest error allowed, in steps of the output."""
        return LIMITS.get(self.case.model.name, INT_LIMIT)


def lower_for(model: Model, target: str) -> McuCase:
    """Quantize a model as CMSIS-NN needs it and lower it for a CPU."""
    lower = partial(cortex_m_lowering.lower, target=target)
    return McuCase(build_case(model, lower, CortexMQuantizer(), channels_last=True), target)


@pytest.fixture(
    scope="module",
    params=[(model, target) for target in TARGETS for model in MODELS],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def mcu(request: pytest.FixtureRequest) -> McuCase:
    """Each model for each CPU, lowered once for all tests of this module."""
    return lower_for(*request.param)


def test_the_graph_is_of_the_dialect(mcu: McuCase, report: Callable[..., None]) -> None:
    operators = cortex_m_lowering.operators(mcu.case.program)
    inside = [name for name in operators if name.startswith(cortex_m_lowering.DIALECT)]
    outside = Counter(name for name in operators if not name.startswith(cortex_m_lowering.DIALECT))
    listed = ", ".join(f"{name} {count}" for name, count in sorted(outside.items())) or "none"
    report(
        f"{mcu.name} {len(inside)} operators of the dialect, outside of it: {listed}",
        operators_inside=len(inside),
        operators_outside=outside.total(),
        outside=listed,
    )
    missing = {f"{cortex_m_lowering.DIALECT}{name}.default" for name in EXPECTED[mcu.case.model.name]} - set(inside)
    assert not missing, f"not lowered: {', '.join(sorted(missing))}"


def test_outputs_agree(mcu: McuCase, report: Callable[..., None]) -> None:
    began = time.perf_counter()
    output = cortex_m_lowering.run(mcu.case.program, mcu.case.inputs)
    ran = time.perf_counter() - began
    found, to_eager = mcu.case.compare(output), mcu.case.compare_to_eager(output)
    report(
        f"{mcu.name} {describe(found, to_eager, mcu.limit)}; lowered in {mcu.case.seconds:.1f} s, ran in {ran:.3f} s",
        max_abs_error=found.error,
        max_abs_error_to_eager=to_eager.error,
        step=found.step or 0.0,
        limit_steps=mcu.limit,
        seconds_to_lower=round(mcu.case.seconds, 3),
        seconds_to_run=round(ran, 3),
    )
    assert_agrees(found, mcu.limit)


def test_each_operator_agrees(mcu: McuCase, report: Callable[..., None]) -> None:
    case = mcu.case
    steps = cortex_m_lowering.steps_of_each_operator(case.program, case.module, case.inputs)
    report(
        f"{mcu.name} {len(steps)} operators on the inputs of q-dq: at most {max(steps.values())} steps from it",
        operators_compared=len(steps),
        most_steps_of_an_operator=max(steps.values()),
    )
    compared = {name for name in EXPECTED[case.model.name] if any(name in node for node in steps)}
    assert compared == EXPECTED[case.model.name]
    too_far = {node: error for node, error in steps.items() if error > INT_LIMIT}
    assert not too_far


def test_negated_weights_are_noticed(mcu: McuCase) -> None:
    altered = cortex_m_lowering.negate_weights(mcu.case.program)
    output = cortex_m_lowering.run(altered, mcu.case.inputs)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(mcu.case.compare(output), mcu.limit)
    steps = cortex_m_lowering.steps_of_each_operator(altered, mcu.case.module, mcu.case.inputs)
    assert max(steps.values()) > INT_LIMIT


def test_other_inputs_are_noticed(mcu: McuCase) -> None:
    (other, *_) = mcu.case.model.calibration(batches=1)
    output = cortex_m_lowering.run(mcu.case.program, other)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(mcu.case.compare(output), mcu.limit)


def test_the_program_reserves_what_cmsis_nn_asks_for(mcu: McuCase, report: Callable[..., None]) -> None:
    sizes = cortex_m_lowering.scratch_bytes(mcu.case.program, cortex_m_lowering.backend(mcu.target))
    asked = sum(sizes.values())
    listed = ", ".join(f"{name.removeprefix('cortex_m_')} {size}" for name, size in sizes.items()) or "none needed"
    report(f"{mcu.name} CMSIS-NN working memory, bytes: {listed}", scratch_bytes=asked)
    assert cortex_m_lowering.reserved_bytes(mcu.case.program) == asked


def test_the_pte_asks_for_the_kernels(mcu: McuCase, report: Callable[..., None]) -> None:
    file = pte.write(mcu.case.edge)
    kernels = pte.operators(file)
    report(f"{mcu.name} .pte of {len(file)} bytes, kernels: {', '.join(kernels)}", pte_bytes=len(file))
    missing = {f"cortex_m::{name}.out" for name in EXPECTED[mcu.case.model.name]} - set(kernels)
    assert not missing, f"not in the .pte: {', '.join(sorted(missing))}"
    assert pte.delegates(file) == []


def test_a_product_of_a_layer_with_bias_cannot_be_lowered(report: Callable[..., None]) -> None:
    report(
        "cortex_m: attention whose projections have a bias cannot be lowered. FoldAndAnnotateQParamsPass gives a "
        "linear layer the type of its int32 bias; its product with the int8 softmax is then refused."
    )
    biased = Model("attn_bias", partial(Attention, bias=True), ((2, 12, 32),), frozenset())
    # Where this no longer fails, the limit is gone: Attention may have its biases back.
    with pytest.raises(Exception, match="An error occurred when running") as failure:
        lower_for(biased, TARGETS[0])
    assert "expected scalar type torch.int8 but found torch.int32" in str(failure.value.__cause__)


# As CMSIS-NN's arm_convolve_get_buffer_sizes_s8.c has it. A patch of the input is 3 x 3 x channels values.
@pytest.mark.parametrize(
    ("target", "channels", "expected"),
    [
        ("cortex-m4", 3, 2 * 28 * 2),  # DSP: two patches of 27 values, rounded up to 4, as int16
        ("cortex-m55", 3, 4 * 32),  # MVE: four patches of 27 values, rounded up to 16, as int8
        ("cortex-m4", 9, 2 * 84 * 2),
        ("cortex-m55", 9, 4 * 96),
    ],
)
def test_the_extension_knows_the_working_memory_of_a_convolution(target: str, channels: int, expected: int) -> None:
    found = cmsis_nn.convolve_wrapper_buffer_size(
        cortex_m_lowering.backend(target),
        cmsis_nn.DataType.A8W8,
        input_nhwc=[1, 16, 16, channels],
        filter_nhwc=[8, 3, 3, channels],
        output_nhwc=[1, 14, 14, 8],
        padding_hw=[0, 0],
        stride_hw=[1, 1],
        dilation_hw=[1, 1],
    )
    assert found == expected


@pytest.mark.parametrize(("target", "expected"), [("cortex-m4", 4 * 8), ("cortex-m55", 0)])
def test_the_extension_knows_the_working_memory_of_an_average(target: str, expected: int) -> None:
    # DSP adds up in int32, one sum for each channel; MVE keeps the sums in registers.
    cpu = cortex_m_lowering.backend(target)
    assert cmsis_nn.avgpool_buffer_size(cpu, cmsis_nn.DataType.A8W8, dim_dst_width=3, ch_src=8) == expected


def test_nothing_here_can_run_the_kernels(report: Callable[..., None]) -> None:
    report(
        "cortex_m: CMSIS-NN's kernels were NOT run, but the Python implementations of the same operators. The kernels "
        "need a Cortex-M, or Arm's simulator of one (FVP), which is a separate download under its own licence."
    )
    # Once a runtime can, the .pte should be run.
    names = Runtime.get().operator_registry.operator_names
    assert not [name for name in names if name.startswith("cortex_m::")]


def test_the_extension_is_the_one_in_the_wheel() -> None:
    from executorch.backends.cortex_m.library._cmsis_nn import cmsis_nn as bundled

    assert cmsis_nn.Backend is bundled.Backend
    assert cortex_m_lowering.backend("cortex-m55") is not cortex_m_lowering.backend("cortex-m4")
