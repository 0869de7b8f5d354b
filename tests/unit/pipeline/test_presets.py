"""Presets and files: what is loaded, in which order of precedence, and where an error points."""

import itertools
import json
import os
from importlib import resources

import pytest
import yaml

from yt8m.components.evaluator.thresholds import check_gate
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import changed_values, list_presets, load_config, preset_values
from yt8m.schemas.config_tree import flatten, from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.features import Level
from yt8m.schemas.roles import on_record

PRESETS = {
    "smoke": Level.VIDEO,
    "video_logistic": Level.VIDEO,
    "video_moe": Level.VIDEO,
    "video_mlp": Level.VIDEO,
    "video_mlp_small": Level.VIDEO,
    "frame_logistic": Level.FRAME,
    "frame_dbof": Level.FRAME,
    "frame_lstm": Level.FRAME,
    "frame_netvlad": Level.FRAME,
    "frame_nextvlad": Level.FRAME,
    "frame_transformer": Level.FRAME,
    "segment_finetune": Level.SEGMENT,
}


def test_the_presets_promised_are_there():
    assert set(PRESETS) <= {preset.name for preset in list_presets()}


@pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)
def test_every_preset_loads_names_itself_and_says_what_it_is(preset):
    config = load_config(preset.name)
    assert config.name == preset.name
    assert 20 < len(preset.summary) < 100
    assert config.data.level is PRESETS.get(preset.name, config.data.level)
    assert from_dict(PipelineConfig, json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)
def test_shown_configuration_can_be_given_back_as_a_file(preset, tmp_path):
    config = load_config(preset.name)
    path = tmp_path / "saved.yaml"
    path.write_text(yaml.safe_dump(to_dict(config), sort_keys=False))
    assert load_config(str(path)) == config


@pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)
def test_every_preset_has_a_gate_of_its_own_that_may_run(preset):
    config = load_config(preset.name)
    assert check_gate(config.gate, config.evaluator) == []
    assert config.gate.gap_threshold >= 0.4
    assert config.gate.gap_change_threshold is not None
    assert config.gate.min_examples >= 1000 or preset.name == "smoke"


def test_presets_differ_in_more_than_their_names():
    plain = [to_dict(load_config(preset.name)) for preset in list_presets()]
    texts = {json.dumps({**values, "name": ""}, sort_keys=True) for values in plain}
    assert len(texts) == len(plain)


def test_every_yaml_file_of_the_package_is_a_preset():
    names = {f.name for f in (resources.files("yt8m.pipeline") / "configs").iterdir()}
    assert {f"{preset.name}.yaml" for preset in list_presets()} == {
        name for name in names if not name.startswith("__")
    }


def test_set_wins_over_the_file_and_the_file_over_the_defaults(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("trainer: {batch_size: 7, seed: 5}\n")
    defaults = load_config("defaults")
    config = load_config(str(path), ["trainer.seed=6"])
    assert defaults == PipelineConfig()
    assert (config.trainer.batch_size, config.trainer.seed) == (7, 6)
    assert config.trainer.accumulate == defaults.trainer.accumulate
    assert config.data == defaults.data


def test_a_file_changes_the_preset_or_the_file_that_it_builds_on(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "wide.yaml").write_text("base: video_mlp\ntrainer: {model: {width: 64}}\n")
    (tmp_path / "mine.yaml").write_text("base: site/wide.yaml\nname: mine\n")
    config = load_config(str(tmp_path / "mine.yaml"), ["trainer.seed=6"])
    assert config == load_config(
        "video_mlp", ["trainer.model.width=64", "name=mine", "trainer.seed=6"]
    )


def test_each_further_layer_is_on_top_of_the_one_before(tmp_path):
    (tmp_path / "a.yaml").write_text("trainer: {seed: 5, batch_size: 7}\n")
    (tmp_path / "b.yaml").write_text("trainer: {seed: 6}\n")
    names = ["smoke", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    config = load_config(names, ["trainer.batch_size=8"])
    assert config == load_config("smoke", ["trainer.seed=6", "trainer.batch_size=8"])


BASES = [
    ("base: video_mpl", "no preset 'video_mpl'; did you mean video_mlp?"),
    ("base: absent.yaml", "absent.yaml: the configuration cannot be read (No such file"),
    ("base: [smoke]", "base = ['smoke']: must be a preset's name or a file's path"),
    ("base: mine.yaml", "the files build on one another in a circle"),
    ("base: ../there/mine.yaml", "the files build on one another in a circle"),
]


@pytest.mark.parametrize(("text", "message"), BASES)
def test_a_base_that_cannot_be_used_is_the_users_mistake(tmp_path, text, message):
    file = tmp_path / "there" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(UserError) as error:
        load_config(str(file))
    assert message in str(error.value)


def test_an_error_names_the_topmost_layer_that_sets_the_value(tmp_path):
    base, top = tmp_path / "base.yaml", tmp_path / "top.yaml"
    base.write_text("trainer: {batch_size: 0, seed: x}\n")
    top.write_text("base: base.yaml\ntrainer: {seed: y}\n")
    with pytest.raises(ConfigError) as error:
        load_config(str(top))
    assert sorted(error.value.problems) == [
        f"{base}: trainer.batch_size = 0: must be 1 or more",
        f"{top}: trainer.seed = 'y': must be a whole number",
    ]


CHANGES = [
    [],
    ["trainer.backend={name: local, processes: 'chief=1,worker=1'}"],
    ["tuner={space: {trainer.optimizer.learning_rate: {log: [0.001, 0.1]}}}"],
    ["data.splits.extra=[more*]", "data.unlabelled=[extra]", "retrain.alarm_days=2"],
    ["trainer.heads=[{name: entities}, {name: verticals}]", "evaluator.vocabulary=v.csv"],
    ["trainer.optimizer={name: sgd, learning_rate: 1}", "bulk_inferrer={split: test}"],
]


@pytest.mark.parametrize("settings", CHANGES, ids=str)
@pytest.mark.parametrize("name", ["defaults", "smoke", "video_mlp", "video_moe"])
def test_changed_values_are_a_file_that_loads_as_the_same_configuration(tmp_path, name, settings):
    config = load_config(name, settings)
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(changed_values(config)))
    assert load_config(str(file)) == config
    complete = yaml.safe_dump(to_dict(config)).splitlines()
    assert len(yaml.safe_dump(changed_values(config)).splitlines()) < len(complete) / 3


def test_what_a_preset_changes_is_what_its_file_sets():
    for preset, values in preset_values().items():
        changed = changed_values(load_config(preset))
        assert set(flatten(changed)) <= set(flatten(values)), preset


def test_an_entry_is_added_to_a_mapping_and_the_others_stay(tmp_path):
    config = load_config("defaults", ["data.splits.extra=[more*]"])
    assert config.data.splits == {**PipelineConfig().data.splits, "extra": ("more*",)}


def test_another_model_takes_nothing_from_the_one_before():
    config = load_config("video_mlp", ["trainer.model.name=moe", "trainer.model.num_mixtures=3"])
    assert (config.trainer.model.name, config.trainer.model.num_mixtures) == ("moe", 3)


def test_verticals_are_learned_from_a_vocabulary_so_there_must_be_one():
    heads = "trainer.heads=[{name: entities}, {name: verticals}]"
    with pytest.raises(ConfigError, match=r"evaluator\.vocabulary = '': must be a vocabulary\.csv"):
        load_config("video_mlp", [heads])
    assert load_config("video_mlp", [heads, "evaluator.vocabulary=v.csv"]).trainer.learns_verticals


def test_json_is_a_configuration_file_too(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(to_dict(load_config("smoke"))))
    assert load_config(str(path)) == load_config("smoke")


def test_empty_file_means_the_defaults(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing yet\n")
    assert load_config(str(path)) == PipelineConfig()


def test_exponent_without_a_dot_is_a_number_wherever_it_comes_from(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("trainer: {optimizer: {name: adam, learning_rate: 1e-3}}\n")
    assert load_config(str(path)).trainer.optimizer.learning_rate == 0.001
    set_ = load_config("defaults", ["trainer.optimizer.learning_rate=2e-3"])
    assert set_.trainer.optimizer.learning_rate == 0.002


WRONG = [
    ("trainer.batch_sise=8", "trainer.batch_sise: unknown key; did you mean batch_size?"),
    ("max_steps=8", "max_steps: unknown key; did you mean trainer.max_steps?"),
    ("trainer.learning_rate=1", "unknown key; did you mean trainer.optimizer.learning_rate?"),
    ("trainer.num_clases=1", "trainer.num_clases: unknown key; "),
    ("trainr.batch_size=8", "trainr: unknown key; did you mean trainer?"),
    ("trainer.batch_size=many", "trainer.batch_size = 'many': must be a whole number"),
    ("trainer.batch_size=0", "trainer.batch_size = 0: must be 1 or more"),
    ("trainer.batch_size=", "trainer.batch_size = None: must be a whole number"),
    ("data.level=vidoe", "data.level = 'vidoe': must be one of video, frame, segment; did you"),
    ("trainer.model.name=logistik", "trainer.model.name = 'logistik': must be one of dbof"),
    ("trainer.model=moe", "trainer.model = 'moe': must be a mapping with the key `name`"),
    ("trainer=fast", "trainer = 'fast': must be a mapping"),
    ("trainer.optimizer.learning_rate=-1", "trainer.optimizer.learning_rate = -1.0: must be"),
    ("trainer.optimizer={name: lion, learning_rate: -1}", "learning_rate = -1.0: must be above 0"),
    ("features.names=[rgb]", "features.sizes = [1024, 128]: must be one size for each of the"),
    ("gate.gap_threshold=2", "gate.gap_threshold = 2.0: must be between 0 and 1"),
    ("trainer.model.name=dbof", "trainer.model.name = 'dbof': must be a model of video vectors"),
    ("trainer.heads=[{name: segments}]", "trainer.heads = ['segments']: must be without segments"),
    ("data.span=yesterday", "data.span = 'yesterday': must be latest"),
]


@pytest.mark.parametrize(("setting", "message"), WRONG)
def test_wrong_setting_is_refused_with_path_value_and_what_is_allowed(setting, message):
    with pytest.raises(ConfigError) as error:
        load_config("defaults", [setting])
    assert message in str(error.value)


def test_errors_say_whether_the_file_or_the_command_line_is_wrong(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("trainer: {batch_size: 0}\nfeatures: {num_clases: 5}\n")
    with pytest.raises(ConfigError) as error:
        load_config(str(path), ["trainer.seed=x"])
    assert sorted(error.value.problems) == [
        "--set trainer.seed = 'x': must be a whole number",
        f"{path}: features.num_clases: unknown key; did you mean num_classes?",
        f"{path}: trainer.batch_size = 0: must be 1 or more",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("video_mpl", "did you mean video_mlp?"),
        ("nothing_like_it", "presets: frame_dbof"),
        ("absent.yaml", "cannot be read (No such file"),
        ("some/where", "cannot be read (No such file"),
    ],
)
def test_unknown_preset_or_file_is_the_users_mistake(name, message):
    with pytest.raises(UserError) as error:
        load_config(name)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n- b\n", "must be a mapping"),
        ("trainer: [\n", "expected the node content"),
        ("trainer: {seed: 1}\ntrainer: {seed: 2}\n", "line 2: the key 'trainer' is given twice"),
    ],
)
def test_file_that_is_no_configuration_is_refused(tmp_path, text, message):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(str(path))
    assert str(path) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("written", "span"),
    [("7", "7"), ("2026-11-20", "2026-11-20"), ("'7'", "7"), ("last:3", "last:3")],
)
def test_a_span_needs_no_quotes(written, span, tmp_path):
    assert load_config("smoke", [f"data.span={written}"]).data.span == span
    file = tmp_path / "spans.yaml"
    file.write_text(f"data: {{span: {written}}}")
    assert load_config(str(file)).data.span == span


@pytest.mark.parametrize("written", ["true", "1.5", "-7"])
def test_what_is_no_span_is_refused(written):
    with pytest.raises(ConfigError, match="span"):
        load_config("smoke", [f"data.span={written}"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a: " * 5000, "nested deeper than 50 levels"),
        ("data: &again\n  below: *again\n", "or in itself"),
        ("data: &again [*again]\n", "or in itself"),
        (
            "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
            + "".join(
                f"{y}: &{y} [{', '.join([f'*{x}'] * 9)}]\n"
                for x, y in itertools.pairwise("abcdefgh")
            ),
            "more than 100,000 values",
        ),
        ("#" * (1 << 20) + "\n", "a configuration has 1,048,576 at most"),
    ],
    ids=["deep", "alias", "list", "many", "long"],
)
def test_a_file_without_end_is_refused_with_the_reason(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        load_config(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_read(tmp_path, make):
    make(tmp_path / "mine.yaml")
    with pytest.raises(UserError, match="must be a regular file"):
        load_config(str(tmp_path / "mine.yaml"))


def test_a_webhooks_address_is_in_no_record():
    config = load_config("smoke", ["notify.command=[curl, --data, '@-', 'https://hook/s3cret']"])
    assert config.notify.command[3] == "https://hook/s3cret"
    assert on_record(config)["notify"]["command"] == ["curl", "***", "***", "***"]
    assert "s3cret" not in json.dumps(on_record(config))
