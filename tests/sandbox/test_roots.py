"""Roots: what is installed in them, what they do not keep, and what happens when a package does not install."""

import subprocess
import zipfile

import pytest

from scienceide.base.errors import SandboxError, UserError
from scienceide.base.paths import cache_dir
from scienceide.envs.sandbox import base_image, host, host_root, images, packages
from scienceide.envs.sandbox.protocol import SandboxSpec


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with one small wheel, and pip told to use nothing else."""
    folder = tmp_path_factory.mktemp("wheels")
    info = "tinything-1.2.dist-info"
    with zipfile.ZipFile(folder / "tinything-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinything.py", "value = 12\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinything\nVersion: 1.2\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", f"tinything.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield folder


@pytest.fixture(scope="module")
def tiny_root(maker, wheels):
    return maker.prepare_root(requirements=["tinything==1.2"])


def test_requirements_are_importable(maker, tiny_root, tmp_path):
    sandbox = maker.acquire(SandboxSpec(root=tiny_root))
    try:
        assert sandbox.run(["python", "-c", "import tinything; print(tinything.value)"]).text == "12\n"
        assert sandbox.run("touch /opt/env/lib/python3*/site-packages/tinything.py").exit_code != 0
    finally:
        sandbox.close()


def test_the_same_root_is_not_made_twice(maker, tiny_root, wheels, monkeypatch):
    monkeypatch.setattr(images, "run_and_commit", None)
    monkeypatch.setattr(host_root, "_run_inside", None)
    assert maker.prepare_root(requirements=["tinything==1.2"]) == tiny_root


def test_nothing_of_the_index_stays_in_the_root(maker, tiny_root, wheels):
    sandbox = maker.acquire(SandboxSpec(root=tiny_root))
    try:
        assert sandbox.run(f"ls {wheels}; ls -A /mnt/host").exit_code != 0
        assert b"PIP_" not in sandbox.run("env").output
        assert (
            sandbox.run(
                "find / -xdev -name '*.whl' -not -path '*/ensurepip/*' -not -path '*python-wheels*' 2>/dev/null"
            ).output
            == b""
        )
    finally:
        sandbox.close()


def test_a_package_that_does_not_exist(maker, wheels):
    before = {p.name for p in cache_dir("roots").glob("[!.]*")}
    with pytest.raises(UserError, match=r"no-such-thing==9.*do not install(.|\n)*Whole log: .*\.log"):
        maker.prepare_root(requirements=["no-such-thing==9"])
    assert {p.name for p in cache_dir("roots").glob("[!.]*")} == before
    if maker.name == "docker":
        identity = images.identity_of(base_image.resolve(), [], ["no-such-thing==9"], None)
        assert base_image.image_id(f"scienceide/root:{identity}") is None


def test_an_unknown_base(maker):
    with pytest.raises(UserError, match="No base named 'fortran'"):
        maker.prepare_root(base="fortran")


def test_packages_of_this_machine_are_not_in_the_root(maker, root):
    sandbox = maker.acquire(SandboxSpec(root=root))
    try:
        listing = sandbox.run("python -m pip list --format=freeze 2>/dev/null").text
        assert {line.partition("==")[0] for line in listing.split()} <= {"pip", "setuptools", "wheel"}
        found = sandbox.run("find / -xdev -type d -name numpy 2>/dev/null").text
        assert found == ""
    finally:
        sandbox.close()


def test_settings_of_pip_are_understood():
    lines = [
        "global.index-url='https://index/simple'",
        "global.find-links='/wheels /more'",
        "install.index-url='https://other/simple'",
        "install.target='/somewhere'",
        ":env:.timeout='9'",
        "global.broken=not quoted",
        "freeze.all='true'",
        "",
    ]
    assert packages.parse_settings(lines) == {
        "index-url": "https://other/simple",
        "find-links": "/wheels /more",
        "timeout": "9",
    }


def test_the_index_is_the_machines(monkeypatch, tmp_path):
    certificate = tmp_path / "ca.crt"
    certificate.write_text("")
    index = tmp_path / "index" / "simple"
    index.mkdir(parents=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_CERT", str(certificate))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file://{index} https://x/simple")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    access = packages.index_access()
    assert access.environment["PIP_CERT"] == access.environment["REQUESTS_CA_BUNDLE"] == str(certificate)
    assert certificate in access.paths
    assert index.parent in access.paths


def test_paths_of_the_index_are_moved_out_of_the_image(tmp_path):
    access = packages.IndexAccess(
        {
            "PIP_CERT": "/etc/ca.crt",
            "PIP_EXTRA_INDEX_URL": "file:///opt/index/simple https://x/simple",
            "PIP_TIMEOUT": "9",
        },
        (images.Path("/etc/ca.crt"), images.Path("/opt/index")),
    )
    environment, mounts = images.relocated(access)
    assert environment == {
        "PIP_CERT": "/mnt/host/etc/ca.crt",
        "PIP_EXTRA_INDEX_URL": "file:///mnt/host/opt/index/simple https://x/simple",
        "PIP_TIMEOUT": "9",
    }
    assert mounts[0] == {"Type": "tmpfs", "Target": "/mnt"}
    assert [m["ReadOnly"] for m in mounts[1:]] == [True, True]


def test_steps_of_pip():
    assert packages.pip_steps([], "2024-01-01") == []
    (plain,) = packages.pip_steps(["numpy<3"], None)
    assert plain[-2:] == ["--", "numpy<3"]
    upgrade, dated = packages.pip_steps(["numpy"], "2024-01-01")
    assert "pip>=26" in upgrade
    assert "--uploaded-prior-to=2024-01-01T00:00:00Z" in dated


def test_identity_of_a_root_depends_on_what_is_in_it():
    known = host_root.identity_of(["a", "b"], None)
    assert known == host_root.identity_of(["b", "a"], None)
    assert len({known, host_root.identity_of(["a"], None), host_root.identity_of(["a", "b"], "2024-01-01")}) == 3


def test_names_of_packages_are_quoted_in_the_script():
    text = images.script(["lib; rm -rf /"], ["x; echo"], None)
    assert "'lib; rm -rf /'" in text
    assert "'x; echo'" in text


@pytest.mark.docker
def test_a_base_that_cannot_be_had(maker, monkeypatch):
    if maker.name != "docker":
        pytest.skip("only Docker has base images")
    monkeypatch.setenv(base_image.VARIABLE, "no-such-image-anywhere:1")
    with pytest.raises(UserError, match=r"no-such-image-anywhere:1.*SCIENCEIDE_DOCKER_BASE"):
        maker.prepare_root()


def test_no_base_without_registry_and_debootstrap(monkeypatch):
    monkeypatch.delenv(base_image.VARIABLE, raising=False)
    monkeypatch.setattr(base_image, "image_id", lambda name: None)
    monkeypatch.setattr(base_image, "_pull", lambda name: None)
    monkeypatch.setattr(base_image.os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxError, match=r"debootstrap.*SCIENCEIDE_DOCKER_BASE"):
        base_image.resolve()


def test_the_base_python_is_no_virtual_environment():
    code = "import sys; print(sys.prefix == sys.base_prefix)"
    assert (
        subprocess.run([host.python(), "-I", "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"
    )
