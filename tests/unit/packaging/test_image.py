"""The image's build is given every file that it copies."""

import re
import subprocess
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


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if re.search(r"-py3\d+(-cuda)?$", lock)])
def test_beams_boot_program_is_of_the_locked_beam_and_python(lock: str) -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "image", f"LOCK={lock}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    (image,) = re.findall(r"BEAM_IMAGE=(\S+)", done.stdout)
    locked = re.search(r"^apache-beam==(\S+)", (ROOT / "lock" / f"{lock}.txt").read_text(), re.M)
    python = re.search(r"-py3(\d+)", lock)
    assert locked is not None
    assert python is not None
    assert image == f"apache/beam_python3.{python[1]}_sdk:{locked[1]}"


def test_the_image_starts_beam_and_has_what_its_boot_program_asks_for() -> None:
    """Specifications of Kubeflow name their own command."""
    text = DOCKERFILE.read_text()
    assert 'ENTRYPOINT ["/opt/apache/beam/boot"]' in text
    assert "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1" in text  # else it makes an environment
    assert "site-packages/pip" not in text


def test_no_step_mounts_a_tmpfs_with_which_buildah_takes_the_image_away() -> None:
    assert "type=tmpfs" not in DOCKERFILE.read_text()
