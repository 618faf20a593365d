"""VGF payloads: look inside, damage, execute.

Needs ai-ml-sdk-model-converter, ai-ml-sdk-vgf-library and ai-ml-sdk-scenario-runner.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from executorch.backends.arm.vgf.model_converter import check_model_converter_environment
from torch import Tensor

from vulkan import RunError, Vulkan, run

MAGIC = b"VGF1"


class ConverterError(Exception):
    """The program that turns TOSA into VGF cannot be used."""


# The instructions of the SPIR-V extended set TOSA.001000.1, by number from 0.
_INSTRUCTIONS = """
    ARGMAX AVG_POOL2D CONV2D CONV3D DEPTHWISE_CONV2D FFT2D MATMUL MAX_POOL2D RFFT2D TRANSPOSE_CONV2D CLAMP ERF
    SIGMOID TANH ADD ARITHMETIC_RIGHT_SHIFT BITWISE_AND BITWISE_OR BITWISE_XOR INTDIV LOGICAL_AND LOGICAL_LEFT_SHIFT
    LOGICAL_RIGHT_SHIFT LOGICAL_OR LOGICAL_XOR MAXIMUM MINIMUM MUL POW SUB TABLE ABS BITWISE_NOT CEIL CLZ COS EXP FLOOR
    LOG LOGICAL_NOT NEGATE RECIPROCAL RSQRT SIN SELECT EQUAL GREATER GREATER_EQUAL REDUCE_ALL REDUCE_ANY REDUCE_MAX
    REDUCE_MIN REDUCE_PRODUCT REDUCE_SUM CONCAT PAD RESHAPE REVERSE SLICE TILE TRANSPOSE GATHER SCATTER RESIZE CAST
    RESCALE
""".split()  # noqa: SIM905 (a list of 66 lines says no more)
_SPIRV_MAGIC, _SPIRV_HEADER_WORDS = 0x07230203, 5
_OP_EXT_INST_IMPORT, _OP_EXT_INST = 11, 12


def require_converter() -> None:
    """ConverterError unless lowering will find a model-converter that starts and is new enough."""
    check = check_model_converter_environment()
    if check.ok:
        return
    # Where a venv keeps its commands. Not resolved: the interpreter there is a link to another folder.
    own = Path(sys.executable).parent / "model-converter"
    hint = f"put {own.parent} on PATH" if own.is_file() else "install from the lockfile"
    raise ConverterError(
        f"{check.detail.rstrip('.')}: {hint}, as `nox -s vgf` does, or name the program in MODEL_CONVERTER_PATH"
    )


def operators(payload: bytes) -> list[str]:
    """The names of the TOSA operators, in the order of the graph; constants are no operators here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = len(json.loads(_dump(payload, folder))["modules"])
        names = []
        for index in range(count):
            _dump(payload, folder, "--dump-spirv", str(index), "--output", "module.spv")
            names += _instructions((folder / "module.spv").read_bytes())
        return names


def formats(payload: bytes) -> set[str]:
    """The Vulkan formats of all tensors, weights too: `VK_FORMAT_R32_SFLOAT`, `VK_FORMAT_R8_SINT`."""
    with tempfile.TemporaryDirectory() as name:
        return {resource["vk_format"] for resource in json.loads(_dump(payload, Path(name)))["resources"]}


def damage(payload: bytes, count: int = 160) -> bytes:
    """The payload with its last `count` bytes zeroed: weights, as the constants come last."""
    return payload[:-count] + bytes(count)


def execute(payload: bytes, inputs: Sequence[Tensor], vulkan: Vulkan) -> list[Tensor]:
    """Run a payload in the scenario runner on the CPU; inputs and outputs in the order of the graph."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outputs = _write_scenario(payload, inputs, folder)
        printed = vulkan.run([_tool("scenario_runner", "scenario-runner"), "--scenario", "scenario.json"], folder)
        if "Type: Cpu" not in printed:
            raise RunError(f"scenario-runner did not run on the CPU:\n{printed[-2000:]}")
        return [torch.from_numpy(np.load(folder / output)) for output in outputs]


def _write_scenario(payload: bytes, inputs: Sequence[Tensor], folder: Path) -> list[str]:
    """Write all that the scenario runner needs; returns the files that it will write, in the order of the graph."""
    scenario = json.loads(_dump(payload, folder, "--scenario-template"))
    tensors = [resource["tensor"] for resource in scenario["resources"] if "tensor" in resource]
    sources = [tensor for tensor in tensors if "src" in tensor]
    targets = [tensor for tensor in tensors if "dst" in tensor]
    shapes = [tuple(tensor["dims"]) for tensor in sources]
    assert shapes == [tuple(tensor.shape) for tensor in inputs], f"the payload takes {shapes}"
    for index, (source, tensor) in enumerate(zip(sources, inputs, strict=True)):
        source["src"] = f"input_{index}.npy"
        np.save(folder / source["src"], tensor.contiguous().numpy())
    for index, target in enumerate(targets):
        target["dst"] = f"output_{index}.npy"
    (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    return [str(target["dst"]) for target in targets]


def _dump(payload: bytes, folder: Path, *options: str) -> str:
    """What `vgf_dump` prints about a payload, which stays in `folder` as model.vgf; RunError when it cannot be read."""
    (folder / "model.vgf").write_bytes(payload)
    return run([_tool("vgf_lib", "vgf_dump"), "--input", "model.vgf", *options], folder, os.environ, timeout=60)


def _tool(package: str, name: str) -> Path:
    """A program inside an installed package.

    Not the script of the same name in the venv's bin: that one is Python, starts this program and
    hides the signal that ended it.
    """
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed in this venv: install from the lockfile"
    assert spec.origin is not None
    return Path(spec.origin).resolve().parent / "binaries" / "bin" / (f"{name}.exe" if os.name == "nt" else name)


def _instructions(module: bytes) -> list[str]:
    """The TOSA instructions of a SPIR-V module: each is an OpExtInst, and names its set by the id of an import."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    assert words[0] == _SPIRV_MAGIC, "not SPIR-V"
    sets, names, position = {}, [], _SPIRV_HEADER_WORDS
    while position < len(words):
        opcode, length = words[position] & 0xFFFF, words[position] >> 16
        operands = words[position + 1 : position + length]
        if opcode == _OP_EXT_INST_IMPORT:
            sets[operands[0]] = struct.pack(f"<{length - 2}I", *operands[1:]).rstrip(b"\0")
        elif opcode == _OP_EXT_INST and sets[operands[2]] == b"TOSA.001000.1":
            names.append(_INSTRUCTIONS[operands[3]])
        position += length
    return names
