"""Frames on a stream socket: two lengths, a JSON header, raw bytes."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTHS = struct.Struct("!IQ")
_MOST_HEADER = 64 * 2**20
_CHUNK = 2**20
_BUFFER = 2**22


class Closed(Exception):
    """The other side is gone."""


def widen(link: socket.socket) -> None:
    """Let more bytes be on their way at once, as far as the system allows: large files move faster."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)


def send(link: socket.socket, header: dict[str, Any], body: bytes = b"") -> None:
    """Send one frame.

    Raises:
        Closed: the other side is gone.
    """
    text = json.dumps(header).encode()
    lead = _LENGTHS.pack(len(text), len(body)) + text
    try:
        if len(body) <= _CHUNK:
            link.sendall(lead + body)
        else:
            link.sendall(lead)
            link.sendall(body)
    except (BrokenPipeError, ConnectionResetError):
        raise Closed from None


def receive(link: socket.socket, most: int) -> tuple[dict[str, Any], bytearray]:
    """Receive one frame whose body is at most `most` bytes.

    Raises:
        Closed: the other side is gone, or does not speak this protocol.
        TimeoutError: the socket's timeout passed.
    """
    header_size, body_size = _LENGTHS.unpack(_exactly(link, _LENGTHS.size))
    if header_size > _MOST_HEADER or body_size > most:
        raise Closed
    try:
        header = json.loads(_exactly(link, header_size))
    except ValueError:
        raise Closed from None
    return header, _exactly(link, body_size)


def _exactly(link: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    got = 0
    while got < size:
        try:
            count = link.recv_into(view[got:], min(size - got, _CHUNK))
        except ConnectionResetError:
            raise Closed from None
        if count == 0:
            raise Closed
        got += count
    return buffer
