"""An output that is a link: the file that it means is written, and the link stays."""

import json
from pathlib import Path

import pytest

from yt8m.cli.arguments.paths import behind_link, missing, missing_records
from yt8m.cli.main import parse, run

ROW = {"video_id": "a", "class_ids": [1], "scores": [0.5]}


@pytest.mark.parametrize("there", [True, False])
def test_the_file_that_a_link_means_is_written(tmp_path, there):
    rows, out, link = (tmp_path / name for name in ("rows.jsonl", "disk/out.csv", "link.csv"))
    rows.write_text(json.dumps(ROW) + "\n")
    link.symlink_to("disk/out.csv")
    if there:
        out.parent.mkdir()
        out.write_text("old")
    assert run(["convert", "--predictions", str(rows), "--out", str(link)]) == 0
    assert out.read_text().startswith("VideoId,LabelConfidencePairs\n")
    assert link.readlink() == Path("disk/out.csv")


@pytest.mark.parametrize("path", ["pipeline.yaml", "s3://bucket/out.csv", "/dev/stdout", ""])
def test_other_outputs_keep_their_names(path):
    assert behind_link(path) == path


def test_every_output_file_follows_links(tmp_path):
    (tmp_path / "link").symlink_to("file")
    link, file = str(tmp_path / "link"), str(tmp_path / "file")
    for words, option, rest in (
        ("predict", "out", ["--model=m", "--data=d", "--format=video", "--out"]),
        ("score", "label_cache", ["--submission=s", "--data=d", "--label-cache"]),
        ("export", "out", ["--model=m", "--format=tgz", "--out"]),
        ("models manifest", "out", ["1", "--push=p", "--out"]),
        ("kubeflow compile", "out", ["smoke", "--root=s3://b/r", "--out"]),
    ):
        assert getattr(parse(words, [*rest, link]), option) == file


def test_a_link_that_leads_nowhere_is_named_and_not_proposed(tmp_path):
    loop, broken = tmp_path / "loop", tmp_path / "broken"
    loop.symlink_to(loop)
    broken.symlink_to(tmp_path / "gone")
    for link in (loop, broken):
        assert missing(str(link)) == "is a link that leads nowhere; repair it"
        said = f"{link} is a link that leads nowhere; repair it"
        assert missing(str(link / "below")) == said
        assert missing_records(str(link / "a/*.tfrecord")) == said
