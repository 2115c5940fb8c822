"""The licence a source tree states, as an SPDX expression: found in its metadata or files, never guessed."""

from __future__ import annotations

import re
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

UNKNOWN = "LicenseRef-unknown"

_CLASSIFIERS = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
}
"""Classifiers that name one licence; "BSD License", for one, does not."""

_TEXTS = (
    (r"permission is hereby granted, free of charge.*the software is provided .as is.", "MIT"),
    (r"apache license,? version 2\.0", "Apache-2.0"),
    (r"redistribution and use in source and binary forms.*neither the name", "BSD-3-Clause"),
    (r"redistribution and use in source and binary forms", "BSD-2-Clause"),
    (r"mozilla public license,? version 2\.0", "MPL-2.0"),
)
"""What a licence file says, in order: the first that matches names it."""


def licence_of(tree: Path) -> str:
    """The SPDX expression of a source tree, `LicenseRef-unknown` where it states none clearly.

    Looks at the core metadata (License-Expression, License, classifiers), then at pyproject.toml,
    then at the text of a licence file.
    """
    for found in (_from_metadata(tree), _from_pyproject(tree), _from_file(tree)):
        if found is not None:
            return found
    return UNKNOWN


def _from_metadata(tree: Path) -> str | None:
    path = tree / "PKG-INFO"
    if not path.is_file():
        return None
    headers = HeaderParser().parsestr(path.read_text(encoding="utf-8", errors="replace"))
    for key in ("License-Expression", "License"):
        if (found := _spdx(headers.get(key))) is not None:
            return found
    return _from_classifiers(headers.get_all("Classifier") or [])


def _from_pyproject(tree: Path) -> str | None:
    path = tree / "pyproject.toml"
    if not path.is_file():
        return None
    try:
        project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    stated = project.get("license")
    text = stated.get("text") if isinstance(stated, dict) else stated
    return _spdx(text) or _from_classifiers(project.get("classifiers", []))


def _from_classifiers(classifiers: list[str]) -> str | None:
    """The licence that the classifiers agree on."""
    names = {c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License :: ")} - {"OSI Approved"}
    found = {_CLASSIFIERS[n] for n in names if n in _CLASSIFIERS}
    return found.pop() if len(names) == len(found) == 1 else None


def _from_file(tree: Path) -> str | None:
    for path in sorted(tree.iterdir()):
        if re.match(r"(licen[cs]e|copying)", path.name, re.IGNORECASE) and path.is_file():
            text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8", errors="replace")).lower()
            for pattern, spdx in _TEXTS:
                if re.search(pattern, text):
                    return spdx
    return None


def _spdx(text: str | None) -> str | None:
    """`text` as a canonical SPDX expression, None if it is not one."""
    if not text or "\n" in text.strip():
        return None
    try:
        return str(canonicalize_license_expression(text.strip()))
    except InvalidLicenseExpression:
        return None
