"""A network of MobileNet-V2's shape and size, with random weights. Torch only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Of each stage: expansion, output channels, repeats, stride of the first repeat. Table 2 of
# arXiv:1801.04381.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
_STEM, _HEAD = 32, 1280


def _rounded(channels: float) -> int:
    """The nearest multiple of 8, as the reference implementation widens a layer."""
    return max(8, int(channels + 4) // 8 * 8)


class _ConvNorm(nn.Sequential):
    """Convolution, batch norm, and relu6 unless it is the linear end of a block."""

    def __init__(self, inp: int, out: int, kernel: int, stride: int = 1, groups: int = 1, linear: bool = False) -> None:
        norm = nn.BatchNorm2d(out)
        # It counts training steps; exported, it would stay behind as an input that nothing uses.
        norm.num_batches_tracked = None
        conv = nn.Conv2d(inp, out, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
        super().__init__(conv, norm, *([] if linear else [nn.ReLU6()]))


class _Block(nn.Module):
    """An inverted residual: expand, depthwise, project; added to its input where shapes allow."""

    def __init__(self, inp: int, out: int, expansion: int, stride: int) -> None:
        super().__init__()
        inner = inp * expansion
        layers = [] if expansion == 1 else [_ConvNorm(inp, inner, 1)]
        self.layers = nn.Sequential(
            *layers, _ConvNorm(inner, inner, 3, stride, groups=inner), _ConvNorm(inner, out, 1, linear=True)
        )
        self.residual = stride == 1 and inp == out

    def forward(self, x: Tensor) -> Tensor:
        """(batch, inp, h, w) to (batch, out, h / stride, w / stride)."""
        y: Tensor = self.layers(x)
        return x + y if self.residual else y


class MobileNet(nn.Module):
    """MobileNet V2 for 1000 classes, `width` times as wide.

    Width 1 has 3.5 million parameters, 14 MB in float32; width 1.4 has 6.1 million.
    """

    def __init__(self, width: float = 1.4) -> None:
        super().__init__()
        channels = _rounded(_STEM * width)
        blocks: list[nn.Module] = [_ConvNorm(3, channels, 3, 2)]
        for expansion, out, repeats, stride in _STAGES:
            for repeat in range(repeats):
                blocks.append(_Block(channels, _rounded(out * width), expansion, 1 if repeat else stride))
                channels = _rounded(out * width)
        head = _rounded(_HEAD * max(1.0, width))
        self.features = nn.Sequential(*blocks, _ConvNorm(channels, head, 1))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(head, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, h, w), h and w multiples of 32, to (batch, 1000)."""
        x = self.pool(self.features(x))
        y: Tensor = self.classifier(torch.flatten(x, 1))
        return y
