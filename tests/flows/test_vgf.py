"""The VGF backend, end to end on this machine's CPU: export, quantize, lower, convert, execute, compare.

The payload inside the .pte is executed by Arm's scenario runner, with the ML extensions for Vulkan
emulated over Mesa's lavapipe. Where there is no Vulkan loader or no such driver, what happens ahead
of time is tested all the same, and the execution is reported as not run: skipped, or with
`--require-all` (or LOCKGRID_FLOWS_REQUIRE_ALL=1) failed.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

import pytest
import torch
from executorch.backends.arm.quantizer import VgfQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

import pte
import tosa_payload
import vgf_payload
import vulkan as vulkan_setup
from cases import PROFILES, Case, make_case
from compare import FP_LIMIT, TOO_FAR, assert_agrees, assert_close, describe, distance
from lowering import left_outside
from mobilenet import MobileNet
from models import MODELS, Model
from vulkan import NotHereError, RunError, Vulkan

FORMATS = {"FP": "VK_FORMAT_R32_SFLOAT", "INT": "VK_FORMAT_R8_SINT"}

# Side 224 as on ImageNet; 6.1 million weights, 24 MB in float32.
LARGE = Model("mobilenet", MobileNet, ((1, 3, 224, 224),), frozenset({"CONV2D", "DEPTHWISE_CONV2D", "ADD"}))


@dataclass(frozen=True)
class Lowered:
    """A case with its .pte file, and the payload of the only delegate in that file."""

    case: Case
    file: bytes  # the .pte
    backend: str
    payload: bytes


def lower_to_pte(model: Model, profile: str) -> Lowered:
    """Lower a model for a profile, `FP` or `INT`."""
    spec = VgfCompileSpec(f"TOSA-1.0+{profile}")
    quantizer = None
    if profile == "INT":
        quantizer = VgfQuantizer(spec)
        quantizer.set_global(get_symmetric_quantization_config())
    case = make_case(model, VgfPartitioner(spec), quantizer)
    file = pte.write(case.edge)
    ((backend, payload),) = pte.delegates(file)
    return Lowered(case, file, backend, payload)


@pytest.fixture(scope="module")
def _converter() -> None:
    message = ""
    try:
        vgf_payload.require_converter()
    except vgf_payload.ConverterError as error:
        message = str(error)
    if message:  # outside the except, else pytest prints it twice
        pytest.fail(message, pytrace=False)


@pytest.fixture(
    scope="module",
    params=[(model, profile) for model in MODELS for profile in PROFILES],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def lowered(request: pytest.FixtureRequest, _converter: None) -> Lowered:
    """Each model with each profile, lowered once for all tests of this module."""
    return lower_to_pte(*request.param)


@pytest.fixture(scope="module")
def machine() -> Iterator[Vulkan | NotHereError]:
    """What this machine executes with, or why it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        yield vulkan_or_why_not(Path(folder))


def vulkan_or_why_not(folder: Path) -> Vulkan | NotHereError:
    """The error as a value: it decides on many tests."""
    try:
        return vulkan_setup.find(folder)
    except NotHereError as error:
        return error


class Options(Protocol):
    """What is asked of pytest's configuration."""

    def getoption(self, name: str, default: object) -> object: ...


def required(config: Options) -> bool:
    """Whether a flow that cannot be executed here is a failure."""
    asked = bool(config.getoption("--require-all", default=False))
    return asked or os.environ.get("LOCKGRID_FLOWS_REQUIRE_ALL", "") not in ("", "0")


def not_run(error: NotHereError, config: Options, *, brief: bool = False) -> NoReturn:
    """End a test that cannot be run here: failed where everything is required, else skipped.

    `brief` leaves out what to do about it: once is enough in a report.
    """
    if required(config):
        pytest.fail(f"vgf execution NOT RUN: {error}", pytrace=False)
    pytest.skip(f"vgf execution NOT RUN: {error.lack if brief else error}")


@pytest.fixture
def vulkan(machine: Vulkan | NotHereError, request: pytest.FixtureRequest) -> Vulkan:
    """Vulkan on the CPU; without it the test is not run."""
    if isinstance(machine, NotHereError):
        not_run(machine, request.config, brief=True)
    return machine


def test_this_machine_can_execute(
    machine: Vulkan | NotHereError, request: pytest.FixtureRequest, report: Callable[..., None]
) -> None:
    if isinstance(machine, NotHereError):
        report(f"vgf execution NOT RUN: {machine}", execution="not run")
        not_run(machine, request.config)
    report(f"vgf executes with {machine.driver}", execution="run", driver=str(machine.driver))


def test_everything_is_delegated(lowered: Lowered) -> None:
    outside = left_outside(lowered.case.program)
    assert not outside, f"not delegated: {', '.join(outside)}"
    assert lowered.backend == "VgfBackend"


def test_pte_holds_the_vgf_that_lowering_made(lowered: Lowered) -> None:
    assert lowered.payload[:4] == vgf_payload.MAGIC
    assert lowered.payload == lowered.case.payload
    assert lowered.payload in lowered.file


def test_payload_is_the_graph_that_was_asked_for(lowered: Lowered) -> None:
    model = lowered.case.model
    needed = model.tosa if lowered.case.profile == "FP" else tosa_payload.in_integers(model.tosa)
    missing = needed - set(vgf_payload.operators(lowered.payload))
    assert not missing, f"not in the VGF's graph: {', '.join(sorted(missing))}"
    formats = vgf_payload.formats(lowered.payload)
    assert FORMATS[lowered.case.profile] in formats
    floats = {name for name in formats if "FLOAT" in name}
    assert floats == (set() if lowered.case.profile == "INT" else {"VK_FORMAT_R32_SFLOAT"})


def test_outputs_agree(lowered: Lowered, vulkan: Vulkan, report: Callable[..., None]) -> None:
    case = lowered.case
    began = time.perf_counter()
    output = case.output(partial(vgf_payload.execute, vulkan=vulkan), lowered.payload)
    ran = time.perf_counter() - began
    found, to_eager = case.compare(output), case.compare_to_eager(output)
    report(
        f"vgf {case.model.name:<10}{case.profile:<4}{describe(found, to_eager)}; "
        f"lowered in {case.seconds:.1f} s, ran in {ran:.1f} s, {len(lowered.payload)} bytes of VGF",
        max_abs_error=found.error,
        max_abs_error_to_eager=to_eager.error,
        step=case.step or 0.0,
        seconds_to_lower=round(case.seconds, 3),
        seconds_to_run=round(ran, 3),
        payload_bytes=len(lowered.payload),
        pte_bytes=len(lowered.file),
    )
    assert_agrees(found)


def test_a_damaged_payload_is_noticed(lowered: Lowered, vulkan: Vulkan) -> None:
    damaged = vgf_payload.damage(lowered.payload)
    assert damaged != lowered.payload
    output = lowered.case.output(partial(vgf_payload.execute, vulkan=vulkan), damaged)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(lowered.case.compare(output))


def test_other_inputs_are_noticed(lowered: Lowered, vulkan: Vulkan) -> None:
    (other, *_) = lowered.case.model.calibration(batches=1)
    output = lowered.case.output(partial(vgf_payload.execute, vulkan=vulkan), lowered.payload, other)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(lowered.case.compare(output))


def test_the_wrong_layer_order_is_named(lowered: Lowered, vulkan: Vulkan) -> None:
    execute = partial(vgf_payload.execute, vulkan=vulkan.reversed())
    with pytest.raises(RunError, match=r"wrong order: .* Graph must come before Tensor"):
        lowered.case.output(execute, lowered.payload)


def test_half_a_payload_is_an_error(lowered: Lowered, vulkan: Vulkan) -> None:
    half = lowered.payload[: len(lowered.payload) // 2]
    with pytest.raises(RunError, match="vgf_dump ended with exit code"):
        lowered.case.output(partial(vgf_payload.execute, vulkan=vulkan), half)


@pytest.mark.parametrize(
    ("option", "variable", "outcome"),
    [
        (False, "", pytest.skip.Exception),
        (False, "0", pytest.skip.Exception),
        (False, "1", pytest.fail.Exception),
        (True, "", pytest.fail.Exception),
    ],
)
def test_what_cannot_be_run_here_is_skipped_or_where_required_failed(
    monkeypatch: pytest.MonkeyPatch, option: bool, variable: str, outcome: type[BaseException]
) -> None:
    class Config:
        """Answers the one question."""

        def getoption(self, name: str, default: object) -> object:
            return option if name == "--require-all" else default

    monkeypatch.setenv("LOCKGRID_FLOWS_REQUIRE_ALL", variable)
    with pytest.raises(outcome, match="NOT RUN: no driver: install one"):
        not_run(NotHereError("no driver", "install one"), Config())


def test_a_converter_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("MODEL_CONVERTER_PATH", raising=False)
    with pytest.raises(vgf_payload.ConverterError, match=r"model-converter on PATH.*put .* on PATH"):
        vgf_payload.require_converter()


@dataclass(frozen=True)
class Conversion:
    """One call of model-converter."""

    tosa_bytes: int
    seconds: float


@pytest.fixture(scope="module")
def large(_converter: None) -> tuple[Lowered, Conversion]:
    """The large model lowered, and what its conversion from TOSA to VGF took."""
    from executorch.backends.arm.vgf import backend

    calls = []
    convert = backend.vgf_compile

    def timed(tosa: bytes, *args: object) -> bytes:
        began = time.perf_counter()
        payload = convert(tosa, *args)
        calls.append(Conversion(len(tosa), time.perf_counter() - began))
        return bytes(payload)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "vgf_compile", timed)
        made = lower_to_pte(LARGE, "FP")
    (conversion,) = calls
    return made, conversion


def test_a_large_model_is_converted(large: tuple[Lowered, Conversion], report: Callable[..., None]) -> None:
    made, conversion = large
    weights = sum(parameter.numel() * parameter.element_size() for parameter in made.case.module.parameters())
    report(
        f"vgf {made.case.model.name:<10}FP  {weights / 1e6:.1f} MB of weights, {conversion.tosa_bytes / 1e6:.1f} MB of "
        f"TOSA to {len(made.payload) / 1e6:.1f} MB of VGF in {conversion.seconds:.1f} s; lowered in "
        f"{made.case.seconds - conversion.seconds:.1f} s without that",
        weight_bytes=weights,
        tosa_bytes=conversion.tosa_bytes,
        payload_bytes=len(made.payload),
        pte_bytes=len(made.file),
        seconds_to_lower=round(made.case.seconds - conversion.seconds, 3),
        seconds_to_convert=round(conversion.seconds, 3),
    )
    assert weights > 20e6, "not large"
    assert len(made.payload) > 0.95 * weights, "the weights are not all in the payload"
    test_everything_is_delegated(made)
    test_pte_holds_the_vgf_that_lowering_made(made)
    test_payload_is_the_graph_that_was_asked_for(made)


def test_a_large_model_agrees(large: tuple[Lowered, Conversion], vulkan: Vulkan, report: Callable[..., None]) -> None:
    case = large[0].case
    began = time.perf_counter()
    output = case.output(partial(vgf_payload.execute, vulkan=vulkan), large[0].payload)
    ran = time.perf_counter() - began
    found = case.compare(output)
    # FP_LIMIT is for outputs of order 1, these reach about 10. How far float32 itself is from the
    # truth after 53 layers is measured too: eager float32 against eager float64.
    limit = FP_LIMIT * float(case.reference.abs().max())
    with torch.no_grad():
        exact = case.model.module().double()(*(tensor.double() for tensor in case.inputs))
    noise = distance(case.eager.double(), exact)
    report(
        f"vgf {case.model.name:<10}FP  max abs error {found.error:.1e} to eager (limit {limit:.1e}, the largest output "
        f"times {FP_LIMIT:.0e}), eager's own to float64 {noise.error:.1e}; ran in {ran:.1f} s",
        max_abs_error=found.error,
        max_abs_error_of_eager_to_float64=noise.error,
        limit=limit,
        seconds_to_run=round(ran, 3),
    )
    assert_close(found, limit)
    with torch.no_grad():
        others = case.module(*case.model.calibration(batches=1)[0])
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_close(distance(output, others), limit)
