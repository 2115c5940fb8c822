import pytest

from scienceide.base.errors import UserError
from scienceide.trainers.config import CollectConfig
from scienceide.trainers.gather import gather
from scienceide.trainers.trajectories import Trajectories
from tests.trainers.test_sft import Kept


def test_oracle_trajectories_of_the_train_tasks(catalog, shop, tmp_path):
    kept = Kept()
    result = gather(CollectConfig(), tmp_path, shop=shop, recorder=kept)
    assert (result.episodes, result.ungraded, result.reward) == (2, 0, 1.0)
    records = Trajectories(tmp_path / "trajectories").read()
    assert {r.task for r in records} == {"oscillator/kick-sign", "oscillator/drift-factor"}
    assert all(r.hint == 1 and r.messages[1]["content"].startswith("@edit line=") for r in records)
    assert gather(CollectConfig(), tmp_path, shop=shop, recorder=Kept()) == result, "nothing is played twice"
    more = gather(CollectConfig(hints=(1, "none")), tmp_path, shop=shop)
    assert more.episodes == 4


def test_a_local_model(catalog, shop, tmp_path):
    settings = CollectConfig(agent="local", model="tiny", split="heldout", max_tokens=4, seeds=(0, 1), temperature=1.0)
    result = gather(settings, tmp_path, shop=shop)
    assert (result.episodes, result.reward) == (4, 0.0)
    drawn = {(r.task, r.seed): r.spans[0].token_ids for r in Trajectories(tmp_path / "trajectories").read()}
    assert drawn["spring/kick-sign", 0] != drawn["spring/kick-sign", 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "local"}, "model has to be named"),
        ({"agent": "local", "model": "tinny"}, "did you mean tiny"),
        ({"agent": "chat"}, "--model"),
        ({"split": "heldout", "environments": ("oscillator",)}, "no heldout tasks in oscillator"),
    ],
)
def test_what_cannot_be_collected(catalog, shop, tmp_path, settings, message):
    with pytest.raises(UserError, match=message):
        gather(CollectConfig(**settings), tmp_path, shop=shop)
