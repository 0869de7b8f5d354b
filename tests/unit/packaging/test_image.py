"""The image's build is given every file that it copies."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "kubeflow" / "images" / "Dockerfile"
LOCKS = sorted(path.stem for path in (ROOT / "lock").glob("tfx-*.txt"))


def copied(lock: str) -> list[str]:
    """What is copied from the checkout, not from another stage."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
    return [name.replace("${LOCK}", lock) for line in lines for name in line.split()]


@pytest.mark.parametrize("lock", LOCKS)
def test_what_is_copied_is_there_and_is_not_left_out_of_what_the_build_is_given(lock: str) -> None:
    rules = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().split()
    assert rules[0] == "*"
    admitted = [rule[1:] for rule in rules if rule.startswith("!")]
    names = copied(lock)
    assert f"lock/{lock}.txt" in names
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert [name for name in names if not any(Path(name).match(rule) for rule in admitted)] == []


def test_no_step_mounts_a_tmpfs_with_which_buildah_takes_the_image_away() -> None:
    assert "type=tmpfs" not in DOCKERFILE.read_text()
