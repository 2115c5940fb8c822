import json
import signal
import subprocess
import sys
import time

import pytest

from scienceide.base.errors import UserError
from scienceide.trainers.config import LoraConfig, SFTConfig
from scienceide.trainers.models import load_model
from scienceide.trainers.sft import fit, train_sft
from scienceide.trainers.training import adapter, last_checkpoint, linear_names
from scienceide.trainers.trajectories import Trajectories
from tests.trainers.records import record


class Kept:
    def __init__(self):
        self.metrics, self.notes, self.episodes = [], [], []

    def metric(self, step, values):
        self.metrics.append((step, dict(values)))

    def episode(self, record):
        self.episodes.append(record)

    def note(self, text):
        self.notes.append(text)


def config(**changes):
    settings = {"model": "tiny", "epochs": 4, "batch": 2, "learning_rate": 5e-3, "save_steps": 1, **changes}
    return SFTConfig(**settings)


RECORDS = [
    record(f"e{i}", messages=[{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": "@submit"}])
    for i in range(6)
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory, _one_thread):
    folder, kept = tmp_path_factory.mktemp("sft"), Kept()
    return fit(config(), RECORDS, folder, recorder=kept), kept, folder


def test_the_loss_falls_and_is_reported_step_by_step(trained):
    result, kept, _ = trained
    losses = [(step, v["loss"]) for step, v in kept.metrics if "loss" in v]
    assert [step for step, _ in losses] == list(range(1, 13))
    assert losses[-1][1] < losses[0][1]
    assert result.samples == 6


def test_the_result_is_a_model_of_its_own(trained, tiny):
    import torch

    result, _, folder = trained
    loaded = load_model(str(result.model), device="cpu")
    names = [n for n, _ in loaded.model.named_parameters()]
    assert names == [n for n, _ in tiny.model.named_parameters()], "the adapter is merged in"
    assert not all(torch.equal(a, b) for a, b in zip(loaded.model.parameters(), tiny.model.parameters(), strict=True))
    assert last_checkpoint(folder) is None, "checkpoints are gone when the model stands"
    json.dumps(result.as_json())


def test_a_finished_run_is_not_run_again(trained):
    result, _, folder = trained
    kept = Kept()
    assert fit(config(), RECORDS, folder, recorder=kept).model == result.model
    assert kept.metrics == []


def test_over_long_samples_are_reported(tmp_path):
    long = record("long", messages=[{"role": "user", "content": "x" * 300}, RECORDS[0].messages[1]])
    with pytest.raises(UserError, match="episode long"):
        fit(config(max_length=200), [*RECORDS, long], tmp_path)
    kept = Kept()
    result = fit(config(max_length=200, over_long="leave_out", epochs=1), [*RECORDS, long], tmp_path, recorder=kept)
    assert (result.samples, result.left_out) == (6, 1)
    assert any("left out episode long" in note for note in kept.notes)


def test_all_weights_are_trained_without_an_adapter(tmp_path, tiny):
    import torch

    result = fit(config(lora={"enabled": False}, epochs=1), RECORDS, tmp_path)
    after = load_model(str(result.model), device="cpu").model.get_input_embeddings().weight
    assert not torch.equal(after, tiny.model.get_input_embeddings().weight)


def test_adapters_reach_the_layers_that_were_asked_for(tiny):
    from peft import get_peft_model

    loaded = load_model("tiny", device="cpu")
    assert "lm_head" not in linear_names(loaded.model)
    model = get_peft_model(loaded.model, adapter(loaded, LoraConfig(rank=4, top_layers=1)))
    layers = {name.split(".layers.")[1].split(".")[0] for name, p in model.named_parameters() if p.requires_grad}
    assert layers == {"1"}
    assert adapter(loaded, LoraConfig()).r == loaded.spec.lora.rank


SCRIPT = """
import sys, torch
from pathlib import Path
torch.set_num_threads(1)
from scienceide.trainers.sft import fit
from tests.trainers.test_sft import RECORDS, config
fit(config(epochs=float(sys.argv[2])), RECORDS, Path(sys.argv[1]))
"""


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path, trained):
    """Killed with SIGKILL after its second checkpoint, it ends where the undisturbed run ended."""
    import torch

    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), "4"])
    try:
        deadline = time.monotonic() + 300
        while not (tmp_path / "checkpoints" / "checkpoint-2" / "trainer_state.json").exists():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "model").exists()
    kept = Kept()
    result = fit(config(), RECORDS, tmp_path, recorder=kept)
    first = min(step for step, values in kept.metrics if "loss" in values)
    assert first > 1, "it began again"  # the second checkpoint may be half: then it goes on from the first
    ours = load_model(str(result.model), device="cpu").model.state_dict()
    theirs = load_model(str(trained[0].model), device="cpu").model.state_dict()
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in theirs)


def test_a_half_written_checkpoint_is_passed_over(tmp_path):
    for step, state in ((1, "{}"), (2, '{"half": '), (10, None)):
        path = tmp_path / "checkpoints" / f"checkpoint-{step}"
        path.mkdir(parents=True)
        if state is not None:
            (path / "trainer_state.json").write_text(state)
    assert last_checkpoint(tmp_path).endswith("checkpoint-1")
    assert last_checkpoint(tmp_path / "elsewhere") is None


def test_the_oracle_plays_first_where_nothing_is_given(catalog, tmp_path):
    kept = Kept()
    result = train_sft(config(epochs=1), tmp_path, recorder=kept)
    assert result.samples == 2
    assert [e.reward for e in kept.episodes] == [1.0, 1.0]
    assert len(Trajectories(tmp_path / "trajectories").read()) == 2


def test_trajectories_of_held_out_tasks_are_refused(catalog, tmp_path):
    with Trajectories(tmp_path / "t") as store:
        store.add(record(task="spring/kick-sign"))
    with pytest.raises(UserError, match="spring/kick-sign is held out"):
        train_sft(config(trajectories=(str(tmp_path / "t"),)), tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no such trajectory store"):
        train_sft(config(trajectories=(str(tmp_path / "gone"),)), tmp_path)
