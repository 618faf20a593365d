"""Streams that Vela compiled for an Ethos-U, as ExecuTorch packs them: take apart, judge. Needs nothing but Python.

The blocks are those of ExecuTorch's `arm_vela.py` and `VelaBinStream.cpp`; the command data is what
the Ethos-U core driver reads: `COP1`, then driver actions, one of which names the NPU that the
stream is for and one of which holds the NPU's own commands.
"""

from __future__ import annotations

import csv
import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct("<16sIB11s")  # name, bytes of data, whether the data is elsewhere, reserved
_ALIGNMENT = 16
_BLOCKS = ["vela_bin_stream", "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream"]
_MAGIC = int.from_bytes(b"COP1", "little")
_CONFIG, _COMMANDS, _NOP = 1, 2, 5  # driver actions

# CONFIG's product field, and the major version of the architecture that belongs to it.
_PRODUCTS = {0: ("ethos-u55", 1), 1: ("ethos-u65", 1), 2: ("ethos-u85", 2)}

# Of a command word: 10 bits of code, 2 bits that say whether a second word follows.
_CODE, _UNUSED, _SECOND_WORD = 0x03FF, 0x3C00, 0xC000
_FIRST_SETTING = 0x100  # commands below start something, the others set a register
_OPERATIONS = {
    0x00: "STOP",
    0x01: "IRQ",
    0x02: "CONV",
    0x03: "DEPTHWISE",
    0x04: "RESIZE",
    0x05: "POOL",
    0x06: "ELEMENTWISE",
    0x10: "DMA_START",
    0x11: "DMA_WAIT",
    0x12: "KERNEL_WAIT",
    0x13: "PMU_MASK",
}
_SCRATCH = 1  # the region of memory that inputs and outputs lie in


class DamagedStreamError(ValueError):
    """The bytes are not a whole stream."""


@dataclass(frozen=True)
class Tensor:
    """An input or output: six dimensions, bytes per element, offset into the scratch memory in bytes."""

    shape: tuple[int, ...]
    element_bytes: int
    offset: int

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Stream:
    """A stream taken apart; `operations` counts the commands that start something."""

    accelerator: str  # as Vela names it: product and MACs per cycle, `ethos-u55-128`
    architecture: tuple[int, int, int]
    operations: Mapping[str, int]
    weight_bytes: int
    scratch_bytes: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Estimates:
    """What Vela's summary says of one delegate. Cycles, seconds and traffic are estimates of a compiler."""

    accelerator: str
    cycles: int
    seconds: float  # of one inference, at the clock of Vela's system configuration
    macs: int
    sram_bytes: int
    flash_bytes: int  # on chip and off chip
    traffic_bytes: int  # to and from all memories in one inference


def parse(payload: bytes) -> Stream:
    """Take a payload apart; DamagedStreamError where it is not a whole Vela stream."""
    blocks = _blocks(payload)
    accelerator, architecture, commands = _actions(_words("cmd_data", blocks["cmd_data"]))
    scratch = _words("scratch_size", blocks["scratch_size"])
    _require(len(scratch) == 1, f"scratch_size holds {len(scratch)} words")
    return Stream(
        accelerator,
        architecture,
        _operations(commands),
        len(blocks["weight_data"]),
        scratch[0],
        _tensors("inputs", blocks["inputs"], scratch[0]),
        _tensors("outputs", blocks["outputs"], scratch[0]),
    )


def assert_for(stream: Stream, accelerator: str) -> None:
    """Fail when the stream was compiled for another NPU than `ethos-u55-128` or the like."""
    assert stream.accelerator == accelerator, f"the stream is for {stream.accelerator}, not for {accelerator}"


def read_estimates(folder: Path) -> list[Estimates]:
    """Vela's summaries anywhere in a folder, one for each delegate."""
    return [_read_summary(path) for path in sorted(folder.rglob("*_summary_*.csv"))]


def _read_summary(path: Path) -> Estimates:
    """One summary: a line of names, a line of values."""
    with path.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    kib = 1024
    areas = ("sram", "dram", "on_chip_flash", "off_chip_flash")
    return Estimates(
        row["accelerator_configuration"].lower().replace("_", "-"),
        int(float(row["cycles_total"])),
        float(row["inference_time"]),
        int(float(row["nn_macs"])),
        round(float(row["sram_memory_used"]) * kib),
        round((float(row["on_chip_flash_memory_used"]) + float(row["off_chip_flash_memory_used"])) * kib),
        round(sum(float(row[f"{area}_total_bytes"]) for area in areas)),
    )


def _require(holds: bool, otherwise: str) -> None:
    """Raise where the bytes are not what they should be."""
    if not holds:
        raise DamagedStreamError(otherwise)


def _blocks(payload: bytes) -> dict[str, bytes]:
    """The data of each block by name; all blocks, in their order, and nothing after the last."""
    blocks: dict[str, bytes] = {}
    offset = 0
    for expected in _BLOCKS:
        _require(offset + _HEADER.size <= len(payload), f"the stream ends where block {expected} should begin")
        name, size, elsewhere, reserved = _HEADER.unpack_from(payload, offset)
        _require(name == expected.encode().ljust(16, b"\0"), f"block {expected} is called {name!r}")
        _require(elsewhere == 0 and not any(reserved), f"block {expected} has a damaged header")
        start, end = offset + _HEADER.size, offset + _HEADER.size + size
        offset = -(-end // _ALIGNMENT) * _ALIGNMENT
        _require(offset <= len(payload), f"the stream ends inside block {expected}")
        _require(not any(payload[end:offset]), f"block {expected} is not padded with zeros")
        blocks[expected] = payload[start:end]
    _require(offset == len(payload), f"{len(payload) - offset} bytes follow the end of the stream")
    return blocks


def _words(block: str, data: bytes) -> tuple[int, ...]:
    """The data as 32-bit words, little endian."""
    _require(len(data) % 4 == 0, f"{block} is not a number of words")
    return struct.unpack(f"<{len(data) // 4}I", data)


def _actions(words: Sequence[int]) -> tuple[str, tuple[int, int, int], Sequence[int]]:
    """The NPU that the driver is told to expect, its architecture, and the commands for it."""
    _require(bool(words) and words[0] == _MAGIC, "the command data does not begin with COP1")
    npu: tuple[str, tuple[int, int, int]] | None = None
    position = 1
    while position < len(words):
        word = words[position]
        position += 1
        action = word & 0xFF
        if action == _CONFIG and position + 2 <= len(words):
            npu = _npu(*words[position : position + 2])
            position += 2
        elif action == _COMMANDS:
            _require(npu is not None, "no driver action names the NPU")
            _require(position % 4 == 0, "the commands are not aligned to 16 bytes")
            length = (word >> 8 & 0xFF) << 16 | word >> 16
            _require(position + length == len(words), f"{len(words) - position} words of commands, not {length}")
            assert npu is not None
            return *npu, words[position:]
        else:
            _require(action == _NOP, f"driver action {action} is unknown or cut off")
    raise DamagedStreamError("no driver action holds commands")


def _npu(config: int, identity: int) -> tuple[str, tuple[int, int, int]]:
    """What the NPU's registers CONFIG and ID must say: `ethos-u85-256`, (2, 0, 0)."""
    _require(config >> 28 in _PRODUCTS, f"product {config >> 28} is unknown")
    product, major = _PRODUCTS[config >> 28]
    architecture = (identity >> 28, identity >> 20 & 0xFF, identity >> 16 & 0xF)
    _require(architecture[0] == major, f"{product} with the architecture {architecture}")
    return f"{product}-{1 << (config & 0xF)}", architecture


def _operations(commands: Sequence[int]) -> Counter[str]:
    """How often each operation is started; the commands must be well formed and end with the only STOP."""
    found: Counter[str] = Counter()
    position = 0
    while position < len(commands):
        word = commands[position]
        code, second = word & _CODE, word & _SECOND_WORD
        _require(not word & _UNUSED and second in (0, 0x4000), f"{word:#010x} is not a command")
        if not second and code < _FIRST_SETTING:
            _require(code in _OPERATIONS, f"operation {code:#x} is unknown")
            found[_OPERATIONS[code]] += 1
            _require(code != 0 or position == len(commands) - 1, "commands follow a STOP")
        position += 2 if second else 1
    _require(found["STOP"] == 1 and position == len(commands), "the commands do not end with a STOP")
    return found


def _tensors(block: str, data: bytes, scratch_bytes: int) -> tuple[Tensor, ...]:
    """The inputs or outputs: a count, then nine numbers each. All must lie in the scratch memory."""
    words = _words(block, data)
    _require(bool(words) and len(words) == 1 + 9 * words[0], f"{block} is cut off")
    found = []
    for start in range(1, len(words), 9):
        *shape, element_bytes, offset, region = words[start : start + 9]
        tensor = Tensor(tuple(shape), element_bytes, offset)
        _require(region == _SCRATCH, f"{block} in region {region}")
        end = offset + tensor.elements * element_bytes
        _require(0 < end <= scratch_bytes, f"{block} end at {end}, beyond the scratch memory of {scratch_bytes} bytes")
        found.append(tensor)
    return tuple(found)
