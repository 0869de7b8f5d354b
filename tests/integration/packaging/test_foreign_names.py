"""What we take from TFX and its family, name by name: all of it is in TFX 1.16 and in TFX 1.21.

`foreign_names.txt` lists the names that were found in both. A name that is not on it has to be
looked up in TFX 1.21 first (docs/decisions/0001); as a script this writes the list again.
"""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIST = Path(__file__).with_name("foreign_names.txt")
LAYERS = ("schemas", "components", "pipeline", "kubeflow")
FAMILY = (
    "apache_beam",
    "google.protobuf",
    "kfp_server_api",
    "ml_metadata",
    "tensorflow_data_validation",
    "tensorflow_metadata",
    "tensorflow_model_analysis",
    "tensorflow_transform",
    "tfx",
)


def taken(source: str) -> Iterator[str]:
    """Every dotted name that a module takes: what it imports, and what it reads from that."""
    tree = ast.parse(source)
    meaning = {}  # a name in the module -> what it stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meaning |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            meaning |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    foreign = {
        k: v for k, v in meaning.items() if f"{v}.".startswith(tuple(f"{f}." for f in FAMILY))
    }
    yield from foreign.values()
    for node in ast.walk(tree):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in foreign:
            yield ".".join([foreign[node.id], *reversed(parts)])


def all_taken() -> list[str]:
    modules = (path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
    return sorted({name for path in modules for name in taken(path.read_text("utf-8"))})


def found(name: str) -> object:
    """What the dotted name stands for here."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


def test_every_name_that_we_take_is_on_the_list_and_no_other() -> None:
    listed = LIST.read_text(encoding="utf-8").split()
    assert all_taken() == listed, "look new ones up in TFX 1.21, then run this file as a script"


def test_every_name_on_the_list_is_there() -> None:
    missing = []
    for name in LIST.read_text(encoding="utf-8").split():
        try:
            found(name)
        except (AttributeError, ImportError) as error:
            missing.append(f"{name}: {error}")
    assert missing == []


def test_names_behind_an_alias_are_seen() -> None:
    source = "import apache_beam as beam\nfrom tfx import types\nbeam.io.Read(types.Channel)"
    assert set(taken(source)) == {
        "apache_beam",
        "apache_beam.io",
        "apache_beam.io.Read",
        "tfx.types",
        "tfx.types.Channel",
    }


if __name__ == "__main__":
    LIST.write_text("\n".join(all_taken()) + "\n", encoding="utf-8")
