"""What an installation refuses before it downloads: other machines, no room, no compiler."""

import importlib.util
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[3] / "lock" / "check_machine.py"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_machine", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_machine_will_do(check, tmp_path):
    assert check.problems(tmp_path, VERSION)[0] == []


def test_without_a_compiler_it_ends_with_1_and_says_what_to_install(tmp_path):
    done = subprocess.run(
        [sys.executable, str(FILE), VERSION],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "error: a C++ compiler is needed, there is no c++, g++, clang++. " in done.stderr
    assert "apt-get install g++" in done.stderr


@pytest.mark.parametrize(
    ("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64"), ("Windows", "AMD64")]
)
def test_another_system_is_named_and_nothing_else_is_asked(
    check, monkeypatch, tmp_path, system, machine
):
    monkeypatch.setattr(check.platform, "system", lambda: system)
    monkeypatch.setattr(check.platform, "machine", lambda: machine)
    (error,), warnings = check.problems(tmp_path, VERSION)
    assert f"this is {system} on {machine}" in error
    assert warnings == []


@pytest.mark.parametrize(
    ("libc", "said"), [(("glibc", "2.27"), "glibc 2.27"), (("", ""), "another libc")]
)
def test_an_old_or_another_libc_is_named(check, monkeypatch, tmp_path, libc, said):
    monkeypatch.setattr(check.platform, "libc_ver", lambda: libc)
    (error,), _ = check.problems(tmp_path, VERSION)
    assert error.startswith(f"glibc 2.28 or newer is needed, this is {said}. ")


@pytest.mark.parametrize("version", ["2.28", "2.36", "3.0"])
def test_a_newer_glibc_will_do(check, monkeypatch, tmp_path, version):
    monkeypatch.setattr(check.platform, "libc_ver", lambda: ("glibc", version))
    assert check.problems(tmp_path, VERSION)[0] == []


def test_too_small_a_disk_is_refused_unless_the_packages_are_there(check, monkeypatch, tmp_path):
    monkeypatch.setattr(check.shutil, "disk_usage", lambda _: Usage(9e9, 8e9, 1e9))
    (error,), _ = check.problems(tmp_path, VERSION)
    assert f"5 GB of disk are needed, {tmp_path} has 1.0 GB free" in error
    (tmp_path / ".venv" / "lib").mkdir(parents=True)
    assert check.problems(tmp_path, VERSION)[0] == []


def test_missing_headers_are_named_by_their_path(check, monkeypatch, tmp_path):
    monkeypatch.setattr(check.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    (error,), _ = check.problems(tmp_path, VERSION)
    assert f"there is no {tmp_path / 'Python.h'}" in error


def test_little_memory_is_a_warning(check, monkeypatch, tmp_path):
    monkeypatch.setattr(check.os, "sysconf", lambda name: 1 << (10 if "SIZE" in name else 22))
    errors, warnings = check.problems(tmp_path, VERSION)
    assert errors == []
    assert warnings == ["8 GB of memory are wanted, this machine has 4.3."]
