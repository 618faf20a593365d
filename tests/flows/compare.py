"""Outputs against a reference: one measure, two limits, one judgement. Torch only, knows of no backend."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Absolute, on outputs of order 1. The float32 sums of a layer taken in another order differ by some
# 1e-6; a wrong operator, layout or weight differs by far more than this.
FP_LIMIT = 1e-5

# Integers and floats may round a value in the middle of two steps to either of them; more than one
# step is not rounding.
INT_LIMIT = 1

# What a comparison says when the outputs are too far off, and only then.
TOO_FAR = "max abs error|steps of"

# A reference that spans fewer steps than this says little: a graph that returns a constant could
# be within a step of it.
_LEAST_SPAN_IN_STEPS = 32

# Steps are counted after dequantization, in float32: 1 step may come out as 1.00001.
_STEP_SLACK = 0.01


@dataclass(frozen=True)
class Distance:
    """How far outputs are from a reference.

    `error` is the largest absolute difference and `span` the reference's maximum minus its
    minimum, both in the output's own unit; `step` is the value of one quantization step of the
    output in that unit, None where nothing is quantized.
    """

    error: float
    span: float
    step: float | None = None

    @property
    def steps(self) -> float:
        """The error in quantization steps."""
        if self.step is None:
            raise ValueError("nothing is quantized here, so there is no step")
        return self.error / self.step


def distance(actual: Tensor, reference: Tensor, step: float | None = None) -> Distance:
    """Measure; shapes and types must be equal already, and every value finite."""
    assert actual.shape == reference.shape, f"shape {actual.shape} is not {reference.shape}"
    assert actual.dtype == reference.dtype, f"type {actual.dtype} is not {reference.dtype}"
    # A NaN would compare as "not larger than the limit" further on.
    assert bool(torch.isfinite(actual).all()), "an output is not finite"
    assert bool(torch.isfinite(reference).all()), "the reference is not finite"
    error = (actual.double() - reference.double()).abs().max()
    return Distance(float(error), float(reference.max() - reference.min()), step)


def assert_close(found: Distance, limit: float) -> None:
    """Fail when the error is larger than `limit`, in the output's own unit."""
    assert found.span > 1000 * limit, f"the reference spans only {found.span:.2g}"
    assert found.error <= limit, f"max abs error {found.error:.3g}, limit {limit:.3g}"


def assert_within_steps(found: Distance, limit: int) -> None:
    """Fail when the error is larger than `limit` quantization steps of the output."""
    assert found.step, "nothing is quantized here, or with a step of 0"
    span = found.span / found.step
    assert span >= _LEAST_SPAN_IN_STEPS, f"the reference spans only {span:.1f} steps"
    assert found.steps <= limit + _STEP_SLACK, f"{found.steps:.2f} steps of {found.step:.4g}, limit {limit}"


def assert_agrees(found: Distance, int_limit: int = INT_LIMIT) -> None:
    """The one judgement, of the tests and of their negative controls: within the limit."""
    if found.step is None:
        assert_close(found, FP_LIMIT)
    else:
        assert_within_steps(found, int_limit)


def describe(found: Distance, to_eager: Distance, int_limit: int = INT_LIMIT) -> str:
    """The figures of a comparison in words; `to_eager` is the same output against eager PyTorch.

    "q-dq" is torch's own quantize-dequantize graph.
    """
    if found.step is None:
        return f"max abs error {found.error:.1e} to eager (limit {FP_LIMIT:.0e})"
    return (
        f"max abs error {found.error:.1e} to q-dq = {found.steps:.0f} steps of {found.step:.4f} "
        f"(limit {int_limit}), {to_eager.error:.1e} to eager"
    )
