"""Pinned scientific code, fetched and unpacked: PyPI sdists and local folders, checked by SHA-256.

What is fetched lies under the cache's `sources/`, one folder per content; it is read-only by
convention and serves as the lowest layer of every sandbox.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import zlib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import httpx
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from scienceide.base.errors import UserError
from scienceide.base.paths import building, cache_dir
from scienceide.base.progress import Progress, Silent
from scienceide.envs.formats import Source
from scienceide.envs.licences import licence_of

IGNORED = (".git", ".hg", ".svn", "__pycache__", "*.pyc", ".venv", ".tox", ".*_cache", ".DS_Store")
"""Names of a local folder that are no source."""

_ACCEPT = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class Index:
    """A package index (PEP 503/691) and the certificate bundle to trust it by, if not the usual one."""

    url: str = "https://pypi.org/simple"
    certificates: str | None = None


@dataclass(frozen=True)
class Sdist:
    """One source archive as the index lists it."""

    filename: str
    version: Version
    url: str
    sha256: str
    yanked: bool


def index_from_pip() -> Index:
    """The index that pip uses on this machine: its environment variables first, then its configuration."""
    wanted = {"index-url": os.environ.get("PIP_INDEX_URL"), "cert": os.environ.get("PIP_CERT")}
    if None in wanted.values():
        done = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
        )
        for line in done.stdout.splitlines():
            key, _, value = line.partition("=")
            name = key.rpartition(".")[2]
            if name in wanted and wanted[name] is None:
                wanted[name] = value.strip("'\"")
    return Index(wanted["index-url"] or Index.url, wanted["cert"])


def fetch(
    source: Source, base: Path | None = None, progress: Progress | None = None, index: Index | None = None
) -> Path:
    """The unpacked tree of `source`, from the cache or fetched now.

    Args:
        source: what to fetch; its `sha256` must match what arrives.
        base: the folder that a relative `source.path` starts from.
        progress: told about the download.
        index: where PyPI sources come from; pip's own by default.

    Raises:
        UserError: it does not exist, cannot be reached, or is not what was pinned; nothing is kept.
    """
    if source.kind == "folder":
        return _fetch_folder(source, base)
    final = cache_dir("sources") / source.sha256
    if final.is_dir():
        return final
    sdist = find_sdist(source.name, source.version, index or index_from_pip())
    if sdist.sha256 != source.sha256:
        raise UserError(
            f"{source.name} {source.version}: the index offers sha256 {sdist.sha256}, "
            f"but {source.sha256} is pinned; refused."
        )
    return _download(sdist, index or index_from_pip(), progress or Silent())


def resolve(text: str, progress: Progress | None = None, index: Index | None = None) -> Source:
    """Pin what a person names: `pypi:name==version`, `pypi:name` (its newest release) or a local folder.

    Raises:
        UserError: there is no such source.
    """
    if text.startswith("pypi:"):
        index = index or index_from_pip()
        name, _, version = text.removeprefix("pypi:").partition("==")
        sdist = find_sdist(name, version or None, index)
        tree = _download(sdist, index, progress or Silent())
        return Source(
            kind="pypi",
            name=str(canonicalize_name(name)),
            version=str(sdist.version),
            sha256=sdist.sha256,
            licence=licence_of(tree),
        )
    folder = Path(text.removeprefix("folder:")).expanduser()
    if not folder.is_dir():
        raise UserError(f"{text!r} is neither a folder nor of the form pypi:NAME==VERSION.")
    folder = folder.resolve()
    return Source(
        kind="folder",
        name=folder.name,
        path=str(folder),
        sha256=folder_sha256(folder),
        licence=licence_of(folder),
    )


def find_sdist(name: str, version: str | None, index: Index) -> Sdist:
    """The source archive of one version of a package, or of its newest release.

    Raises:
        UserError: no such package, version or archive, or the index cannot be reached.
    """
    sdists = _list_sdists(name, index)
    if version is None:
        released = [s for s in sdists if not s.yanked and not s.version.is_prerelease]
        if not released:
            raise UserError(f"{name}: the index has no released source archive (.tar.gz).")
        return max(released, key=lambda s: s.version)
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise UserError(f"{name}: {version!r} is not a version.") from None
    for sdist in sdists:
        if sdist.version == wanted:
            return sdist
    known = ", ".join(str(s.version) for s in sorted(sdists, key=lambda s: s.version)[-5:])
    raise UserError(f"{name}: the index has no source archive of version {version}; newest: {known or 'none'}.")


def folder_sha256(folder: Path) -> str:
    """SHA-256 over the names, kinds and contents of a folder's files, caches and VCS data left out."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
        relative = path.relative_to(folder)
        if any(_ignored(part) for part in relative.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        kind = "link" if path.is_symlink() else "file"
        digest.update(f"{kind} {len(content)} {relative.as_posix()}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a `.tar.gz` into `folder` without its single top folder, keeping modification times.

    Raises:
        UserError: damaged, or it holds absolute paths, paths or links that lead out, or devices.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar.getmembers():
                parts = Path(member.name).parts
                if len(parts) < 2 and member.isdir():
                    continue
                member.name = str(Path(*parts[1:])) if len(parts) > 1 else member.name
                if member.islnk():
                    member.linkname = str(Path(*Path(member.linkname).parts[1:]))
                tar.extract(member, folder, filter="data")
    except tarfile.FilterError as error:
        raise UserError(f"{archive.name}: refused, it would write outside its folder ({error}).") from None
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UserError(f"{archive.name}: a damaged archive ({error}).") from None


def _list_sdists(name: str, index: Index) -> list[Sdist]:
    """All `.tar.gz` source archives of a package."""
    url = f"{index.url.rstrip('/')}/{canonicalize_name(name)}/"
    try:
        reply = _client(index).get(url, headers={"Accept": _ACCEPT})
    except httpx.HTTPError as error:
        raise UserError(f"{name}: the package index cannot be reached ({error}).") from None
    if reply.status_code == 404:
        raise UserError(f"{name}: there is no such package in the index.")
    if reply.status_code != 200 or "json" not in reply.headers.get("content-type", ""):
        raise UserError(f"{name}: the package index answered {reply.status_code} and no JSON.")
    sdists = [_as_sdist(name, file, reply.url) for file in reply.json()["files"]]
    return [s for s in sdists if s is not None]


def _as_sdist(name: str, file: dict[str, Any], page: httpx.URL) -> Sdist | None:
    """A file entry of the index as a source archive of `name`, if it is one."""
    filename, sha256 = file["filename"], file.get("hashes", {}).get("sha256")
    if not filename.endswith(".tar.gz") or sha256 is None:
        return None
    try:
        found, version = parse_sdist_filename(filename)
    except InvalidSdistFilename:
        return None
    if found != canonicalize_name(name):
        return None
    return Sdist(filename, version, str(page.join(file["url"])), sha256, bool(file.get("yanked")))


def _download(sdist: Sdist, index: Index, progress: Progress) -> Path:
    """Fetch, check and unpack an archive into the cache."""
    with building(cache_dir("sources") / sdist.sha256) as folder:
        if folder is not None:
            archive = folder.with_name(folder.name + ".tar.gz")
            try:
                got = _save(sdist, archive, index, progress)
                if got != sdist.sha256:
                    raise UserError(
                        f"{sdist.filename}: what arrived has sha256 {got}, "
                        f"but the index promised {sdist.sha256}; refused."
                    )
                unpack(archive, folder)
            finally:
                archive.unlink(missing_ok=True)
    return cache_dir("sources") / sdist.sha256


def _save(sdist: Sdist, target: Path, index: Index, progress: Progress) -> str:
    """Stream the archive to `target`; its SHA-256."""
    digest = hashlib.sha256()
    try:
        with _client(index).stream("GET", sdist.url) as reply, open(target, "wb") as out:
            reply.raise_for_status()
            size = reply.headers.get("content-length")
            with progress.phase(f"fetch {sdist.filename}", int(size) if size else None) as bar:
                for chunk in reply.iter_bytes(1 << 16):
                    digest.update(chunk)
                    out.write(chunk)
                    bar.advance(len(chunk))
    except httpx.HTTPError as error:
        raise UserError(f"{sdist.filename}: the download failed ({error}).") from None
    return digest.hexdigest()


def _client(index: Index) -> httpx.Client:
    """An HTTP client that trusts what pip trusts."""
    verify = ssl.create_default_context(cafile=index.certificates) if index.certificates else True
    return httpx.Client(follow_redirects=True, timeout=60.0, verify=verify)


def _fetch_folder(source: Source, base: Path | None) -> Path:
    """A copy of a local folder in the cache, if the folder still holds what was pinned."""
    assert source.path is not None
    final = cache_dir("sources") / source.sha256
    if final.is_dir():
        return final
    folder = (base or Path()) / source.path
    if not folder.is_dir():
        raise UserError(f"{source.name}: the source folder {folder} does not exist.")
    got = folder_sha256(folder)
    if got != source.sha256:
        raise UserError(f"{folder} has changed: its sha256 is {got}, but {source.sha256} is pinned; refused.")
    with building(final) as scratch:
        if scratch is not None:
            shutil.copytree(folder, scratch, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*IGNORED))
    return final


def _ignored(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in IGNORED)
