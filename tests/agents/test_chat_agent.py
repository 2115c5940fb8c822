"""The chat agent against a small HTTP server on this machine that plays scripted replies."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from scienceide.envs.agents import ChatAgent, Endpoint, conduct
from tests.agents.fakes import FakeEpisode, record

pytest.importorskip("openai")


def said(content="", *calls):
    tool_calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": tool_calls} if calls else {})}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def call(name, **arguments):
    return said("", (name, json.dumps(arguments)))


REPAIR = call("edit", path="code.py", line=2, new="    return -x")
SUBMIT = call("submit")


@contextmanager
def endpoint(*script):
    """Serves the replies in order, the last one for ever; yields the URL and what was asked."""
    replies, asked, release = list(script), [], threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
            if reply == "hang":
                release.wait(30)
                return
            status, body, *headers = reply
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        release.set()
        server.shutdown()
        thread.join()
        server.server_close()


def played(*script, attempts=3, timeout=20.0, max_turns=30):
    pauses = []
    with endpoint(*script) as (url, asked):
        settings = Endpoint("m", url, api_key="k", attempts=attempts, timeout_s=timeout)
        kept = record(agent="chat")
        conduct(ChatAgent(settings, sleep=pauses.append), FakeEpisode(max_turns=max_turns), kept)
    return kept, asked, pauses


def test_tool_calls_repair_the_code():
    kept, asked, _ = played(REPAIR, SUBMIT)
    assert kept.reward == 1.0
    assert kept.termination == "submitted"
    assert kept.tokens == {"prompt": 10, "generated": 4}
    assert {t["function"]["name"] for t in asked[0]["tools"]} >= {"bash", "edit", "submit"}
    assert asked[1]["messages"][-1] == {"role": "tool", "tool_call_id": "c0", "content": "code.py edited."}


def test_several_calls_in_one_message_are_all_answered():
    both = said("", ("submit", "{}"), ("view", '{"path": "code.py"}'))
    kept, _, _ = played(both)
    answers = [m for m in kept.messages if m["role"] == "tool"]
    assert [a["tool_call_id"] for a in answers] == ["c0", "c1"]
    assert len(kept.actions) == 1, "nothing is done after the end"


def test_arguments_that_are_no_json_are_seen_by_the_model_and_can_be_put_right():
    kept, asked, _ = played(said("", ("edit", '{"path": "code.py", ')), REPAIR, SUBMIT)
    assert kept.reward == 1.0
    assert "not JSON" in asked[1]["messages"][-1]["content"]
    assert kept.messages[1]["failed"] is True


@pytest.mark.parametrize("arguments", ["[1]", "3", "null"])
def test_arguments_that_are_no_object_fail(arguments):
    kept, _, _ = played(said("", ("edit", arguments)), SUBMIT)
    assert kept.messages[1]["failed"] is True
    assert kept.reward == 0.0


def test_a_tool_that_does_not_exist_is_a_failed_action():
    kept, asked, _ = played(call("fly"), SUBMIT)
    assert "no tool 'fly'" in asked[1]["messages"][-1]["content"]
    assert kept.reward == 0.0


def test_a_model_that_only_talks_is_reminded_and_then_stopped():
    kept, asked, _ = played(said("Let me think."))
    assert kept.termination == "agent_error"
    assert kept.reward == 0.0, "that is the model's own doing, so it is graded"
    assert "tool call" in asked[1]["messages"][-1]["content"]


def test_a_busy_endpoint_is_asked_again_after_what_it_wants():
    kept, _, pauses = played((429, {"error": {"message": "slow down"}}, ("retry-after", "7")), REPAIR, SUBMIT)
    assert kept.reward == 1.0
    assert pauses == [7.0]


def test_pauses_grow():
    _, _, pauses = played((500, {"error": {"message": "oops"}}), attempts=4)
    assert len(pauses) == 3
    assert all(later > earlier for earlier, later in pairwise(pauses))


@pytest.mark.parametrize(
    "reply",
    [
        (503, {"error": {"message": "down"}}),
        (200, b"<html>proxy</html>"),
        (200, {"choices": []}),
        (200, {}),
        (200, b"null"),
        (200, b'{"choices": [{"message": null}]}'),
    ],
    ids=["503", "html", "no choices", "empty", "null", "no message"],
)
def test_an_endpoint_that_stays_broken_makes_the_episode_ungraded(reply):
    kept, asked, _ = played(reply)
    assert len(asked) == 3
    assert kept.termination == "agent_error"
    assert kept.reward is None
    assert "failed 3 times" in kept.fault


def test_an_endpoint_that_hangs_is_given_up():
    kept, asked, _ = played("hang", attempts=2, timeout=0.3)
    assert len(asked) == 2
    assert kept.reward is None
    assert "failed 2 times" in kept.fault


def test_garbage_once_is_forgiven():
    kept, _, _ = played((200, b"<html>"), REPAIR, SUBMIT)
    assert kept.reward == 1.0


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_final(status):
    kept, asked, pauses = played((status, {"error": {"message": "no such model"}}))
    assert len(asked) == 1
    assert pauses == []
    assert kept.reward is None
    assert f"({status})" in kept.fault


def test_nobody_listening():
    kept = record(agent="chat")
    agent = ChatAgent(Endpoint("m", "http://127.0.0.1:1/v1", attempts=2, timeout_s=2), sleep=lambda s: None)
    conduct(agent, FakeEpisode(), kept)
    assert kept.reward is None
    assert "failed 2 times" in kept.fault


def test_the_turn_limit_stops_the_conversation():
    kept, _, _ = played(call("view", path="code.py"), max_turns=4)
    assert kept.termination == "max_turns"
    assert len(kept.actions) == 4
