"""The fence around the unit tests holds."""

from __future__ import annotations

import os
import socket

import pytest


def test_no_unit_test_connects_to_anything_but_a_local_socket() -> None:
    with socket.socket(socket.AF_INET) as one:
        for connect in (one.connect, one.connect_ex):
            with pytest.raises(AssertionError, match="connects to"):
                connect(("127.0.0.1", 9))


def test_no_unit_test_looks_a_name_up() -> None:
    with pytest.raises(AssertionError, match=r"index\.example"):
        socket.create_connection(("index.example", 443))


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs local sockets")
def test_local_sockets_work() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"x")
        assert other.recv(1) == b"x"


def test_no_setting_of_this_machine_reaches_a_unit_test() -> None:
    assert [name for name in os.environ if name.startswith(("UV_", "PIP_", "LOCKGRID_"))] == []
