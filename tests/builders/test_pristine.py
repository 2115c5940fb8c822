"""The built tree is there whole or not at all, and every failure says what failed."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from scienceide.base.errors import TaskError, UserError
from scienceide.base.paths import cache_dir
from scienceide.envs.catalog import load_environment
from scienceide.envs.pristine import forget, prepare, references
from scienceide.envs.running import run_specs
from scienceide.envs.sources import folder_sha256

CASE = """\
schema = 1
title = "Answer"
[[observable]]
name = "answer"
from = {file = "out.json", key = "answer"}
criterion = {kind = "norm", tolerance = 1e-9}
"""


@pytest.fixture
def recipe(tmp_path):
    """Makes an environment folder from a Makefile and a build table."""

    def make(
        build,
        *,
        makefile="all:\n\techo built > product.txt\n",
        driver="import json\njson.dump({'answer': 42.0}, open('out.json', 'w'))\n",
    ):
        folder = tmp_path / "built"
        (folder / "code").mkdir(parents=True)
        (folder / "code" / "Makefile").write_text(makefile)
        (folder / "code" / "a.py").write_text("x = 1\n")
        (folder / "cases" / "answer").mkdir(parents=True)
        (folder / "cases" / "answer" / "case.toml").write_text(CASE)
        (folder / "cases" / "answer" / "driver.py").write_text(driver)
        sha = folder_sha256(folder / "code")
        (folder / "environment.toml").write_text(
            'schema = 1\nname = "built"\ntitle = "Built"\n'
            f'[source]\nkind = "folder"\nname = "built"\npath = "code"\nsha256 = "{sha}"\n'
            f'[build]\n{build}\n[editable]\ninclude = ["*.py"]\n'
        )
        return load_environment(str(folder))

    return make


def trees():
    """Names of whole trees in the cache."""
    return {p.name for p in cache_dir("pristine").iterdir() if not p.name.startswith(".")}


def test_builds_once_and_keeps_times_and_no_bytecode(recipe, shop):
    environment = recipe('commands = ["make", "python -m compileall -q ."]\nproducts = ["product.txt"]')
    first = prepare(environment, shop.provider)
    assert (first.layer / "product.txt").read_text() == "built\n"
    assert (first.layer / "a.py").stat().st_mtime_ns == (first.source / "a.py").stat().st_mtime_ns
    assert list(first.layer.rglob("__pycache__")) == []
    assert "$ make" in first.build_log.read_text()
    again = prepare(environment, shop.provider)
    assert (again.key, again.layer.stat().st_ino) == (first.key, first.layer.stat().st_ino)
    other = prepare(environment, shop.provider, extra={"CFLAGS": "-O0"})
    assert other.key != first.key
    forget(first)
    assert first.key not in trees()


def test_a_build_failure_says_how_it_ends_and_keeps_nothing(recipe, shop):
    environment = recipe('commands = ["make"]', makefile="all:\n\t@echo one; echo last words; exit 3\n")
    before = trees()
    with pytest.raises(UserError) as caught:
        prepare(environment, shop.provider)
    message = str(caught.value)
    assert "last words" in message
    log = message.partition("the whole log is ")[2].partition(";")[0]
    assert "last words" in Path(log).read_text()
    assert trees() == before


def test_a_build_without_its_product_is_refused(recipe, shop):
    environment = recipe('commands = ["true"]\nproducts = ["lib*.so"]')
    before = trees()
    with pytest.raises(UserError, match=r"made no 'lib\*\.so'"):
        prepare(environment, shop.provider)
    assert trees() == before


def test_a_full_disk_keeps_nothing(recipe, shop, monkeypatch):
    environment = recipe('commands = ["make"]', makefile="all:\n\ttouch full\n")
    acquire = shop.provider.acquire

    def full(spec):
        sandbox = acquire(spec)

        def export(folder, *, only_changes=False):
            (folder / "half").write_text("x")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(sandbox, "export", export)
        return sandbox

    monkeypatch.setattr(shop.provider, "acquire", full)
    before = trees()
    with pytest.raises(UserError, match="is full"):
        prepare(environment, shop.provider)
    assert trees() == before


def test_a_killed_build_leaves_nothing_that_looks_whole_and_goes_again(recipe, shop):
    never_built = f"# {uuid.uuid4()}\nall:\n\tsleep 4; echo built > product.txt\n"
    environment = recipe('commands = ["make"]', makefile=never_built)
    program = textwrap.dedent(
        f"""
        from scienceide.base.progress import Silent
        from scienceide.envs.catalog import load_environment
        from scienceide.envs.pristine import prepare
        from scienceide.envs.sandbox import provider

        class Tell:
            def phase(self, name, total=None):
                print(name, flush=True)
                return Silent().phase(name)

        prepare(load_environment({str(environment.folder)!r}), provider({shop.provider.name!r}), Tell())
        """
    )
    before = trees()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    while process.stdout.readline().strip() != "build":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert trees() == before
    pristine = prepare(environment, shop.provider)
    assert (pristine.layer / "product.txt").is_file()
    assert not [p for p in cache_dir("pristine").glob(f".{pristine.key}.*") if p.is_dir()]


def test_references_are_computed_once(recipe, shop):
    environment = recipe('commands = ["make"]')
    pristine = prepare(environment, shop.provider)
    specs = list(run_specs(environment))
    first = references(pristine, specs)
    assert list(first["answer"].files) == ["out.json"]
    (environment.folder / "cases" / "answer" / "case.toml").write_text(CASE.replace("1e-9", "1e-3"))
    looser = load_environment(str(environment.folder))
    again = references(prepare(looser, shop.provider), list(run_specs(looser)))
    assert again["answer"].result == first["answer"].result


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ("import sys\nsys.exit('no luck')\n", "ended with 1.*no luck"),
        ("pass\n", r"did not write out\.json"),
        ("open('out.json', 'w').write('{}')\n", "answer: missing key"),
    ],
)
def test_a_case_that_fails_on_pristine_code_is_the_tasks_fault(recipe, shop, driver, why):
    environment = recipe('commands = ["make"]', driver=driver)
    with pytest.raises(TaskError, match=rf"case answer fails on the pristine code: .*{why}"):
        references(prepare(environment, shop.provider), list(run_specs(environment)))
