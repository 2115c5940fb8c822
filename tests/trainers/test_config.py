import pytest
import tomli_w

from scienceide.base.errors import UserError
from scienceide.trainers import config as configs
from scienceide.trainers.config import CollectConfig, EvalConfig, RLConfig, SFTConfig, load_config, make_config

ALL = [CollectConfig, SFTConfig, RLConfig, EvalConfig]


@pytest.mark.parametrize("kind", ALL)
def test_defaults_survive_a_file(kind, tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(tomli_w.dumps(kind().model_dump(mode="json", exclude_none=True)))
    assert load_config(path, kind) == kind()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rate = -1.0", r"job\.toml:1: 'learning_rate'"),
        ("epochs = 3\nlearnig_rate = 1.0", r"job\.toml:2: unknown key 'learnig_rate'; did you mean 'learning_rate'"),
        ("over_long = 'cut'", "over_long"),
        ("[lora]\nrank = 0", "rank"),
        ("epochs = [", "not valid TOML"),
    ],
)
def test_a_broken_file_says_where(tmp_path, text, message):
    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        load_config(path, SFTConfig)


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        load_config(tmp_path / "gone.toml", RLConfig)


def test_settings_by_keyword():
    assert make_config(RLConfig, {"steps": 3}).steps == 3
    with pytest.raises(UserError, match="did you mean 'steps'"):
        make_config(RLConfig, {"step": 3})


def test_hint_levels():
    assert make_config(EvalConfig, {"hints": ["none", 2]}).hints == ("none", 2)
    assert configs.hint_level("none") is None
    assert configs.hint_level(2) == 2


@pytest.mark.parametrize("kind", ALL)
def test_every_setting_says_what_it_does(kind):
    import ast
    import inspect

    for owner in kind.__mro__:
        if owner.__module__ != configs.__name__:
            continue
        body = ast.parse(inspect.getsource(owner)).body[0].body
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and field.target.id != "seed":
                assert isinstance(after, ast.Expr), f"{owner.__name__}.{field.target.id} has no docstring"
