"""Runs inside the agent's sandbox: searches its whole file system for given texts. Standard library only.

Reads one JSON object from stdin: `roots` to walk, `skip` prefixes, `needles` (each an id and a `text`
without white space, with the `spaced` original and `before` and `after`, its neighbours), `modules` (each an id, a
file and the source it should have) and `digests` (SHA-256 by size of what must not be there).
Prints one JSON object: `hits`, and `files` and `bytes` searched.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import marshal
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

Job = Mapping[str, Any]
Hit = dict[str, Any]
LARGEST = 256 * 2**20
TELLING = 5
"""A shorter name or number stands in too many files to look for it alone."""
_COMMON = frozenset({"return", "while", "break", "const", "double", "float", "static", "range", "lambda", "yield"})
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open))


def files_below(roots: Sequence[str], skip: tuple[str, ...]) -> Iterator[str]:
    """Paths of all regular files, each once, links not followed."""
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if not os.path.join(folder, f).startswith(skip))
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
                    yield path


def contents(path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The file's bytes, and those of everything packed in it, with names."""
    yield path, data
    if data[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for info in archive.infolist():
                    if info.file_size <= LARGEST:
                        yield f"{path}!{info.filename}", archive.read(info)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
            return
    for magic, opener in _PACKED:
        if data.startswith(magic):
            try:
                with cast(BinaryIO, opener(io.BytesIO(data))) as stream:
                    yield f"{path}!", stream.read(LARGEST)
            except (OSError, EOFError, lzma.LZMAError, zlib.error):
                return


def anchor(text: str) -> bytes:
    """A piece of a needle for a fast first look: its longest name or number, which no spacing changes.

    Where all of these are as common as keywords it is the longest piece without a space instead, which a copy
    in another spacing would escape, but which most files do not hold.
    """
    words: list[str] = [word for word in re.findall(r"[\w.]+", text) if word not in _COMMON]
    longest = max(words, key=len, default="")
    if len(longest) < TELLING:
        longest = max((piece for piece in text.split() if piece not in _COMMON), key=len, default=text)
    return longest.encode()


def first_bytes(path: str) -> bytes:
    """The start of a file, enough to tell an archive; empty where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            start: bytes = stream.read(6)
            return start
    except OSError:
        return b""


def holding(paths: Sequence[str], words: Sequence[bytes]) -> set[str]:
    """Those of `paths` that hold any of `words`: by grep, which looks for all of them at once."""
    if not words or shutil.which("grep") is None:
        return set(paths)
    found: set[str] = set()
    for start in range(0, len(paths), 500):
        done = subprocess.run(
            ["grep", "-laFs", "-f", "-", "--", *paths[start : start + 500]],
            input=b"\n".join(words) + b"\n",
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        found.update(os.fsdecode(line) for line in done.stdout.split(b"\n") if line)
    return found


def worth_reading(job: Job, anchors: Mapping[str, bytes]) -> tuple[list[str], set[str]]:
    """Paths of all files, and of those that a closer look can find something in."""
    paths = list(files_below(job["roots"], tuple(job["skip"])))
    sizes = {size for size, _ in job["digests"]}
    packed = (b"PK\x03\x04", *(magic for magic, _ in _PACKED))
    close = holding(paths, sorted(set(anchors.values())))
    for path in paths:
        compiled = bool(job["modules"]) and path.endswith((".pyc", ".pyo"))
        if compiled or first_bytes(path).startswith(packed) or (sizes and os.lstat(path).st_size in sizes):
            close.add(path)
    return paths, close


def text_hits(
    name: str, data: bytes, needles: Sequence[Mapping[str, str]], anchors: Mapping[str, bytes]
) -> Iterator[Hit]:
    """Needles found in `data`, and whether a neighbouring line stands beside them too."""
    present = [n for n in needles if anchors[n["id"]] in data]
    if not present:
        return
    bare = b"".join(data.split())
    for needle in present:
        text = needle["text"].encode()
        count = bare.count(text)
        if count:
            before, after = needle["before"].encode(), needle["after"].encode()
            beside = bool(before and before + text in bare) or bool(after and text + after in bare)
            yield {"kind": "text", "id": needle["id"], "path": name, "count": count, "context": beside}


def module_hits(name: str, data: bytes, modules: Sequence[Mapping[str, str]]) -> Iterator[Hit]:
    """Compiled Python of a module that is not what its present source compiles to."""
    if not name.endswith((".pyc", ".pyo")):
        return
    for module in modules:
        if module["file"].encode() not in data:
            continue
        try:
            code = marshal.loads(data[16:])
            same = code == compile(module["source"], code.co_filename, "exec", dont_inherit=True)
        except (ValueError, EOFError, TypeError, SyntaxError, AttributeError):
            same = False
        if not same:
            yield {"kind": "bytecode", "id": module["id"], "path": name, "count": 1, "context": True}


def hits_in(path: str, data: bytes, job: Job, anchors: Mapping[str, bytes], wanted: set[str]) -> Iterator[Hit]:
    """All that one file gives away."""
    if wanted and hashlib.sha256(data).hexdigest() in wanted:
        yield {"kind": "product", "id": "", "path": path, "count": 1, "context": True}
    for name, part in contents(path, data):
        yield from text_hits(name, part, job["needles"], anchors)
        yield from module_hits(name, part, job["modules"])


def main() -> None:
    """Search, and print what was found."""
    job = json.load(sys.stdin)
    anchors = {n["id"]: anchor(n["spaced"]) for n in job["needles"]}
    wanted = {digest for _, digest in job["digests"]}
    paths, close = worth_reading(job, anchors)
    hits: list[Hit] = []
    for path in sorted(close):
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError:
            continue
        hits.extend(hits_in(path, data, job, anchors, wanted))
    size = sum(os.lstat(path).st_size for path in paths)
    json.dump({"hits": hits, "files": len(paths), "bytes": size}, sys.stdout)


if __name__ == "__main__":
    main()
