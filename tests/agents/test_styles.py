import json

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.agents.styles import find_style
from scienceide.envs.episode import Observation
from tests.agents.fakes import FakeEpisode


def opened(style, hint):
    episode = FakeEpisode()
    looks = []

    def act(action):
        looks.append(action)
        return episode.act(json.dumps(action))

    return find_style(style).open(episode.start(hint=hint), act), looks


def test_compact_shows_the_hinted_line_and_its_surroundings():
    opening, looks = opened("compact", 1)
    assert opening.focus == "code.py"
    assert opening.prompt.count("    return +x") == 2, "in its place, and once more as the line to put right"
    assert "In line 2 a sign is wrong" in opening.prompt
    assert looks == [{"tool": "view", "path": "code.py", "start": 1, "end": 4}]


def test_compact_without_a_place_shows_the_symptom_and_looks_at_nothing():
    opening, looks = opened("compact", None)
    assert opening.focus is None
    assert "The sign of f." in opening.prompt
    assert looks == []


def test_compact_survives_a_file_that_cannot_be_seen():
    opening = find_style("compact").open(
        "x\n\nHint: gone.py, line 7: odd.", lambda a: Observation("no file", failed=True)
    )
    assert "In line 7 odd" in opening.prompt


def test_full_explains_the_protocol_and_tools_does_not():
    assert "@submit" in opened("full", 1)[0].prompt
    assert "@submit" not in opened("tools", 1)[0].prompt


def test_an_unknown_style_offers_the_nearest():
    with pytest.raises(UserError, match="did you mean compact"):
        find_style("compakt")
