"""Which runs a patch can reach: the others need not be run again, their outputs are known.

Where a patch changes nothing but bodies of Python functions, a run that calls none of these functions on the
pristine code executes the very same instructions on the patched code, and so writes the very same outputs.
Which functions a run calls is recorded once, on the pristine code. Whatever does not fit this argument
(another language, a changed signature, a new import, module-level code) reaches every run.

The argument needs runs that repeat (a gate sees to that) and pristine code that does not read its own source.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from scienceide.base.paths import cache_dir, content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.pristine import Pristine
from scienceide.envs.running import RunSpec, build_environment, run_case
from scienceide.envs.sandbox.protocol import TREE, Sandbox

Function = tuple[str, str]
"""Path in the tree and qualified name of an outermost function, such as `Class.method`."""

Reach = Mapping[str, frozenset[Function] | None]
"""The functions that each run calls, by run id; None where that is not known."""

_PLAIN = ("staticmethod", "classmethod", "property")
_FOLDER = "/tmp/reach"
_TRACER = Path(__file__).parent / "inside" / "sitecustomize.py"


def record(pristine: Pristine, specs: Sequence[RunSpec], progress: Progress | None = None) -> Reach:
    """What each run calls on the pristine code; recorded once, kept in the cache.

    Raises:
        SandboxError: no sandbox could be had.
    """
    path = cache_dir("reach") / f"{_key(pristine, specs)}.json"
    if path.is_file():
        stored = json.loads(path.read_text())
        return {run: None if calls is None else frozenset(map(tuple, calls)) for run, calls in stored.items()}
    sandbox = pristine.provider.acquire(pristine.spec(purpose="verify"))
    try:
        found = {
            spec.id: _calls(sandbox, pristine, spec)
            for spec in track(progress or Silent(), "what each run calls", specs, len(specs))
        }
    finally:
        sandbox.close()
    write_atomically(path, json.dumps({run: None if c is None else sorted(c) for run, c in found.items()}))
    return found


def reached(reach: Reach, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> set[str]:
    """The runs that may behave differently.

    Args:
        reach: what each run calls.
        before: pristine contents of the changed paths; None where there was no file.
        after: their new contents; None where the file is deleted.
    """
    changed: set[Function] = set()
    for path, new in after.items():
        old = before.get(path)
        names = changed_functions(old, new) if path.endswith(".py") and old is not None and new is not None else None
        if names is None:
            return set(reach)
        changed |= {(path, name) for name in names}
    return {run for run, calls in reach.items() if calls is None or calls & changed}


def changed_functions(old: bytes, new: bytes) -> set[str] | None:
    """Qualified names of the outermost functions whose bodies differ; None where more than bodies differ."""
    try:
        first, second = _Bodies.of(old), _Bodies.of(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if first.skeleton != second.skeleton or first.bodies.keys() != second.bodies.keys():
        return None
    return {name for name, body in first.bodies.items() if second.bodies[name] != body}


class _Bodies(ast.NodeTransformer):
    """Takes a module apart: the bodies of its outermost functions, and everything else."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}
        self.skeleton = ""
        self._outer: list[str] = []

    @classmethod
    def of(cls, source: bytes) -> _Bodies:
        """Parse and take apart; raises SyntaxError and the like."""
        found = cls()
        found.skeleton = ast.dump(found.visit(ast.parse(source)))
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Methods are functions of their own."""
        self._outer.append(node.name)
        self.generic_visit(node)
        self._outer.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Keep name, signature and decorators; put the body aside.

        A decorator may compile a function to something that is called unseen (numba does): then the body stays
        part of the rest, where a change reaches every run.
        """
        if not all(isinstance(d, ast.Name) and d.id in _PLAIN for d in node.decorator_list):
            return node
        name = ".".join([*self._outer, node.name])
        body = "\n".join(ast.dump(statement) for statement in node.body)
        # Several definitions of one name (under an `if`, say) count as one.
        self.bodies[name] = self.bodies.get(name, "") + "\0" + body
        node.body = [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _calls(sandbox: Sandbox, pristine: Pristine, spec: RunSpec) -> frozenset[Function] | None:
    """What one run calls; None where no Python process told."""
    sandbox.run(["rm", "-rf", _FOLDER])
    sandbox.write(f"{_FOLDER}/sitecustomize.py", _TRACER.read_bytes())
    path = build_environment(pristine.environment.environment).get("PYTHONPATH", "")
    extra = {"REACH_FOLDER": _FOLDER, "REACH_TREE": TREE, "PYTHONPATH": f"{_FOLDER}:{path}".rstrip(":")}
    run = run_case(sandbox, pristine.environment, spec, extra=extra)
    written = sandbox.run(["find", _FOLDER, "-name", "*.json"]).text.split()
    if run.result.exit_code != 0 or not written:
        return None
    calls: set[Function] = set()
    for file in written:
        for where, name in json.loads(sandbox.read(file)):
            calls.add((where, name.partition(".<locals>")[0]))
    return frozenset(calls)


def _key(pristine: Pristine, specs: Sequence[RunSpec]) -> str:
    files = {spec.case_name: pristine.environment.case_files(spec.case_name) for spec in specs}
    digests = {name: {p: content_hash(d.hex()) for p, d in case.items()} for name, case in files.items()}
    runs = [[spec.id, spec.case.command, dict(spec.inputs)] for spec in specs]
    return content_hash(pristine.key, digests, runs, content_hash(_TRACER.read_text()))
