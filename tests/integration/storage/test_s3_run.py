"""A real TFX run whose records stay on an S3 server."""

from __future__ import annotations

from pathlib import Path

from records import make_dataset
from s3_server import s3_server
from tfx_runs import output, run

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig, Ingest
from yt8m.components.validation.component import StatisticsGen, create_schema_gen
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(num_classes=1000)


def test_stock_components_read_the_sample_of_remote_records(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    with s3_server() as bucket:
        storage.copy_tree(str(data), f"{bucket}/yt8m")
        config = DataConfig(root=f"{bucket}/yt8m", ingest=Ingest.REFERENCE)
        example_gen = ExampleGen(config=config, features=FEATURES)
        schema_gen = create_schema_gen(Level.VIDEO, FEATURES)
        statistics_gen = StatisticsGen(
            examples=example_gen.outputs["sample"], schema=schema_gen.outputs["schema"]
        )
        run([example_gen, schema_gen, statistics_gen], tmp_path)
        examples = output(tmp_path, "ExampleGen", "examples")
        manifest = Manifest.from_json((Path(examples["uri"]) / "manifest.json").read_text())
        assert {shard.uri.rpartition("/")[0] for shard in manifest.shards} == {f"{bucket}/yt8m"}
    statistics = Path(output(tmp_path, "StatisticsGen", "statistics")["uri"])
    assert (statistics / "Split-train" / "FeatureStats.pb").stat().st_size > 0
    assert not (statistics / "Split-test").exists()
