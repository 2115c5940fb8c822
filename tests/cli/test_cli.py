"""The commands: what they print for people and as JSON, and one clear sentence for what is wrong."""

import subprocess
import sys
import zipfile

import pytest

KICK = "oscillator/kick-sign"


def test_environments_are_listed_and_shown(cli):
    assert {"fluids", "spglib", "oscillator"} <= {row["name"] for row in cli("envs", "list", "--json").json}
    assert "Leapfrog" in cli("envs", "list").out
    shown = cli("envs", "show", "oscillator")
    assert (shown.code, "energy" in shown.out) == (0, True)
    assert cli("envs", "show", "oscillator", "--json").json["source"]["licence"] == "Apache-2.0"


def test_tasks_are_listed_and_shown_without_their_place(cli):
    rows = cli("tasks", "list", "--environment", "oscillator", "--json").json
    assert [(row["id"], row["split"]) for row in rows] == [
        ("oscillator/drift-factor", "heldout"),
        (KICK, "train"),
    ]
    shown = cli("tasks", "show", KICK)
    assert "runs away" in shown.out
    assert "line 9" not in shown.out
    assert "line 9" in cli("tasks", "show", KICK, "--hint", 1).out


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_an_episode_prints_its_reward(cli, agent, reward):
    said = cli("episode", "run", KICK, "--agent", agent, "--json")
    assert (said.code, said.json["reward"]) == (0, reward)
    assert said.json["verdict"]["outcome"] == "graded"


def test_an_episode_can_be_replayed_from_its_json(cli, tmp_path):
    first = cli("episode", "run", KICK, "--agent", "oracle", "--json")
    (tmp_path / "episode.json").write_text(first.out)
    again = cli("episode", "run", KICK, "--agent", "replay", "--replay", tmp_path / "episode.json", "--json")
    assert again.json["actions"] == first.json["actions"]
    assert again.json["reward"] == 1.0


def test_a_patch_is_verified(cli, tmp_path):
    assert cli("verify", KICK, "--json").json["reward"] == 0.0
    assert cli("verify", KICK, "--oracle", "--json").json["reward"] == 1.0
    from tests.conftest import FIXTURES

    code = FIXTURES / "oscillator" / "code" / "oscillator.py"
    said = cli("verify", KICK, "--file", f"oscillator.py={code}")
    assert "reward 1" in said.out
    assert "period" in said.out


def test_runs_are_listed_shown_and_exported(cli, tmp_path):
    run = cli("episode", "run", KICK, "--agent", "nop", "--json").json["run"]
    assert [r["id"] for r in cli("runs", "list", "--json").json] == [run]
    assert cli("runs", "show", "last", "--json").json["episodes"][0]["reward"] == 0.0
    assert "nop on oscillator/kick-sign" in cli("runs", "show", run).out
    assert cli("runs", "export", run, "-o", tmp_path / "run.zip").code == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert set(archive.namelist()) == {"run.json", "episode.json"}
    assert "exists already" in cli("runs", "export", run, "-o", tmp_path / "run.zip").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("envs", "show", "fluid"), "did you mean fluids"),
        (("tasks", "show", "oscillator/kick-sing"), "did you mean oscillator/kick-sign"),
        (("tasks", "list", "--environment", "nowhere"), "No environment named 'nowhere'"),
        (("episode", "run", "oscillator/none"), "No task named"),
        (("episode", "run", KICK, "--agent", "orcale"), "did you mean oracle"),
        (("episode", "run", KICK, "--agent", "chat"), "--model NAME"),
        (("episode", "run", KICK, "--agent", "replay"), "--replay FILE"),
        (("episode", "run", KICK, "--sandbox", "dokcer"), "No sandbox named 'dokcer'"),
        (("verify", KICK, "--file", "oscillator.py"), "PATH=LOCAL"),
        (("verify", KICK, "--file", "README=x"), "not editable"),
        (("verify", KICK, "--file", "oscillator.py=/no/such"), "No such file"),
        (("runs", "show", "rl-none"), "No run named"),
        (("sft", "--set", "epochs"), "KEY=VALUE"),
        (("sft", "--set", "epoch=3"), "did you mean 'epochs'"),
        (("sft", "--set", "epochs=-1"), "greater than 0"),
        (("rl", "--config", "/no/such.toml"), "there is no such file"),
        (("rl", "--model", "smolm2-135m", "--set", "tasks=['oscillator/kick-sign']"), "did you mean smollm2-135m"),
        (("rl", "--model", "tiny", "--set", "tasks=['oscillator/drift-factor']"), "held out"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(cli, words, said):
    result = cli(*words)
    assert result.code != 0
    assert said in " ".join(result.err.split())
    assert "Traceback" not in result.err


def test_the_doctor_looks_without_changing_anything(cli):
    said = cli("doctor", "--json").json
    assert said["sandbox"] in ("bubblewrap", "docker")
    assert {"machine", "compilers", "memory", "disk", "GPU"} <= {c["what"] for c in said["checks"]}
    assert "sandbox: bubblewrap" in cli("doctor").out


def test_importing_the_package_brings_nothing_heavy():
    heavy = "torch transformers trl docker ray tree_sitter sqlalchemy pandas matplotlib"
    code = f"import sys, scienceide; print(set({heavy.split()}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
