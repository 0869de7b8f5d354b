"""Two components of a pipeline that does next to nothing, run by TFX's real runners."""

# TFX reads the annotations of components, so they must not be texts here.
import os
import signal
import sys
from pathlib import Path

import apache_beam as beam
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.orchestration.metadata import sqlite_metadata_connection_config
from tfx.orchestration.pipeline import Pipeline
from tfx.types.standard_artifacts import Examples, Model

FAIL = "fail"
INTERRUPT = "interrupt"
SHOW_BEAM = "show_beam"


@component
def Numbers(  # noqa: N802
    numbers: OutputArtifact[Examples], count: Parameter[int]
):
    Path(numbers.uri, "numbers.txt").write_text("\n".join(map(str, range(count))))
    numbers.set_int_custom_property("records", count)
    print("numbers are ready")
    os.write(2, b"said by C\n")


@component
def Total(  # noqa: N802
    numbers: InputArtifact[Examples],
    total: OutputArtifact[Model],
    mode: Parameter[str],
):
    if mode == FAIL:
        raise ValueError("no total today")
    if mode == INTERRUPT:
        os.kill(os.getpid(), signal.SIGINT)
    if mode == SHOW_BEAM:
        print("engine:", type(beam.Pipeline().runner).__name__, "arguments:", sys.argv)
    text = Path(numbers.uri, "numbers.txt").read_text()
    Path(total.uri, "total.txt").write_text(str(sum(map(int, text.split()))))
    total.set_float_custom_property("loss", 0.5)


def create_tiny_pipeline(root: Path, *, count: int = 3, mode: str = "") -> Pipeline:
    numbers = Numbers(count=count)
    total = Total(numbers=numbers.outputs["numbers"], mode=mode)
    return Pipeline(
        pipeline_name="tiny",
        pipeline_root=str(root / "artifacts"),
        components=[numbers, total],
        enable_cache=True,
        metadata_connection_config=sqlite_metadata_connection_config(str(root / "metadata.db")),
    )
