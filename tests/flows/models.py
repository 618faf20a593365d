"""The models that every backend's flow test lowers, with their inputs. Torch only.

To add a model: write a Module, add an entry to MODELS. Every flow test is parametrized over MODELS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Different seeds, so that the inputs that are compared are none of those calibrated on.
_SEED_WEIGHTS, _SEED_INPUTS, _SEED_CALIBRATION = 1, 2, 3

Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Model:
    """A network with random weights, and what may be fed to it.

    `build` makes the module, `shapes` holds one shape per input (batch first), `tosa` the
    operators that its TOSA graph of profile FP must contain, so that a test cannot pass on a graph
    that lost what the model is there to test.
    """

    name: str
    build: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    tosa: frozenset[str]

    def __str__(self) -> str:
        """The name, as in the id of a test."""
        return self.name

    def module(self) -> nn.Module:
        """The module in eval mode, the same weights on each call.

        The initialisation keeps activations of order 1 from layer to layer: the absolute
        tolerances of the tests are meant for outputs of that order.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_SEED_WEIGHTS)
            module = self.build()
            for parameter in module.parameters():
                if parameter.dim() > 1:
                    nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        return module.eval()

    def inputs(self) -> Inputs:
        """The inputs to compare on: normally distributed, mean 0, standard deviation 1."""
        return self._draw(torch.Generator().manual_seed(_SEED_INPUTS))

    def calibration(self, batches: int = 8) -> list[Inputs]:
        """Inputs of the same distribution, to calibrate a quantizer on."""
        generator = torch.Generator().manual_seed(_SEED_CALIBRATION)
        return [self._draw(generator) for _ in range(batches)]

    def _draw(self, generator: torch.Generator) -> Inputs:
        return tuple(torch.randn(shape, generator=generator) for shape in self.shapes)


class Mlp(nn.Module):
    """Three linear layers with relu between them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 32) to (batch, 10)."""
        y: Tensor = self.layers(x)
        return y


class ConvNet(nn.Module):
    """A convolution, a depthwise one with a residual add, both kinds of pooling, a classifier.

    The average is over 9 values, not 4: a quarter of the averages over 4 integers lie in the middle
    of two steps. TOSA rounds those up, torch to the even step, and the classifier adds the
    differences up: with a 2x2 window up to 3 steps at the output, with this one none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.max_pool = nn.MaxPool2d(2)
        self.avg_pool = nn.AvgPool2d(3, stride=2)
        self.classifier = nn.Linear(8 * 3 * 3, 40)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, 16, 16) to (batch, 40)."""
        x = torch.relu(self.conv(x))
        x = x + torch.relu(self.depthwise(x))
        x = self.avg_pool(self.max_pool(x))
        y: Tensor = self.classifier(torch.flatten(x, 1))
        return y


class Attention(nn.Module):
    """One head of self-attention behind a layer norm, with a residual add.

    Query, key and value have no bias, as in many transformers: with one the block cannot be lowered
    for Cortex-M, see its flow test.
    """

    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.query = nn.Linear(32, 32, bias=bias)
        self.key = nn.Linear(32, 32, bias=bias)
        self.value = nn.Linear(32, 32, bias=bias)
        self.out = nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, 32) to the same shape."""
        y = self.norm(x)
        scores = torch.matmul(self.query(y), self.key(y).transpose(1, 2)) * 32**-0.5
        y = torch.matmul(torch.softmax(scores, dim=-1), self.value(y))
        return x + self.out(y)


MODELS: tuple[Model, ...] = (
    # TOSA 1.0 has no fully connected layer: ExecuTorch writes a linear one as a 1x1 convolution.
    Model("mlp", Mlp, ((8, 32),), frozenset({"CONV2D", "CLAMP"})),
    Model(
        "conv_net",
        ConvNet,
        ((1, 3, 16, 16),),  # one image: ExecuTorch hands no pooling of several to an Ethos-U55
        frozenset({"CONV2D", "CLAMP", "DEPTHWISE_CONV2D", "ADD", "MAX_POOL2D", "AVG_POOL2D"}),
    ),
    # The layer norm needs RSQRT, the softmax EXP and RECIPROCAL, and REDUCE_MAX to be safe from overflow.
    Model(
        "attn",
        Attention,
        ((2, 12, 32),),
        frozenset({"CONV2D", "MATMUL", "ADD", "REDUCE_SUM", "REDUCE_MAX", "RSQRT", "EXP", "RECIPROCAL"}),
    ),
)
