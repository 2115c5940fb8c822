from scienceide.envs.agents import Answer, LocalAgent, conduct, find_style
from tests.agents.fakes import FakeEpisode, record


class Scripted:
    """A policy that says what it is told to."""

    name = "scripted"
    version = 7

    def __init__(self, *texts, calls=()):
        self.texts, self.calls, self.seen = list(texts), calls, []

    def generate(self, requests):
        self.seen += requests
        text = self.texts.pop(0)
        return [Answer(text, (1, 2, 3), (-0.1, -0.2, -0.3), 10, self.calls) for _ in requests]


def played(policy, style="compact", turns=1, hint=1, max_turns=30):
    kept = record(hint=hint)
    episode = FakeEpisode(max_turns=max_turns)
    conduct(LocalAgent(policy, find_style(style), turns), episode, kept)
    return kept


def test_a_right_edit_is_rewarded_and_recorded():
    kept = played(Scripted("@edit line=2\n    return -x"))
    assert kept.reward == 1.0
    (span,) = kept.spans
    assert span.token_ids == (1, 2, 3)
    assert span.logprobs == (-0.1, -0.2, -0.3)
    assert span.policy_version == 7
    assert kept.messages[span.message]["role"] == "assistant"
    assert kept.tokens == {"prompt": 10, "generated": 3}


def test_nonsense_is_a_failed_action_and_earns_nothing():
    kept = played(Scripted("It is all fine."))
    assert kept.reward == 0.0
    assert kept.messages[1] == {"role": "assistant", "content": "It is all fine.", "failed": True}


def test_a_later_answer_can_put_an_earlier_one_right():
    policy = Scripted("nonsense", "@edit line=2\n    return -x", "@submit")
    kept = played(policy, turns=5)
    assert kept.reward == 1.0
    assert kept.termination == "submitted"
    assert [bool(m.get("failed")) for m in kept.messages if m["role"] == "assistant"] == [True, False, False]
    assert [s.message for s in kept.spans] == [1, 3, 5]
    assert len({request.seed for request in policy.seen}) == 3, "each turn draws anew"


def test_native_calls_are_played_one_by_one_until_the_end():
    calls = (
        {"tool": "edit", "path": "code.py", "line": 2, "new": "    return -x"},
        {"tool": "submit"},
        {"tool": "edit", "path": "code.py", "line": 2, "new": "too late"},
    )
    kept = played(Scripted("", calls=calls), style="tools", turns=2)
    assert kept.reward == 1.0
    assert len(kept.messages[1]["tool_calls"]) == 3
    assert kept.termination == "submitted"


def test_tools_are_offered_only_in_the_tools_style():
    policy = Scripted("x", "x")
    played(policy, style="tools")
    played(policy, style="full")
    assert len(policy.seen[0].tools) == 6
    assert policy.seen[1].tools == ()
