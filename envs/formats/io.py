"""Reading and writing the formats, with errors that name file, line and field."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from scienceide.base.errors import UserError

M = TypeVar("M", bound=BaseModel)


def load_toml(path: Path, model: type[M]) -> M:
    """Read a TOML file into `model`.

    Raises:
        UserError: the file is missing, is not TOML, or a field is wrong; the message says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}.") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}.") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UserError(describe(error, path, model, text)) from None


def load_json(path: Path, model: type[M]) -> M:
    """Read a JSON file into `model`; errors as for `load_toml`."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except ValidationError as error:
        raise UserError(describe(error, path, model, "")) from None


def to_toml(record: BaseModel) -> str:
    """The TOML text of a record: aliases as keys, defaults left out except the schema."""
    whole = record.model_dump(mode="json", by_alias=True, exclude_none=True)
    data = record.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
    _keep_kinds(data, whole)
    if "schema_version" in type(record).model_fields:
        data = {"schema": 1, **data}
    return tomli_w.dumps(data)


def _keep_kinds(data: Any, whole: Any) -> None:
    """Put back each `kind`: it is a default of its record, yet what tells records of a union apart."""
    if isinstance(data, dict):
        if "kind" in whole:
            data["kind"] = whole["kind"]
        for key, value in data.items():
            _keep_kinds(value, whole[key])
    elif isinstance(data, list):
        for value, counterpart in zip(data, whole, strict=True):
            _keep_kinds(value, counterpart)


def describe(error: ValidationError, path: Path, model: type[BaseModel], text: str) -> str:
    """One sentence for the first thing that is wrong: file, line if it can be found, field, expectation."""
    # A misspelt key is also a missing one; the misspelling says more.
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    keys = [str(k) for k in first["loc"]]
    field = ".".join(keys) or "the file"
    line = _line_of(text, [k for k in keys if not k.isdigit()])
    where = f"{path}:{line}" if line else str(path)
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(keys[-1], _known_keys(model), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{where}: unknown key {field!r}{hint}{more}"
    if first["type"] == "missing":
        return f"{where}: {field!r} is missing.{more}"
    got = first.get("input")
    shown = f", got {got!r}" if isinstance(got, str | int | float | bool) and repr(got) not in first["msg"] else ""
    return f"{where}: {field!r}: {first['msg'].removeprefix('Value error, ')}{shown}.{more}"


def _known_keys(model: type[BaseModel]) -> list[str]:
    """All keys of a model and the models nested in it."""
    keys: list[str] = []
    todo: list[Any] = [model]
    seen: set[type] = set()
    while todo:
        kind = todo.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind in seen:
                continue
            seen.add(kind)
            for name, info in kind.model_fields.items():
                keys.append(info.alias or name)
                todo.append(info.annotation)
        else:
            todo.extend(getattr(kind, "__args__", ()))
    return keys


def _line_of(text: str, keys: list[str]) -> int | None:
    """The 1-based line on which the last of `keys` is set, searched in its table where there is one."""
    if not keys:
        return None
    lines = text.splitlines()
    start = 0
    for table in keys[:-1]:
        for number in range(start, len(lines)):
            if re.match(rf"\s*\[\[?\s*[\w.\"-]*{re.escape(table)}\s*\]\]?", lines[number]):
                start = number
                break
    for number in range(start, len(lines)):
        if re.match(rf"\s*\"?{re.escape(keys[-1])}\"?\s*=", lines[number]):
            return number + 1
    return start + 1 if start else None
