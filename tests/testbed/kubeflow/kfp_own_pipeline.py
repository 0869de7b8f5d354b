"""Composes our steps with a component of another's, and our whole pipeline, by kfp's DSL.

python kfp_own_pipeline.py SPEC.yaml STEPS.yaml WHOLE.yaml
"""

# No postponed annotations: kfp reads them.
import sys

from kfp import compiler, dsl

from yt8m.kubeflow import components


@dsl.container_component
def size_of(data: dsl.Input[dsl.Artifact], size: dsl.OutputPath(int)):  # type: ignore[valid-type]
    """Write how many bytes the files of `data` have, which is another's component."""
    program = (
        "import pathlib, sys; "
        "files = [f for f in pathlib.Path(sys.argv[1]).rglob('*') if f.is_file()]; "
        "total = sum(f.stat().st_size for f in files); "
        "out = pathlib.Path(sys.argv[2]); out.parent.mkdir(parents=True, exist_ok=True); "
        "out.write_text(str(total)); print('bytes', total)"
    )
    return dsl.ContainerSpec(
        image="other:1", command=["python", "-c", program], args=[data.path, size]
    )


def main(spec: str, steps_path: str, whole_path: str) -> None:
    """Compile both pipelines."""
    parts = components(spec)

    @dsl.pipeline(name="own-steps")
    def steps(data_root: str) -> None:
        examples = parts["ExampleGen"](data_root=data_root)
        schema = parts["SchemaGen"]()
        statistics = parts["StatisticsGen"](
            examples=examples.outputs["sample"], schema=schema.outputs["schema"]
        )
        size_of(data=statistics.outputs["statistics"])

    @dsl.pipeline(name="own-whole")
    def whole(data_root: str, push_dir: str) -> None:
        parts.pipeline(data_root=data_root, push_dir=push_dir, gap_threshold=0.05)

    compiler.Compiler().compile(steps, steps_path)
    compiler.Compiler().compile(whole, whole_path)


if __name__ == "__main__":
    main(*sys.argv[1:])
