"""What holds for every unit test: no network, no settings of this machine, the same examples each time."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("unit", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("unit")


class NetworkReachedError(AssertionError):
    """A unit test tried to reach the network."""


@pytest.fixture(autouse=True)
def fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no unit test connect to anything but a local socket, nor look a name up."""
    local = getattr(socket, "AF_UNIX", None)

    def guarded(name: str) -> Any:
        real = getattr(socket.socket, name)

        def connect(self: socket.socket, address: Any) -> Any:
            if self.family != local:
                raise NetworkReachedError(f"a unit test connects to {address!r}")
            return real(self, address)

        return connect

    def lookup(host: object, *_args: object, **_options: object) -> Any:
        raise NetworkReachedError(f"a unit test looks up {host!r}")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, guarded(name))
    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the variables away that steer lockgrid, uv or pip."""
    for variable in list(os.environ):
        if variable.startswith(("LOCKGRID_", "UV_", "PIP_", "XDG_")):
            monkeypatch.delenv(variable)
