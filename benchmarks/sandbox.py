"""What a sandbox costs: to get one, to use it for a step, to reset it; and what a thousand of them leave."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.measure import Row, console, repeat, show
from scienceide.envs.sandbox import available, provider
from scienceide.envs.sandbox.docker_provider import DockerProvider
from scienceide.envs.sandbox.protocol import Provider, Root, Sandbox, SandboxSpec
from tests.sandbox.census import census

FILES = 50_000
LIVES = 1000
KIB, MB = 1024, 10**6


def main() -> None:
    """Print one table for each kind of sandbox that works here."""
    with tempfile.TemporaryDirectory() as folder:
        layer = _large_layer(Path(folder))
        for name, state in available().items():
            if state.ok:
                show(f"Sandbox: {name}", list(_rows(name, layer)))
                _leave_nothing(name)
            else:
                console.print(f"{name}: {state.reason}")


def _large_layer(folder: Path) -> Path:
    for number in range(FILES):
        path = folder / f"{number % 250}" / f"{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {number}\n")
    return folder


def _rows(name: str, layer: Path) -> Iterator[Row]:
    with closing(provider(name)) as maker:
        root = maker.prepare_root()
        yield from _acquiring(maker, root)
        sandbox = maker.acquire(SandboxSpec(root=root, layers=(layer,)))
        yield from _steps(sandbox)
        yield from _putting(sandbox)
        yield Row(f"reset, tree of {FILES} files, after a step", _resetting(sandbox), "ms", "≤ 30 ms")
        sandbox.close()
    if name == "docker":
        yield Row("docker exec of the same, for comparison", _docker_exec(root), "ms", "")


def _each(
    times: int, before: Callable[[], object], action: Callable[[], object], after: Callable[[], object]
) -> list[float]:
    """Wall times of `action` in milliseconds, what is done around it not counted; the first two are dropped."""
    values = []
    for _ in range(times + 2):
        before()
        started = time.perf_counter()
        action()
        values.append((time.perf_counter() - started) * 1e3)
        after()
    return values[2:]


def _nothing() -> None:
    pass


def _acquiring(maker: Provider, root: Root) -> Iterator[Row]:
    spec = SandboxSpec(root=root)
    kept: list[Sandbox] = []

    def acquire() -> None:
        kept.append(maker.acquire(spec))

    def let_go() -> None:
        kept.pop().close()

    if maker.name == "bubblewrap":
        yield Row("acquire", _each(30, _nothing, acquire, let_go), "ms", "≤ 60 ms")
        return
    with closing(DockerProvider(spares=0)) as cold:

        def acquire_cold() -> None:
            kept.append(cold.acquire(spec))

        yield Row("acquire, cold", _each(15, _nothing, acquire_cold, let_go), "ms", "≤ 400 ms")
    yield Row("acquire, from the warm pool", _each(30, _nothing, acquire, let_go), "ms", "≤ 20 ms")


def _steps(sandbox: Sandbox) -> Iterator[Row]:
    here = repeat(lambda: subprocess.run(["bash", "-c", "true"], check=True), 100)
    inside = repeat(lambda: sandbox.run("true"), 200)
    base = sorted(here)[len(here) // 2]
    yield Row("bash -c true on this machine", here, "ms", "")
    yield Row("the same as a step", inside, "ms", "")
    yield Row("overhead of a step", [value - base for value in inside], "ms", "≤ 3 ms, p95 ≤ 10 ms")


def _putting(sandbox: Sandbox) -> Iterator[Row]:
    small, large = os.urandom(KIB), os.urandom(50 * MB)
    yield Row("put 1 KiB", repeat(lambda: sandbox.write("small", small), 100), "ms", "≤ 3 ms")
    yield Row("put 50 MB", repeat(lambda: sandbox.write("large", large), 10), "ms", "≤ 150 ms")
    yield Row("get 50 MB", repeat(lambda: sandbox.read("large"), 10), "ms", "")


def _resetting(sandbox: Sandbox) -> list[float]:
    def spoil() -> None:
        sandbox.run("echo x > new; rm -rf 0 1 2; find 3 4 -exec touch {} +; mkdir -p /tmp/a/b")

    return _each(50, spoil, sandbox.reset, _nothing)


def _docker_exec(root: Root) -> list[float]:
    from scienceide.envs.sandbox import engine

    client = engine.client()
    container = client.create_container(root.reference, ["sleep", "600"], labels=engine.labels("bench"))["Id"]
    try:
        client.start(container)
        return repeat(lambda: client.exec_start(client.exec_create(container, ["bash", "-c", "true"])["Id"]), 20)
    finally:
        engine.remove_container(container)


def _leave_nothing(name: str) -> None:
    """Many lives, then a census."""
    before = os.environ.get("SCIENCEIDE_CACHE")
    with closing(provider(name)) as maker:
        root = maker.prepare_root()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SCIENCEIDE_CACHE"] = cache
        try:
            with closing(provider(name)) as maker:
                for number in range(LIVES):
                    sandbox = maker.acquire(SandboxSpec(root=root))
                    sandbox.run(f"echo {number} > f; sleep 100 &")
                    if number % 100 == 0:
                        census(Path(cache), os.getpid())
                    sandbox.close()
            found = census(Path(cache), os.getpid())
        finally:
            os.environ.pop("SCIENCEIDE_CACHE")
            if before is not None:
                os.environ["SCIENCEIDE_CACHE"] = before
    left = ", ".join(f"{len(things)} {kind}" for kind, things in found.items())
    console.print(f"left after {LIVES} lives in {name}: {left}\n")
