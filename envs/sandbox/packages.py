"""How pip inside a root being built reaches the same package index as pip on this machine.

The host's configuration is turned into environment variables, and the files they name (a certificate
bundle, a constraints file, folders of wheels) are shown read-only at their own paths. None of it stays in
the finished root.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_SECTIONS = ("global", "install", ":env:")
"""In rising precedence, as pip has it."""
_ABOUT_PLACES = {"target", "prefix", "root", "user", "cache-dir", "log", "python", "require-virtualenv", "build"}
"""Settings that say where to install on the host; they mean nothing inside."""


@dataclass(frozen=True)
class IndexAccess:
    """Environment variables for pip, and host paths to show read-only at the same place."""

    environment: Mapping[str, str]
    paths: tuple[Path, ...]


def index_access() -> IndexAccess:
    """This machine's way to its package index."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    settings = parse_settings(listing.splitlines())
    environment = {f"PIP_{key.upper().replace('-', '_')}": value for key, value in settings.items()}
    for name in (*_CERTIFICATES, *_PROXIES, *(key for key in os.environ if key.startswith("PIP_"))):
        if name in os.environ:
            environment.setdefault(name, os.environ[name])
    return IndexAccess(environment, tuple(sorted({p for v in environment.values() for p in _paths_in(v)})))


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """`pip config list` → settings by name; a later section wins over an earlier one."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in lines:
        name, _, quoted = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found and key not in _ABOUT_PLACES:
            try:
                found[section][key] = str(ast.literal_eval(quoted))
            except (ValueError, SyntaxError):
                continue
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def _paths_in(value: str) -> list[Path]:
    paths = []
    for word in value.split():
        path = Path(unquote(urlsplit(word).path)) if word.startswith("file://") else Path(word)
        if path.is_absolute() and path.exists():
            # An index of files often links from its pages to a folder beside it.
            paths.append(path.parent if word.startswith("file://") else path)
    return paths


def pip_steps(requirements: Iterable[str], cutoff: str | None) -> list[list[str]]:
    """The command lines that fill a fresh environment, in order."""
    python = "/opt/env/bin/python"
    steps = []
    wanted = list(requirements)
    dated = []
    if cutoff and wanted:
        # Older pips cannot ask for packages as they were on a day.
        steps.append([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=26"])
        dated = [f"--uploaded-prior-to={cutoff if 'T' in cutoff else cutoff + 'T00:00:00Z'}"]
    if wanted:
        steps.append([python, "-m", "pip", "install", "--no-input", "--no-cache-dir", *dated, "--", *wanted])
    return steps
