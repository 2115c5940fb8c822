"""Python runs this at its start where its folder is on PYTHONPATH: it notes every function that is called.

At the end of the process the functions of the tree are written to `$REACH_FOLDER/<pid>.json`, as pairs of path
and qualified name.
"""

import atexit
import json
import os
import sys
import threading
from types import CodeType, FrameType

TREE = os.environ.get("REACH_TREE", "")
FOLDER = os.environ.get("REACH_FOLDER", "")
_seen: dict[int, CodeType] = {}


def _note(frame: FrameType, event: str, _: object) -> None:
    if event == "call":
        code = frame.f_code
        _seen[id(code)] = code  # holding the code object keeps its id from being used again


def _write() -> None:
    sys.setprofile(None)
    found = {(code.co_filename, code.co_qualname) for code in list(_seen.values())}
    inside = sorted((os.path.relpath(file, TREE), name) for file, name in found if file.startswith(TREE + os.sep))
    with open(os.path.join(FOLDER, f"{os.getpid()}.json"), "w") as stream:
        json.dump(inside, stream)


if FOLDER:
    atexit.register(_write)
    threading.setprofile(_note)
    sys.setprofile(_note)
