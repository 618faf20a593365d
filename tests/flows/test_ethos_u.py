"""The Ethos-U backend, ahead of time: export, quantize, lower to TOSA, compile with Vela, write a .pte.

What Vela made is read from the .pte and taken apart, so far that it is certain to be a whole command
stream for the accelerator that was asked for. It is not executed: see the last test. What is executed
is the TOSA graph that Vela was given, by the TOSA reference model, and compared with torch's own
quantize-dequantize graph; what Vela makes of that graph is Vela's word alone.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.runtime import Runtime
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

import pte
import tosa_payload
import vela_payload
from cases import Case, make_case
from compare import TOO_FAR, assert_agrees, describe
from lowering import delegates, left_outside
from models import MODELS, Model
from vela_payload import DamagedStreamError, Estimates

BACKEND = "EthosUBackend"
TARGETS = ("ethos-u55-128", "ethos-u85-256")

# The NPU's operation for what Vela cannot express in another way.
NPU_OPERATIONS = {
    "CONV2D": "CONV",
    "DEPTHWISE_CONV2D": "DEPTHWISE",
    "MAX_POOL2D": "POOL",
    "AVG_POOL2D": "POOL",
    "ADD": "ELEMENTWISE",
}

# Vela counts what the NPU's multipliers do: pooling too, and padding on some accelerators.
MOST_MACS = 1.25


@dataclass(frozen=True)
class NpuCase:
    """A model compiled for one accelerator."""

    case: Case
    target: str
    file: bytes  # the .pte
    tosa: bytes  # the graph that Vela was given
    estimates: list[Estimates]  # one for each delegate

    @property
    def name(self) -> str:
        """How a line of the report begins."""
        return f"ethos_u {self.target} {self.case.model.name:<9}"

    @property
    def payload(self) -> bytes:
        """The stream, out of the .pte."""
        ((_, payload),) = pte.delegates(self.file)
        return payload


def compile_for(model: Model, target: str, folder: Path) -> NpuCase:
    """Compile a model; Vela writes its output to the folder."""
    spec = EthosUCompileSpec(target)
    spec.dump_intermediate_artifacts_to(str(folder))
    quantizer = EthosUQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    case = make_case(model, EthosUPartitioner(spec), quantizer)
    tosa = (folder / "out.tosa").read_bytes()
    return NpuCase(case, target, pte.write(case.edge), tosa, vela_payload.read_estimates(folder))


@pytest.fixture(
    scope="module",
    params=[(model, target) for target in TARGETS for model in MODELS],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def npu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NpuCase:
    """Each model for each accelerator, compiled once for all tests of this module."""
    model, target = request.param
    return compile_for(model, target, tmp_path_factory.mktemp("vela"))


def test_everything_is_delegated(npu: NpuCase) -> None:
    outside = left_outside(npu.case.program)
    assert not outside, f"not delegated: {', '.join(outside)}"
    assert [delegate.backend_id for delegate in delegates(npu.case.program)] == [BACKEND]


def test_the_pte_holds_a_stream_for_the_accelerator(npu: NpuCase, report: Callable[..., None]) -> None:
    ((backend, payload),) = pte.delegates(npu.file)
    stream = vela_payload.parse(payload)
    operations = {name: count for name, count in stream.operations.items() if name not in ("STOP", "IRQ")}
    report(
        f"{npu.name} {len(payload)} bytes of stream in a .pte of {len(npu.file)}, for {stream.accelerator}, "
        f"not executed: {', '.join(f'{name} {count}' for name, count in sorted(operations.items()))}; "
        f"lowered in {npu.case.seconds:.1f} s",
        accelerator=stream.accelerator,
        payload_bytes=len(payload),
        pte_bytes=len(npu.file),
        seconds_to_lower=round(npu.case.seconds, 3),
    )
    assert backend == BACKEND
    assert payload == npu.case.payload, "the .pte holds another payload than the lowered program"
    vela_payload.assert_for(stream, npu.target)
    missing = {NPU_OPERATIONS[name] for name in npu.case.model.tosa if name in NPU_OPERATIONS} - set(operations)
    assert not missing, f"the stream has no {', '.join(sorted(missing))}"


def test_the_stream_takes_and_returns_what_the_model_does(npu: NpuCase) -> None:
    stream = vela_payload.parse(npu.payload)
    inputs, outputs = npu.case.inputs, (npu.case.reference,)
    assert [(tensor.elements, tensor.element_bytes) for tensor in stream.inputs] == [(x.numel(), 1) for x in inputs]
    assert [(tensor.elements, tensor.element_bytes) for tensor in stream.outputs] == [(y.numel(), 1) for y in outputs]


def test_the_stream_of_another_accelerator_is_noticed(npu: NpuCase) -> None:
    (other,) = (target for target in TARGETS if target != npu.target)
    with pytest.raises(AssertionError, match=f"the stream is for {npu.target}, not for {other}"):
        vela_payload.assert_for(vela_payload.parse(npu.payload), other)


def damage(name: str, payload: bytes) -> bytes:
    """The payload with one thing wrong."""
    commands = payload.index(b"COP1")
    altered = bytearray(payload)
    if name.startswith("cut:"):
        return payload[: len(payload) - int(name.removeprefix("cut:"))]
    if name == "cut in the commands":
        return payload[: commands + 24]
    if name == "no magic":
        altered[commands] ^= 1
    elif name == "block renamed":
        altered[commands - 32] ^= 1
    elif name == "block longer":
        (size,) = struct.unpack_from("<I", altered, commands - 16)
        struct.pack_into("<I", altered, commands - 16, size + 16)
    elif name == "other architecture":
        altered[commands + 15] ^= 0x30
    elif name == "unknown product":
        altered[commands + 11] = 0xF0
    elif name == "fewer commands said":
        altered[commands + 30] ^= 1
    elif name == "stop in the middle":
        struct.pack_into("<I", altered, commands + 32, 0xFFFF0000)
    return bytes(altered)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cut:1", "ends where block vela_end_stream"),
        ("cut:32", "ends where block vela_end_stream"),
        ("cut:64", "ends inside block outputs"),
        ("cut in the commands", "ends inside block cmd_data"),
        ("no magic", "does not begin with COP1"),
        ("block renamed", "block cmd_data is called"),
        ("block longer", "block"),
        ("other architecture", "with the architecture"),
        ("unknown product", "product 15 is unknown"),
        ("fewer commands said", "words of commands, not"),
        ("stop in the middle", "follow a STOP|is not a command|do not end with a STOP|is unknown"),
    ],
)
def test_a_damaged_stream_is_noticed(npu: NpuCase, name: str, message: str) -> None:
    with pytest.raises(DamagedStreamError, match=message):
        vela_payload.parse(damage(name, npu.payload))


def test_estimates_are_plausible(npu: NpuCase, report: Callable[..., None]) -> None:
    (estimates,) = npu.estimates
    report(
        f"{npu.name} estimate by Vela: {estimates.cycles} cycles, {estimates.seconds * 1e6:.1f} us, "
        f"{estimates.macs} MACs, {estimates.traffic_bytes} bytes of traffic; "
        f"SRAM {estimates.sram_bytes} bytes, flash {estimates.flash_bytes} bytes",
        estimated_cycles=estimates.cycles,
        estimated_inference_seconds=estimates.seconds,
        estimated_traffic_bytes=estimates.traffic_bytes,
        macs=estimates.macs,
        sram_bytes=estimates.sram_bytes,
        flash_bytes=estimates.flash_bytes,
    )
    stream = vela_payload.parse(npu.payload)
    assert estimates.accelerator == npu.target
    assert estimates.sram_bytes == stream.scratch_bytes
    assert estimates.flash_bytes == stream.weight_bytes
    macs = count_macs(npu.case.model)
    assert macs <= estimates.macs <= MOST_MACS * macs, f"torch counts {macs} MACs, Vela {estimates.macs}"
    macs_per_cycle = int(npu.target.rpartition("-")[2])
    assert estimates.cycles > macs / macs_per_cycle, "faster than its multipliers"
    assert estimates.traffic_bytes > stream.weight_bytes
    assert estimates.seconds > 0


def count_macs(model: Model) -> int:
    """The multiplications of the model's convolutions, linear layers and matrix products, as torch counts them."""
    module, inputs = model.module(), model.inputs()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*inputs)
    return counter.get_total_flops() // 2


def test_the_graph_that_vela_was_given_agrees(npu: NpuCase, report: Callable[..., None]) -> None:
    began = time.perf_counter()
    output = npu.case.output(tosa_payload.execute, npu.tosa)
    ran = time.perf_counter() - began
    found, to_eager = npu.case.compare(output), npu.case.compare_to_eager(output)
    report(
        f"{npu.name} through TOSA: {describe(found, to_eager)}; ran in {ran:.3f} s",
        max_abs_error=found.error,
        max_abs_error_to_eager=to_eager.error,
        step=found.step or 0.0,
        seconds_to_run=round(ran, 3),
        flatbuffer_bytes=len(npu.tosa),
    )
    assert_agrees(found)


def test_negated_weights_are_noticed(npu: NpuCase) -> None:
    output = npu.case.output(tosa_payload.execute, tosa_payload.negate_weights(npu.tosa))
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(npu.case.compare(output))


def test_other_inputs_are_noticed(npu: NpuCase) -> None:
    (other, *_) = npu.case.model.calibration(batches=1)
    with pytest.raises(AssertionError, match=TOO_FAR):
        assert_agrees(npu.case.compare(npu.case.output(tosa_payload.execute, npu.tosa, other)))


class Pooled(nn.Module):
    """A convolution and an average pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, 8, 8) to (batch, 8, 2, 2)."""
        return functional.avg_pool2d(self.conv(x), 3)


@pytest.mark.parametrize(("target", "outside"), [("ethos-u55-128", True), ("ethos-u85-256", False)])
def test_operators_that_the_accelerator_cannot_take_are_listed(target: str, outside: bool, tmp_path: Path) -> None:
    # An average over several images: the U55 takes one image only.
    case = compile_for(Model("pooled", Pooled, ((2, 3, 8, 8),), frozenset()), target, tmp_path).case
    assert ("aten.avg_pool2d.default" in left_outside(case.program)) is outside


def test_nothing_here_can_execute_the_stream(report: Callable[..., None]) -> None:
    report(
        "ethos_u: the command streams were NOT executed. They need an Ethos-U, or Arm's simulator of one (FVP), which "
        "is a separate download under its own licence; the locked packages bring neither, nor a runtime for this PC "
        "with the Ethos-U backend. Cycles, times and traffic above are the compiler's estimates."
    )
    # Once a runtime can, the streams should be run and not merely be read.
    assert BACKEND not in Runtime.get().backend_registry.registered_backend_names
