import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.envs.agents.protocol import describe_tools, read_call, write_call
from scienceide.envs.tools import TOOLS, Action, Malformed, parse_action

ACTIONS = [
    {"tool": "bash", "command": "ls -l\necho 'a b' > x"},
    {"tool": "view", "path": "src/a.c", "start": 3, "end": 9},
    {"tool": "view", "path": "a file with blanks.py"},
    {"tool": "edit", "path": "a.py", "line": 12, "new": "    x = y + z  # @edit"},
    {"tool": "edit", "path": "a.py", "line": 12, "new": ""},
    {"tool": "edit", "path": "a.py", "old": "one\ntwo", "new": "three"},
    {"tool": "write", "path": "a.py", "content": "first\n\nlast\n"},
    {"tool": "write", "path": "a.py", "content": ""},
    {"tool": "check"},
    {"tool": "check", "case": "energy"},
    {"tool": "submit"},
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda a: a["tool"])
def test_what_is_written_is_read_back(action):
    assert json.loads(read_call(write_call(action))) == action


@pytest.mark.parametrize("action", ACTIONS, ids=lambda a: a["tool"])
def test_calls_are_actions_of_the_environment(action):
    parsed = parse_action(read_call(write_call(action)))
    assert isinstance(parsed, Action)
    assert parsed.tool == action["tool"]


@given(
    path=st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
    line=st.integers(1, 10**6),
    new=st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=60),
)
def test_any_edit_of_a_line_survives(path, line, new):
    action = {"tool": "edit", "path": path, "line": line, "new": new}
    assert json.loads(read_call(write_call(action))) == action


def test_the_focus_stands_in_for_the_path():
    action = {"tool": "edit", "path": "deep/code.c", "line": 3, "new": "x"}
    text = write_call(action, focus="deep/code.c")
    assert "deep" not in text
    assert json.loads(read_call(text, focus="deep/code.c")) == action
    other = write_call({"tool": "view", "path": "other.c"}, focus="deep/code.c")
    assert json.loads(read_call(other, focus="deep/code.c"))["path"] == "other.c"


def test_thinking_before_the_call_is_ignored():
    text = "The sign looks wrong, see mail me@here.\n@edit path=a.py line=2\n    return -x"
    assert json.loads(read_call(text)) == {"tool": "edit", "path": "a.py", "line": 2, "new": "    return -x"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would flip the sign.",
        "@",
        "@nosuch path=a",
        "@edit line=twelve\nx",
        "@edit line=3",
        "@bash",
        "@edit path=a.py line=99999999999999999999\nx",
    ],
)
def test_whatever_else_becomes_a_failed_action(text):
    assert isinstance(parse_action(read_call(text)), Malformed)


def test_the_description_names_every_tool():
    text = describe_tools()
    assert all(f"@{name}" in text for name in TOOLS)
