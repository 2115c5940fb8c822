"""Sources: what is pinned is what arrives, or nothing is kept."""

import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.formats import Source
from scienceide.envs.sources import Index, fetch, folder_sha256, index_from_pip, resolve, unpack


def sdist(files, *, links=(), top="demo-1.0"):
    """A .tar.gz with `files` under one top folder, and hostile members as asked."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size, info.mtime = len(data), 1_000_000_000
            tar.addfile(info, io.BytesIO(data))
        for name, target in links:
            info = tarfile.TarInfo(f"{top}/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return buffer.getvalue()


FILES = {
    "PKG-INFO": b"Metadata-Version: 2.4\nName: demo\nLicense-Expression: BSD-3-Clause\n",
    "demo/__init__.py": b"G = 9.81\n",
}


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A package index on this machine: `served[filename] = bytes`; `served.lie` maps to wrong hashes."""
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path / "cache"))
    files, lies = {}, {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rstrip("/").rpartition("/")[2]
            if name in files:
                self.reply(files[name], "application/octet-stream")
            elif self.path == "/simple/demo/":
                listed = [
                    {
                        "filename": n,
                        "url": f"../../files/{n}",
                        "hashes": {"sha256": lies.get(n) or hashlib.sha256(d).hexdigest()},
                        "yanked": "-yanked-" in n,
                    }
                    for n, d in files.items()
                ]
                page = json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": listed})
                self.reply(page.encode(), "application/vnd.pypi.simple.v1+json")
            else:
                self.send_error(404)

        def reply(self, body, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    index = Index(f"http://127.0.0.1:{server.server_port}/simple")
    yield files, lies, index, tmp_path / "cache"
    server.shutdown()
    server.server_close()
    thread.join()


def kept(cache):
    """Everything below the cache that is no lock."""
    return [p for p in cache.rglob("*") if p.is_file() and not p.name.endswith(".lock")]


def test_resolve_pins_the_newest_release(served):
    files, _, index, _ = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    files["demo-1.1.tar.gz"] = sdist({**FILES, "new": b""})
    files["demo-2.0a1.tar.gz"] = sdist(FILES)
    source = resolve("pypi:demo", index=index)
    assert (source.version, source.licence) == ("1.1", "BSD-3-Clause")
    assert source.sha256 == hashlib.sha256(files["demo-1.1.tar.gz"]).hexdigest()


def test_fetch_unpacks_without_the_top_folder_and_keeps_times(served):
    files, _, index, _ = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    tree = fetch(resolve("pypi:demo==1.0", index=index), index=index)
    assert (tree / "demo/__init__.py").read_bytes() == FILES["demo/__init__.py"]
    assert (tree / "demo/__init__.py").stat().st_mtime == 1_000_000_000


def test_second_fetch_needs_no_index(served):
    files, _, index, _ = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    source = resolve("pypi:demo==1.0", index=index)
    files.clear()
    assert fetch(source, index=Index("http://127.0.0.1:1/simple")).is_dir()


def test_index_that_disagrees_with_the_pin_is_refused(served):
    files, _, index, cache = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    pinned = Source(kind="pypi", name="demo", version="1.0", sha256="0" * 64)
    with pytest.raises(UserError, match=r"demo 1\.0.*is pinned; refused"):
        fetch(pinned, index=index)
    assert kept(cache) == []


def test_archive_that_disagrees_with_the_index_is_refused(served):
    files, lies, index, cache = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    lies["demo-1.0.tar.gz"] = "0" * 64
    pinned = Source(kind="pypi", name="demo", version="1.0", sha256="0" * 64)
    with pytest.raises(UserError, match="the index promised"):
        fetch(pinned, index=index)
    assert kept(cache) == []
    assert not (cache / "sources" / ("0" * 64)).exists()


@pytest.mark.parametrize(
    ("name", "match"),
    [("absent", "no such package"), ("demo==9.9", "no source archive of version 9.9"), ("demo==x!", "not a version")],
)
def test_what_is_not_there_is_said(served, name, match):
    files, _, index, _ = served
    files["demo-1.0.tar.gz"] = sdist(FILES)
    with pytest.raises(UserError, match=match):
        resolve(f"pypi:{name}", index=index)


def test_unreachable_index_is_said():
    with pytest.raises(UserError, match="cannot be reached"):
        resolve("pypi:demo", index=Index("http://127.0.0.1:1/simple"))


@pytest.mark.parametrize("link", [("out", "../../outside"), ("absolute", "/etc/passwd")])
def test_links_that_lead_out_are_refused(tmp_path, link):
    archive = tmp_path / "demo-1.0.tar.gz"
    archive.write_bytes(sdist(FILES, links=[link]))
    with pytest.raises(UserError, match="refused"):
        unpack(archive, tmp_path / "tree")


def test_paths_that_lead_out_are_refused(tmp_path):
    archive = tmp_path / "demo-1.0.tar.gz"
    archive.write_bytes(sdist({"../../escaped": b"x"}))
    with pytest.raises(UserError, match="refused"):
        unpack(archive, tmp_path / "a" / "tree")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("data", [b"no archive", sdist(FILES)[:-40]])
def test_damaged_archive_is_said(tmp_path, data):
    archive = tmp_path / "demo-1.0.tar.gz"
    archive.write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        unpack(archive, tmp_path / "tree")


def test_folder_is_pinned_by_content(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path / "cache"))
    code = tmp_path / "code"
    (code / ".git").mkdir(parents=True)
    (code / ".git" / "config").write_text("x")
    (code / "LICENSE").write_text("Apache License\nVersion 2.0, January 2004")
    (code / "a.py").write_text("x = 1\n")
    source = resolve(str(code))
    assert source.licence == "Apache-2.0"
    tree = fetch(source)
    assert sorted(p.name for p in tree.iterdir()) == ["LICENSE", "a.py"]
    (code / ".git" / "config").write_text("y")
    assert folder_sha256(code) == source.sha256
    (code / "a.py").write_text("x = 2\n")
    changed = resolve(str(code))
    assert changed.sha256 != source.sha256
    with pytest.raises(UserError, match="has changed"):
        fetch(source.model_copy(update={"sha256": "1" * 64}))


def test_neither_folder_nor_package(tmp_path):
    with pytest.raises(UserError, match="neither a folder nor"):
        resolve(str(tmp_path / "nothing"))


def test_index_comes_from_pip(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_CERT", "/some/bundle.pem")
    assert index_from_pip() == Index("https://index.example/simple", "/some/bundle.pem")


def test_licence_that_is_not_stated_is_unknown(tmp_path):
    (tmp_path / "a.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[project]\nclassifiers = ["License :: OSI Approved :: BSD License"]\n')
    assert resolve(str(tmp_path)).licence == "LicenseRef-unknown"
