"""`scienceide doctor`."""

from __future__ import annotations

import typer

from scienceide.cli.output import Json, out, print_json, print_table


def doctor(json: Json = False) -> None:
    """Say what this machine can do, and what to do about what is missing."""
    from scienceide.doctor import diagnose

    diagnosis = diagnose()
    if json:
        print_json(diagnosis.as_json())
    else:
        rows = [(_MARK[c.status], c.what, c.found, c.remedy) for c in diagnosis.checks]
        print_table("This machine", ("", "what", "found", "what to do"), rows)
        if diagnosis.sandbox is None:
            out.print("No sandbox can be had here, so no task can run.")
    if not diagnosis.healthy:
        raise typer.Exit(3)


_MARK = {"ok": "✓", "missing": "✗", "optional": "○"}
