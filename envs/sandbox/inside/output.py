"""Keeping the beginning and the end of a stream of any length in bounded memory."""

from __future__ import annotations


class Cut:
    """Collects bytes: the first half of `limit`, and the last half of it."""

    def __init__(self, limit: int) -> None:
        """`limit` is in bytes."""
        self.total = 0
        self._head_size = (limit + 1) // 2
        self._tail_size = limit // 2
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            # Trimmed only when twice too long, so that each byte is moved about once.
            if len(self._tail) > 2 * self._tail_size + 65536:
                self._trim()

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_size)]

    def finish(self) -> tuple[bytes, int]:
        """What was kept, with a line between its halves saying how much was cut; and that number."""
        self._trim()
        cut = self.total - len(self._head) - len(self._tail)
        if cut == 0:
            return bytes(self._head + self._tail), 0
        note = b"\n[... %d bytes cut ...]\n" % cut
        return bytes(self._head) + note + bytes(self._tail), cut
