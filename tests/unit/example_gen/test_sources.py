"""Which files a configuration means."""

from __future__ import annotations

import datetime
import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yt8m.components.artifacts.spans import date_span
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import (
    resolve_sources,
    source_digest,
    stable_bucket,
)
from yt8m.schemas.config_layers import parse_overrides
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError, UserError

BY_SPAN = {"train": ["span-{SPAN}/train*"], "eval": ["span-{SPAN}/validate*"], "test": []}


def _config(root: Path, **values: Any) -> DataConfig:
    return from_dict(DataConfig, {"root": str(root), **values})


def _touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def _names(config: DataConfig, split: str, **overrides: str) -> list[str]:
    sources = resolve_sources(config, **overrides)
    root = overrides.get("data_root") or config.root
    return [os.path.relpath(shard.uri, root) for shard in sources.split(split)]


def test_splits_are_found_by_pattern_and_several_patterns_make_one_split(tmp_path: Path) -> None:
    _touch(tmp_path, "train0", "validate0", "validate1", "validate7", "test0", "notes.txt")
    config = _config(
        tmp_path,
        splits={
            "train": ["train*", "validate[0-4]*", "validate1"],
            "eval": ["validate[5-9]*"],
            "test": ["test*"],
        },
    )
    assert _names(config, "train") == ["train0", "validate0", "validate1"]
    assert _names(config, "eval") == ["validate7"]
    assert _names(config, "test") == ["test0"]


def test_a_file_in_two_splits_is_refused(tmp_path: Path) -> None:
    _touch(tmp_path, "a0", "a1")
    config = _config(tmp_path, splits={"train": ["a*"], "eval": ["a1"]})
    with pytest.raises(UserError, match="a1 is in two splits, train and eval"):
        resolve_sources(config)


@pytest.mark.parametrize("pattern", ["sub//a1", "./sub/a1", "linked", "here/a1", "sub/../sub/a1"])
def test_a_file_in_two_splits_is_refused_by_any_name(tmp_path: Path, pattern: str) -> None:
    _touch(tmp_path, "sub/a0", "sub/a1")
    (tmp_path / "linked").symlink_to(tmp_path / "sub" / "a1")
    (tmp_path / "here").symlink_to(tmp_path / "sub")
    config = _config(tmp_path, splits={"train": ["sub/a*"], "eval": [pattern]})
    with pytest.raises(UserError, match=r"is in two splits, train.* and eval"):
        resolve_sources(config)


def test_a_file_that_two_patterns_of_a_split_name_differently_counts_once(tmp_path: Path) -> None:
    _touch(tmp_path, "sub/a0", "b0")
    names = ["sub/a*", "sub//a*", "./sub/a*", f"{tmp_path}//./sub/a0"]
    config = _config(tmp_path, splits={"train": names, "eval": ["b0"]})
    assert _names(config, "train") == ["sub/a0"]


def test_records_in_directories_of_spans_are_found_by_the_patterns_that_the_message_gives(
    tmp_path: Path,
) -> None:
    names = [f"span-{span}/{name}0" for span in (1, 2) for name in ("train", "validate")]
    _touch(tmp_path, *names)
    with pytest.raises(UserError, match="the directories are spans: give --set") as caught:
        resolve_sources(_config(tmp_path))
    words = shlex.split(str(caught.value).partition("give ")[2])
    splits = parse_overrides(words[1::2])["data"]["splits"]
    found = resolve_sources(_config(tmp_path, splits=splits, span="last:2"))
    assert found.spans == (1, 2)
    assert len(found.shards) == 4


@pytest.mark.parametrize("name", ["span-1/train0", "span-one/train0", "day-1/train0"])
def test_directories_that_are_no_spans_of_all_splits_are_not_called_so(
    tmp_path: Path, name: str
) -> None:
    _touch(tmp_path, name)
    with pytest.raises(UserError, match="eval: no file matches") as caught:
        resolve_sources(_config(tmp_path))
    assert "spans" not in str(caught.value)


def test_a_missing_test_split_is_none_and_a_missing_eval_split_is_named(tmp_path: Path) -> None:
    _touch(tmp_path, "train0", "valid0")
    with pytest.raises(
        UserError, match=r"eval: no file matches validate\*(.|\n)*valid0(.|\n)*data\.divide"
    ):
        resolve_sources(_config(tmp_path))
    _touch(tmp_path, "validate0")
    assert _names(_config(tmp_path), "test") == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is empty"),
        (lambda path: path.write_text(""), "is a file"),
    ],
)
def test_a_root_without_records_is_explained(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "data")
    with pytest.raises(UserError, match=message):
        resolve_sources(_config(tmp_path / "data"))


def test_no_root_at_all_says_how_to_set_it() -> None:
    with pytest.raises(UserError, match=r"data\.root is not set.*--data DIR"):
        resolve_sources(DataConfig())


@pytest.mark.parametrize("name", [b"train\xff.tfrecord", b"a\xff/train.tfrecord"])
def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path, name: bytes) -> None:
    """Digests, metadata and reports hold text: the trainer met such a name first."""
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"train.*\.tfrecord: the name is not UTF-8; rename it"):
        resolve_sources(_config(path.parent))


def test_a_broken_link_is_named(tmp_path: Path) -> None:
    _touch(tmp_path, "validate0")
    (tmp_path / "train0").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match="train0: a broken link"):
        resolve_sources(_config(tmp_path))


@pytest.mark.parametrize("name", ["a[1]", "b{x}", "c*?", "{SPAN}", "[!a]\\d"])
def test_a_root_is_no_pattern_whatever_stands_in_its_name(tmp_path: Path, name: str) -> None:
    _touch(tmp_path / name, "train0", "validate0", "span-3/train0", "span-3/validate0")
    _touch(tmp_path / "a1", "train9", "validate9")
    assert _names(_config(tmp_path / name), "train") == ["train0"]
    of_spans = _config(tmp_path / name, splits=BY_SPAN)
    assert resolve_sources(of_spans).spans == (3,)
    assert _names(of_spans, "eval") == ["span-3/validate0"]


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "train1: a named pipe, not a file"),
        (_make_socket, "train1: a socket, not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "train1: a device, not a file"),
        (lambda path: path.symlink_to(path), "train1: a loop of links"),
    ],
)
def test_what_is_no_file_is_named_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], said: str
) -> None:
    _touch(tmp_path, "train0", "validate0")
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make(Path("train1") if make is _make_socket else tmp_path / "train1")
    with pytest.raises(UserError, match=said):
        resolve_sources(_config(tmp_path))


@pytest.mark.parametrize("root", ["s3://", "gs://", "s3:///"])
def test_a_root_without_a_bucket_is_named(root: str) -> None:
    with pytest.raises(UserError, match="names no bucket"):
        resolve_sources(from_dict(DataConfig, {"root": root, "ingest": "reference"}))


def test_the_latest_span_the_named_one_and_a_window(tmp_path: Path) -> None:
    for span in (2, 9, 10):
        _touch(tmp_path, f"span-{span}/train0", f"span-{span}/validate0")
    config = _config(tmp_path, splits=BY_SPAN)
    assert _names(config, "train") == ["span-10/train0"]
    assert _names(config, "train", span="9") == ["span-9/train0"]
    assert _names(config, "train", span="last:2") == ["span-9/train0", "span-10/train0"]
    window = resolve_sources(config, span="last:2")
    assert (window.spans, window.available) == ((9, 10), (2, 9, 10))
    assert [shard.span for shard in window.split("eval")] == [9, 10]


def test_of_each_span_the_highest_version_counts(tmp_path: Path) -> None:
    _touch(
        tmp_path, "1/v2/train0", "1/v10/train0", "2/v1/train0", "1/v2/validate0", "2/v1/validate0"
    )
    _touch(tmp_path, "1/v10/validate0")
    splits = {"train": ["{SPAN}/v{VERSION}/train*"], "eval": ["{SPAN}/v{VERSION}/validate*"]}
    config = _config(tmp_path, splits=splits, span="last:2")
    assert _names(config, "train") == ["1/v10/train0", "2/v1/train0"]


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [("1", "01", "SPAN"), ("1/v2", "1/v02", "VERSION"), ("1/v2", "01/v3", "SPAN")],
)
def test_one_number_in_two_spellings_is_refused_with_both_names(
    tmp_path: Path, first: str, second: str, field: str
) -> None:
    version = "/v{VERSION}" if "v" in first else ""
    for name in (first, second):
        _touch(tmp_path, f"{name}/train0", f"{name}/validate0")
    splits = {n: [f"{{SPAN}}{version}/{n}*"] for n in ("train", "validate")}
    config = _config(tmp_path, splits={"train": splits["train"], "eval": splits["validate"]})
    with pytest.raises(UserError, match=f"have the same {{{field}}}, written") as error:
        resolve_sources(config)
    for name in (first, second):
        assert str(tmp_path / name / "train0") in str(error.value)


def test_a_version_that_has_arrived_for_one_split_only_is_not_mixed_in(tmp_path: Path) -> None:
    _touch(tmp_path, "1/v1/train0", "1/v1/validate0", "1/v2/train0")
    files = {"train": "train", "eval": "validate"}
    splits = {name: [f"{{SPAN}}/v{{VERSION}}/{file}*"] for name, file in files.items()}
    config = _config(tmp_path, splits=splits)
    for span in ("", "1"):
        with pytest.raises(UserError, match=r"version of span 1 .*\(train 2, eval 1\): wait"):
            resolve_sources(config, span=span)
    _touch(tmp_path, "1/v2/validate0")
    assert _names(config, "eval") == ["1/v2/validate0"]


def test_dates_are_spans(tmp_path: Path) -> None:
    for day in ("2026-11-19", "2026-11-20"):
        _touch(tmp_path, f"{day}/train0", f"{day}/validate0")
    splits = {"train": ["{YYYY}-{MM}-{DD}/train*"], "eval": ["{YYYY}-{MM}-{DD}/validate*"]}
    config = _config(tmp_path, splits=splits)
    assert resolve_sources(config).spans == (date_span(datetime.date(2026, 11, 20)),)
    assert _names(config, "train", span="2026-11-19") == ["2026-11-19/train0"]
    missing = r"span 2026-11-18 is not there; .*: 2026-11-19 \(20776\), 2026-11-20 \(20777\)"
    with pytest.raises(UserError, match=missing):
        resolve_sources(config, span="2026-11-18")
    _touch(tmp_path, "2026-11-21/train0")
    with pytest.raises(UserError, match=r"train 2026-11-21 \(20778\), eval 2026-11-20 \("):
        resolve_sources(config)


def test_a_span_that_only_one_split_has_is_refused_unless_another_is_named(tmp_path: Path) -> None:
    _touch(tmp_path, "span-1/train0", "span-1/validate0", "span-2/train0")
    config = _config(tmp_path, splits=BY_SPAN)
    with pytest.raises(UserError, match=r"train 2, eval 1.*wait"):
        resolve_sources(config)
    assert _names(config, "train", span="1") == ["span-1/train0"]


def test_an_eval_split_without_spans_stays_the_same_for_each_span(tmp_path: Path) -> None:
    _touch(tmp_path, "span-1/train0", "span-2/train0", "validate0")
    config = _config(tmp_path, splits={"train": ["span-{SPAN}/train*"], "eval": ["validate*"]})
    assert _names(config, "eval", span="1") == _names(config, "eval", span="2") == ["validate0"]


def test_one_pattern_is_divided_by_a_hash_that_does_not_know_where_the_root_is(
    tmp_path: Path,
) -> None:
    names = [f"part-{at:03d}" for at in range(60)]
    for root in ("here", "there"):
        _touch(tmp_path / root, *names)
    divide = {"patterns": ["part-*"], "buckets": {"train": 2, "eval": 1}}
    here = _config(tmp_path / "here", divide=divide)
    there = _config(tmp_path / "there", divide=divide)
    assert _names(here, "eval") == _names(there, "eval")
    assert sorted(_names(here, "train") + _names(here, "eval")) == names
    assert 10 <= len(_names(here, "eval")) <= 30


def test_too_few_shards_to_divide_are_refused_with_what_to_do(tmp_path: Path) -> None:
    _touch(tmp_path, "part-0")
    config = _config(tmp_path, divide={"patterns": ["part-*"]})
    with pytest.raises(UserError, match="ingest=rewrite"):
        resolve_sources(config)


def test_buckets_hold_their_shares() -> None:
    buckets = {"train": 8, "eval": 1, "holdout": 1}
    fallen = [stable_bucket(f"id{at}", buckets) for at in range(5000)]
    assert fallen.count("eval") == pytest.approx(500, rel=0.2)
    assert fallen.count("holdout") == pytest.approx(500, rel=0.2)


def test_the_digest_changes_with_size_time_and_files_and_with_nothing_else(tmp_path: Path) -> None:
    _touch(tmp_path, "train0", "validate0")
    config = _config(tmp_path)
    first = source_digest(config)
    _touch(tmp_path, "unrelated")
    assert source_digest(config) == first
    os.utime(tmp_path / "train0", (1, 1))
    touched = source_digest(config)
    assert touched != first
    _touch(tmp_path, "train1")
    assert source_digest(config) not in (first, touched)


def test_the_root_of_a_run_overrides_the_configured_one(tmp_path: Path) -> None:
    _touch(tmp_path / "other", "train0", "validate0")
    config = _config(tmp_path / "missing")
    assert _names(config, "train", data_root=str(tmp_path / "other")) == ["train0"]


def test_remote_files_cannot_be_linked_and_the_error_says_what_can(tmp_path: Path) -> None:
    from yt8m.components.example_gen.sources import SourceShard, _check_local

    shard = SourceShard(uri="s3://bucket/train0", split="train", size=1, mtime=0)
    with pytest.raises(UserError, match=r"data\.ingest=reference"):
        _check_local(_config(tmp_path), [shard])
    _check_local(_config(tmp_path, ingest="reference"), [shard])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"span": "newest"}, "data.span = 'newest': must be latest, last:N"),
        ({"splits": {"train": ["a"]}}, "eval has none"),
        ({"max_quarantined": 2}, "max_quarantined"),
        ({"divide": {"buckets": {"train": 1}}}, "buckets"),
        ({"rewrite": {"keep": "function"}}, "dotted path"),
        ({"splits": {"train": ["a"], "eval": ["b"], "a/b": ["c"]}}, "letters, digits"),
    ],
)
def test_wrong_values_are_refused_where_they_are_written(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        from_dict(DataConfig, values, path="data")
