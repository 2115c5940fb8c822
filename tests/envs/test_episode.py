"""Episodes in a real sandbox: what each tool answers, and that the tree as it stands is what is graded."""

import json

import pytest

from scienceide.base.errors import SandboxError
from scienceide.envs.episode import Episode, EpisodeLimits
from scienceide.envs.patch import Patch

KICK = "oscillator/kick-sign"
FIX = {"tool": "edit", "path": "oscillator.py", "line": 9, "new": "    return -stiffness * position"}


@pytest.fixture
def episode(shop):
    with Episode(shop, shop.task(KICK), EpisodeLimits(max_turns=12, wall_s=60)) as episode:
        episode.start()
        yield episode


def act(episode, tool, **arguments):
    return episode.act(json.dumps({"tool": tool, **arguments}))


def test_the_instruction_tells_the_symptom_and_not_the_place(episode):
    text = episode.start()
    assert "energy" in text
    assert "graded" in text
    assert "oscillator.py" not in text.replace("*.py", "")
    assert "line 9" in episode.start(hint=1)
    assert episode.start(hint=99).endswith("The integrator's step is at fault.")


def test_view_shows_numbered_lines_and_folders(episode):
    assert "    9      return +stiffness * position" in act(episode, "view", path="oscillator.py").text
    assert act(episode, "view", path="oscillator.py", start=9, end=9).text.startswith("    9")
    assert "oscillator.py" in act(episode, "view", path=".").text
    assert act(episode, "view", path="none.py").failed
    assert "has 2" in act(episode, "view", path="oscillator.py", start=4000).text


def test_edit_needs_one_match(episode):
    assert "occurs 0 times" in act(episode, "edit", path="oscillator.py", old="zzz", new="y").text
    assert "occurs 8 times" in act(episode, "edit", path="oscillator.py", old="stiffness", new="y").text
    assert "no line 4000" in act(episode, "edit", path="oscillator.py", line=4000, new="y").text
    assert "needs 'old'" in act(episode, "edit", path="oscillator.py", new="y").text
    assert (
        act(episode, "edit", path="oscillator.py", old="+stiffness", new="-stiffness").text == "oscillator.py edited."
    )


def test_check_measures_the_visible_cases(episode):
    before = act(episode, "check")
    assert (before.exit_code, before.text.splitlines()[0]) == (1, "0 of 1 visible cases pass.")
    assert "energy: error 3.520e+05, tolerance 1.0e-04" in before.text
    assert "period" not in before.text
    act(episode, **FIX)
    after = act(episode, "check", case="energy")
    assert (after.exit_code, after.text) == (0, "1 of 1 visible cases pass.\npass  energy")
    assert "visible cases: energy" in act(episode, "check", case="period").text


def test_the_tree_is_graded_as_it_stands_without_delivery(episode):
    act(episode, **FIX)
    verdict = episode.finish("timeout")
    assert (verdict.outcome, verdict.reward, verdict.passed) == ("graded", 1.0, True)


def test_a_half_way_fix_earns_part(episode):
    act(episode, "edit", path="oscillator.py", line=9, new="    return -1.0001 * stiffness * position")
    verdict = episode.finish("submitted")
    assert 0.0 < verdict.reward < 1.0


def test_nothing_but_code_at_editable_paths_counts(episode):
    forge = "mkdir -p /tmp/cases/energy && echo '{}' > /tmp/cases/energy/observables.json"
    assert act(episode, "bash", command=f"{forge} && touch NOTES && echo x > data.bin").exit_code == 0
    verdict = episode.finish("submitted")
    assert verdict.reward == 0.0
    assert {f.evidence for f in verdict.integrity} == {"NOTES", "data.bin"}


def test_writing_elsewhere_says_that_it_will_not_be_graded(episode):
    assert "will not be graded" in act(episode, "write", path="sub/new.py", content="x = 1\n").text
    assert "Read-only" in act(episode, "write", path="/usr/x", content="").text


def test_output_is_cut_in_the_middle_and_commands_do_not_outlive_their_turn(episode):
    flood = act(episode, "bash", command="sleep 1000 & yes | head -c 100000; echo the end; exit 3")
    assert flood.exit_code == 3
    assert len(flood.text) < 5000
    assert "the end" in flood.text
    assert act(episode, "bash", command="pgrep sleep").exit_code == 1


def test_a_command_may_not_outlive_the_episode(shop):
    with Episode(shop, shop.task(KICK), EpisodeLimits(wall_s=1.0)) as episode:
        episode.start()
        hung = act(episode, "bash", command="sleep 1000")
        assert "[stopped: wall limit]" in hung.text
        assert episode.time_left <= 0
        assert episode.finish("timeout").outcome == "graded"


def test_the_last_turn_ends_it(shop):
    with Episode(shop, shop.task(KICK), EpisodeLimits(max_turns=2)) as episode:
        episode.start()
        assert not episode.act("nonsense").done
        assert episode.act("nonsense").done


def test_start_again_is_pristine(episode):
    act(episode, **FIX)
    assert episode.patch().files.keys() == {"oscillator.py"}
    episode.start()
    assert episode.patch() == Patch({})
    assert episode.finish("submitted").reward == 0.0


def test_a_sandbox_that_cannot_be_had_makes_it_ungraded(shop, monkeypatch, episode):
    def refuse(spec):
        raise SandboxError("The disk is full.")

    act(episode, "edit", path="oscillator.py", line=1, new='"""Never measured before."""')
    monkeypatch.setattr(shop.provider, "acquire", refuse)
    verdict = episode.finish("submitted")
    assert (verdict.outcome, verdict.reward, verdict.fault) == ("ungraded", None, "The disk is full.")


def test_a_closed_episode_says_so(shop):
    episode = Episode(shop, shop.task(KICK))
    with pytest.raises(SandboxError, match="not been started"):
        act(episode, "bash", command="ls")
    assert episode.finish("submitted").outcome == "ungraded"
