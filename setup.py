"""Packaging: four top folders, installed as the one import package `yt8m`."""

from pathlib import Path

from setuptools import find_namespace_packages, setup

ROOT = Path(__file__).parent
LAYERS = ("schemas", "components", "pipeline", "kubeflow")

# Ranges admit both TFX 1.16 (the locked default) and TFX 1.21, which needs glibc 2.39. The exact,
# hashed set that is tested is in lock/. See docs/decisions/0001-tfx-and-beam-versions.md.
RUNTIME = [
    "tfx>=1.16,<1.22",
    "tensorflow>=2.16,<2.22",
    "tf_keras>=2.16,<2.22",
    "tensorflow-transform>=1.16,<1.22",
    "tensorflow-model-analysis>=0.47,<0.53",
    "tensorflow-data-validation>=1.16,<1.22",
    "ml-metadata>=1.16,<1.22",
    "apache-beam>=2.61,<2.75",
    "keras-tuner>=1.4.2,<2",  # with TFX, whose Tuner wants it
    "dill>=0.3.1.1",  # tfx_bsl imports it, and Beam brings it no longer from 2.69 on
    "tensorboard>=2.16,<2.22",  # TensorFlow brings it no longer from 2.21 on
    "setuptools>=78.1.1,<82",  # whose pkg_resources TensorBoard imports, gone from 82 on
    "kfp>=2.13",  # the DSL and the client; 2.13 is the newest for the protobuf of TFX 1.16
    "kfp-server-api>=2.0.5",
    "kfp-pipeline-spec>=0.2.2",
    "kubernetes>=26.1",
    "numpy>=1.24",
    "pyarrow>=10",
    "pyarrow-hotfix",  # where TFX holds pyarrow below 14 (CVE-2023-47248)
    "google-crc32c>=1.5",
    # gs://: what Beam and TensorFlow need of its [gcp] extra.
    "google-auth>=2",
    "google-auth-httplib2>=0.1",
    "google-cloud-storage>=2.18",
    "PyYAML>=6",
    "rich>=13",
    "jinja2>=3.1",  # the report's templates
    "markupsafe>=2.1",
    "tzdata>=2024.1",  # where the machine has no zones of its own, as small images have not
    "boto3>=1.28",
]
# On Linux, TensorFlow's own choice of NVIDIA's libraries; the driver is the machine's.
CUDA = ["tensorflow[and-cuda]"]
# `yt8m history --mlflow`: the client, and what it needs for a store in a database of its own.
MLFLOW = ["mlflow-skinny>=2.14", "sqlalchemy>=2", "alembic>=1.10"]
# Foreign readers of what we write, for tests alone: beside the environment, as MLflow is.
READERS = ["huggingface_hub>=1", "openlineage-python>=1.40"]
# Signatures of versions: beside the environment, as MLflow is.
SIGN = ["model-signing>=1.1,<2", "pyOpenSSL>=24"]  # which it imports and does not name
DEV = [
    "pytest>=8",
    "pytest-xdist>=3.5",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
    "moto[server]>=5",
    "werkzeug>=3",  # which moto's server brings
    "xmltodict>=0.13",  # likewise
    "dnspython>=2",
    "psutil>=5",
    "kfp-kubernetes>=1.0",  # its messages, to hold compiled pipelines against
    "jsonschema>=4.20",
    "selenium>=4.20",
    "ruff",
    "mypy>=1.10",
    "types-PyYAML",
    "types-requests",
    "import-linter>=2",
    "build>=1.2",
    "wheel",
]


setup(
    name="yt8m-pipeline",
    version="1.0.0",
    description="Workflow pipeline that trains, gates and ships YouTube-8M models",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    # src/yt8m links to the four layers, so that editors, type checkers and an editable install
    # find the package by its place alone.
    packages=["yt8m", *(f"yt8m.{name}" for name in find_namespace_packages("src/yt8m"))],
    package_dir={"": "src"},
    package_data={
        **{f"yt8m.{layer}": ["py.typed"] for layer in LAYERS},
        "yt8m.components.registry": ["templates/*.md"],
        "yt8m.components.report": ["templates/*.*", "templates/sections/*.html"],
        "yt8m.pipeline.results": ["templates/*.html"],
        "yt8m.schemas": ["py.typed", "*.pbtxt", "*.csv"],
        "yt8m.pipeline": ["py.typed", "configs/*.yaml", "monitoring/*.yaml"],
        "yt8m.kubeflow": ["py.typed", "rbac.yaml"],
    },
    install_requires=RUNTIME,
    extras_require={"dev": DEV, "cuda": CUDA, "mlflow": MLFLOW, "readers": READERS, "sign": SIGN},
    entry_points={
        "console_scripts": [
            "yt8m = yt8m.cli.main:main",
            "yt8m-beam-worker = yt8m.components.engines.worker:main",
            "yt8m-beam-worker-pool = yt8m.components.engines.worker_pool:main",
        ]
    },
    zip_safe=False,
)
