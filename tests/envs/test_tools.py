"""Reading actions: well-formed ones become tool calls, anything else a sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.envs.tools import ACTION_CHARS, TOOLS, Action, Malformed, parse_action


def test_a_call_of_each_tool_is_read():
    calls = {
        "bash": {"command": "ls"},
        "view": {"path": "a.py", "start": 3},
        "edit": {"path": "a.py", "old": "x", "new": "y"},
        "write": {"path": "a.py", "content": ""},
        "check": {},
        "submit": {},
    }
    assert calls.keys() == TOOLS.keys()
    for name, arguments in calls.items():
        assert parse_action(json.dumps({"tool": name, **arguments})) == Action(name, arguments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ls", "not JSON"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", 'object with a "tool"'),
        ('{"command": "ls"}', 'object with a "tool"'),
        ('{"tool": 3}', 'object with a "tool"'),
        ('{"tool": "rm"}', "no tool 'rm'"),
        ('{"tool": "bash"}', "needs 'command'"),
        ('{"tool": "bash", "command": 3}', "must be of type string"),
        ('{"tool": "view", "path": "a", "start": true}', "must be of type integer"),
        ('{"tool": "view", "path": "a", "strat": 1}', "not 'strat'"),
        ('{"tool": "submit", "now": 1}', "takes no arguments"),
        ("x" * (ACTION_CHARS + 1), "characters"),
    ],
)
def test_what_is_wrong_is_said(text, said):
    parsed = parse_action(text)
    assert isinstance(parsed, Malformed)
    assert said in parsed.reason
    assert len(parsed.reason) < 300


@given(
    st.text()
    | st.recursive(st.none() | st.booleans() | st.text(), lambda c: st.dictionaries(st.text(), c)).map(json.dumps)
)
def test_no_text_raises(text):
    assert isinstance(parse_action(text), Action | Malformed)


def test_schemas_name_their_required_arguments():
    for tool in TOOLS.values():
        schema = tool.schema()["function"]["parameters"]
        assert set(schema["required"]) <= set(schema["properties"])
