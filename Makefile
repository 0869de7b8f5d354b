# Each target installs what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Without compiled bytecode every process that imports TFX starts three times slower.
export PYTHONDONTWRITEBYTECODE =
# Another checkout on it would replace this one.
unexport PYTHONPATH
export TF_CPP_MIN_LOG_LEVEL ?= 2
BIN := .venv/bin
UV := .venv/uv/bin/uv
# One worker runs a whole file, because its tests share pipelines that take half a minute to create;
# tests/conftest.py sets the order.
WORKERS ?= 2
PYTEST := TMPDIR=$$($(BIN)/python tests/support/memory_disk.py) $(BIN)/pytest --numprocesses $(WORKERS) --max-worker-restart 1 --dist loadfile --no-loadscope-reorder

.PHONY: help install install-dev demo test test-unit test-arithmetic test-arithmetic-0 test-arithmetic-1 test-arithmetic-half test-slow test-slow-half test-distributed test-nights test-real chaos planted planted-five mutants lane-b test-lane-b check check-types format \
	bench golden golden-lanes reference measures mlflow mlflow-server mlflow-ui readers sign jupyter notebook notebook-outputs size lock audit sbom image fake-gcs-server control-plane argo \
	test-control-plane test-kubeflow flink spark prism test-engines clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install:  ## install .venv from the lock (nothing to do if the lock is unchanged)
	@bash lock/install.sh

install-dev:  ## add the developers' tools; targets that need them call it
	@bash lock/install.sh dev

DEMO_SETTINGS := --data demo/data --root demo/run --push demo/models \
  --set 'data.splits={train: ["span-{SPAN}/train*"], eval: ["span-{SPAN}/validate*"], test: []}' \
  --set evaluator.vocabulary=demo/data/vocabulary.csv

demo: install  ## push a first model, and gate a second one on newer data against it (under 3 min)
	rm -rf demo
	$(BIN)/yt8m data generate --quiet --level video --out demo/data --train 2000 --eval 500 --classes 50 --shards 4 --spans 1
	$(BIN)/yt8m run smoke $(DEMO_SETTINGS)
	$(BIN)/yt8m data generate --quiet --level video --out demo/data --train 2000 --eval 500 --classes 50 --shards 4 --spans 2
	$(BIN)/yt8m retrain smoke $(DEMO_SETTINGS) --exit-zero
	$(BIN)/yt8m history --root demo/run
	@echo "the report: $$($(BIN)/yt8m report --root demo/run)"

test: install-dev  ## run unit, integration, distributed and end-to-end tests (17 to 30 min on two cores)
	$(PYTEST) -m "not slow and not real and not lane_b and not control_plane and not engines and not many_runs"

test-unit: install-dev  ## run only the unit tests (1 to 3 min)
	$(PYTEST) --dist load -m "not real and not slow" tests/unit

SLOW := $(PYTEST) --dist load -m "slow and not real"

test-slow: install-dev  ## run endurance tests: more kill points, longer runs (30 min)
	$(SLOW)

# 0 or 1, of the commit's hash.
HALF = $$(( 0x$$(git rev-parse HEAD | tail -c 2) % 2 ))
OTHER_HALF = $$(( 1 - 0x$$(git rev-parse HEAD | tail -c 2) % 2 ))

test-slow-half: install-dev  ## run the half of test-slow that the commit's hash selects
	$(SLOW) --half $(HALF)

HAND_OVERS ?= 100

test-distributed: install-dev  ## run cluster disagreements, restarts, and HAND_OVERS= trainings with pauses, by the hundred
	HAND_OVERS=$(HAND_OVERS) $(PYTEST) --dist load -m many_runs -o faulthandler_timeout=0 tests/distributed

test-nights: install-dev  ## retrain for sixty nights; the disk must stay as it is (up to 90 min)
	$(BIN)/pytest -m many_runs -o faulthandler_timeout=0 tests/e2e

# As on processors without AVX-512, and without oneDNN's kernels: sums come in other orders there.
# Products in bfloat16, which end the process there, are tested in the first half alone.
OLDER_PROCESSOR := ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell \
  NPY_DISABLE_CPU_FEATURES="AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
ARITHMETIC := tests/unit/models tests/unit/trainer tests/unit/metrics tests/unit/synthetic \
  tests/integration/models tests/integration/trainer

test-arithmetic: test-arithmetic-0 test-arithmetic-1  ## run tests of models and trainer with other kernels' rounding (10 min)

test-arithmetic-0: install-dev
	TF_ENABLE_ONEDNN_OPTS=0 $(PYTEST) -q -m "not slow and not real" $(ARITHMETIC)

test-arithmetic-1: install-dev
	TF_ENABLE_ONEDNN_OPTS=1 $(OLDER_PROCESSOR) $(PYTEST) -q -m "not slow and not real" -k "not bfloat16" $(ARITHMETIC)

test-arithmetic-half: install-dev  ## run the half of test-arithmetic that the commit's hash selects
	$(MAKE) --no-print-directory test-arithmetic-$(HALF)

test-other-halves: install-dev  ## run what test-arithmetic-half and test-slow-half leave out
	$(MAKE) --no-print-directory test-arithmetic-$(OTHER_HALF)
	$(SLOW) --half $(OTHER_HALF)

# As pytest finds them: the folders of its `pythonpath`.
ROOMS := $(filter-out %/chaos %/defects %/__pycache__,$(patsubst %/,%,$(wildcard tests/testbed/*/)))
TESTBED := $(subst $(subst ,, ),:,tests/support tests/testbed $(ROOMS))

chaos: install-dev  ## kill processes, fill disks, cut networks, damage files (hours); writes the tables of docs/reliability.md
	PYTHONPATH=$(TESTBED) $(BIN)/python -W ignore -m chaos $(or $(CHAOS),--write)

planted: install-dev  ## plant defects in a copy that tests must notice (15 min); PLANTED= names some, or --write
	PYTHONPATH=$(TESTBED) $(BIN)/python -m defects.planted $(PLANTED)

planted-five: install-dev  ## plant five defects, chosen by the commit's hash
	$(MAKE) --no-print-directory planted PLANTED="--some 5"

mutants: install-dev  ## make COUNT= random changes by SEED=, from number FIRST= on, and print those that no test notices (2 min each)
	PYTHONPATH=$(TESTBED) $(BIN)/python -m defects.mutants --seed $(SEED) --count $(COUNT) $(if $(FIRST),--first $(FIRST))

test-real: install-dev  ## run opt-in tests against real YouTube-8M shards and golden metric values
	$(BIN)/pytest -m real -rs

# A Debian 13 root if this machine's glibc is too old for TFX 1.21's wheels; root creates it.
LANE_B := PYTHONPATH=$(TESTBED) $(BIN)/python tests/testbed/lanes/lane_b.py

lane-b: install-dev  ## run on TFX 1.21 and Python 3.13: demo, unit tests, files of TFX 1.16, the gate, Prism (5 min)
	-$(MAKE) --no-print-directory prism
	mkdir -p $(CACHE)/bin
	$(LANE_B) --share $(CACHE)/bin sh -c 'make demo && .venv/bin/pytest -q -n $(WORKERS) -m "not real" \
	  tests/unit tests/integration/packaging tests/integration/engines \
	  tests/integration/trainer/test_tensorboard.py \
	  tests/integration/kubeflow/test_golden.py tests/e2e/test_gate.py tests/e2e/test_gate_runner.py && \
	  XDG_CACHE_HOME=$(dir $(CACHE)) .venv/bin/pytest -q -rs -m engines tests/e2e/test_spark_and_prism.py'

test-lane-b: install-dev  ## run both TFX versions by turns in one root, and `make test` on TFX 1.21
	$(BIN)/pytest -m lane_b tests/e2e/test_lanes.py
	$(LANE_B) make test WORKERS=$(WORKERS)

check: install-dev  ## check format, lint, plain English, types (mypy and pyright), import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pytest -q -n 0 tests/unit/docs/test_plain_english.py tests/unit/docs/test_meanings.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory check-types

# A separate environment, because it contains Node.js. pyright's own package fetches the
# program from elsewhere when it first runs; this one holds it, and reads the same settings.
PYRIGHT := .venv/pyright/bin/basedpyright
SOURCES := $(shell find -L src/yt8m .typings -name '*.py' -o -name '*.pyi')

check-types: .venv/pyright.checked  ## run pyright (20 s; nothing to do if no source changed)

.venv/pyright.checked: $(PYRIGHT) pyproject.toml $(SOURCES) | install-dev
	$(PYRIGHT)
	@touch $@

$(PYRIGHT): lock/pyright.txt | install-dev
	$(BIN)/python -m venv --without-pip --clear .venv/pyright
	VIRTUAL_ENV=.venv/pyright UV_CONFIG_FILE=lock/uv.toml $(UV) pip sync --quiet --require-hashes $<
	@touch $@

format: install-dev  ## let ruff format and fix the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: install-dev  ## update the expected Kubeflow specs; look at the diff before you commit it
	PYTHONPATH=tests/support $(BIN)/python tests/support/golden_specs.py

golden-lanes: install-dev  ## update the files that the tests of each TFX version read from the other
	PYTHONPATH=$(TESTBED) $(BIN)/python tests/testbed/lanes/golden_lanes.py tests/golden/lanes
	$(LANE_B) --share $(CURDIR)/tests/golden/lanes env PYTHONPATH=$(TESTBED) \
	  python tests/testbed/lanes/golden_lanes.py $(CURDIR)/tests/golden/lanes

reference: install-dev  ## update docs/configuration.md and docs/commands.md from the code
	PYTHONPATH=tests/support $(BIN)/python tests/support/config_reference.py
	PYTHONPATH=tests/support $(BIN)/python tests/support/command_reference.py

measures: install-dev  ## count the sizes of the code for docs/architecture.md
	$(BIN)/python .ci/measures.py

mlflow: install  ## add MLflow's client to .venv, for `yt8m history --mlflow`
readers: install  ## add Hugging Face's and OpenLineage's packages to .venv, for tests
sign: install  ## add OpenSSF model-signing to .venv, for signed versions
mlflow readers sign:
	@bash lock/extras.sh $@

# A separate environment, because TFX limits versions that MLflow's interface needs.
MLFLOW := .venv/mlflow
STORE ?= sqlite:///$(CURDIR)/demo/mlflow.db
MLFLOW_PORT ?= 5000

mlflow-server: $(MLFLOW)/made  ## install MLflow with its interface in .venv/mlflow from its lock (0.6 GB)

mlflow-ui: mlflow-server  ## open MLflow's interface on STORE= (only for this machine, on MLFLOW_PORT=)
	@echo "open http://127.0.0.1:$(MLFLOW_PORT)/#/experiments?workflowType=machine_learning"
	MLFLOW_DISABLE_TELEMETRY=true $(MLFLOW)/bin/mlflow ui --host 127.0.0.1 --port $(MLFLOW_PORT) --workers 1 \
	  --backend-store-uri $(STORE)

$(MLFLOW)/made: lock/mlflow.txt | install
	$(BIN)/python -m venv --without-pip --clear $(MLFLOW)
	VIRTUAL_ENV=$(MLFLOW) UV_CONFIG_FILE=lock/uv.toml $(UV) pip sync --quiet --require-hashes $<
	@touch $@

# A separate environment, because TFX limits versions that Jupyter needs; the kernel is .venv's.
JUPYTER := .venv/jupyter
NOTEBOOKS ?= demo/notebooks

jupyter: $(JUPYTER)/made  ## install JupyterLab in .venv/jupyter from its lock

notebook: jupyter  ## open JupyterLab on copies of docs/notebooks in demo/notebooks
	mkdir -p $(NOTEBOOKS)
	for file in docs/notebooks/*.ipynb; do \
	  test -e $(NOTEBOOKS)/$${file##*/} || cp $$file $(NOTEBOOKS) || exit; done
	$(JUPYTER)/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(JUPYTER_ARGS) $(NOTEBOOKS)

notebook-outputs: jupyter  ## run docs/notebooks and store their outputs (2 min)
	$(JUPYTER)/bin/python tests/support/notebook_outputs.py docs/notebooks/*.ipynb

$(JUPYTER)/made: lock/jupyter.txt lock/jupyter_kernel.py | install
	$(BIN)/python -m venv --without-pip --clear $(JUPYTER)
	VIRTUAL_ENV=$(JUPYTER) UV_CONFIG_FILE=lock/uv.toml $(UV) pip sync --quiet --require-hashes $<
	$(BIN)/python lock/jupyter_kernel.py $(JUPYTER)
	@touch $@

IMAGE ?= yt8m:$(shell git rev-parse --short=12 HEAD 2>/dev/null || echo local)
# For a release, by digest: python@sha256:...
BUILD_BASE ?= python:3.11-bookworm
BASE ?= python:3.11-slim-bookworm
GPU ?=
LOCK ?= tfx-1.16-py311$(if $(filter 1,$(GPU)),-cuda)
# Beam's boot program is taken from it: of the Beam and the Python that LOCK has.
BEAM_IMAGE ?= apache/beam_python3.$(lastword $(subst py3, ,$(LOCK:-cuda=)))_sdk:$(shell sed -n 's/^apache-beam==\([0-9.]*\).*/\1/p' lock/$(LOCK).txt)
IMAGE_BUILDER ?= docker build
IMAGE_ARGS = --file kubeflow/images/Dockerfile --tag $(IMAGE) --build-arg BUILD_BASE=$(BUILD_BASE) \
  --build-arg BASE=$(BASE) --build-arg LOCK=$(LOCK) --build-arg BEAM_IMAGE=$(BEAM_IMAGE) \
  --build-arg SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)

image:  ## build the container image; GPU=1 adds CUDA; options: IMAGE, BUILD_BASE, BASE, BEAM_IMAGE, LOCK
	DOCKER_BUILDKIT=1 $(IMAGE_BUILDER) $(IMAGE_ARGS) .

RUNTIME_LOCKS := $(filter-out %-dev %-cuda,$(patsubst lock/%.txt,%,$(wildcard lock/tfx-*-py*.txt)))

sbom:  ## write the packages of each lock to dist/sbom as CycloneDX JSON, the same bytes each time
	mkdir -p dist/sbom
	for lock in $(RUNTIME_LOCKS); do python3 lock/sbom.py lock/$$lock.txt > dist/sbom/$$lock.cdx.json || exit; done

audit: install  ## check every lock against the advisory database; exit code 3 if it is unreachable
	test -x .venv/audit/bin/pip-audit || { $(BIN)/python -m venv --without-pip .venv/audit && \
	  VIRTUAL_ENV=.venv/audit UV_CONFIG_FILE=lock/uv.toml $(UV) pip sync --quiet --require-hashes lock/audit.txt; }
	$(BIN)/python lock/audit.py .venv/audit/bin/pip-audit $(RUNTIME_LOCKS)

size: install  ## print the number of packages and GB of the installed runtime lock
	$(BIN)/python lock/size.py

lock: install  ## resolve the locks again from setup.py and lock/
	bash lock/resolve.sh

# One is a part of another, and one needs records that only the user has.
bench: install-dev  ## write one table of all benchmarks to build/benchmarks (idle machine; QUICK=1: ten minutes)
	$(BIN)/python -W ignore benchmarks/table.py $(if $(QUICK),--quick)

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/yt8m

fake-gcs-server:  ## build the server for tests of gs:// from tests/testbed/servers/fake_gcs
	cd tests/testbed/servers/fake_gcs && GOBIN=$(CACHE)/bin GOFLAGS="-p=1 -mod=readonly" \
	  go install github.com/fsouza/fake-gcs-server

CONTROL_PLANE := $(CACHE)/control-plane

control-plane:  ## build etcd, Kubernetes' API server and controllers, JobSet and two definitions, for tests
	cd tests/testbed/control_plane && export CGO_ENABLED=0 GOFLAGS=-mod=readonly && \
	  go build -o $(CONTROL_PLANE)/etcd go.etcd.io/etcd/server/v3 && \
	  go build -o $(CONTROL_PLANE)/ k8s.io/kubernetes/cmd/kube-apiserver \
	    k8s.io/kubernetes/cmd/kube-controller-manager sigs.k8s.io/jobset && \
	  jobset=$$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)/config/components && \
	  install -m 644 -D -t $(CONTROL_PLANE)/manifests $$jobset/webhook/manifests.yaml \
	    $$jobset/crd/bases/jobset.x-k8s.io_jobsets.yaml
	cd tests/testbed/control_plane/definitions && \
	  of() { go mod download -json "$$1" | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p'; } && \
	  kserve=$$(of github.com/kserve/kserve) && operator=$$(of github.com/kubeflow/training-operator) && \
	  install -m 644 -D -t $(CONTROL_PLANE)/manifests \
	    $$kserve/config/crd/full/serving.kserve.io_inferenceservices.yaml \
	    $$operator/manifests/base/crds/kubeflow.org_tfjobs.yaml

test-control-plane: install-dev control-plane argo  ## test training jobs, manifests and Argo on the control plane (as root; about 7 min)
	$(BIN)/pytest -rs tests/integration/kubeflow/test_control_plane.py tests/integration/kubeflow/test_argo.py

ARGO := $(CACHE)/argo

# A module's archive drops links, and on Linux this file is a link to the one for macOS. The build uses a copy of the
# module, with its own go.mod.
argo:  ## build Argo's controller and executor, for tests (Go; four minutes once)
	cd tests/testbed/kubeflow/argo && \
	  module=$$(go mod download -json github.com/argoproj/argo-workflows/v4 | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p') && \
	  rm -rf $(ARGO)/source $(ARGO)/manifests && mkdir -p $(ARGO) && cp -r $$module $(ARGO)/source && \
	  chmod -R u+w $(ARGO)/source && cd $(ARGO)/source && \
	  for file in $$(find . -path '*osspecific*' -name '*_darwin.go'); do cp -n $$file $${file%_darwin.go}_linux.go; done && \
	  CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false" go build -o $(ARGO)/ ./cmd/workflow-controller ./cmd/argoexec
	mkdir -p $(ARGO)/manifests/crds $(ARGO)/manifests/rbac
	cp $(ARGO)/source/manifests/base/crds/minimal/argoproj.io_*.yaml $(ARGO)/manifests/crds
	cp $(ARGO)/source/manifests/namespace-install/workflow-controller-rbac/workflow-controller-*.yaml $(ARGO)/manifests/rbac
	rm -rf $(ARGO)/source

test-kubeflow: install-dev $(if $(KFP_DRIVER)$(KFP_SOURCE),control-plane) $(if $(KFP_SOURCE),argo)  ## test against your KFP_SOURCE= (a checkout, built), KFP_DRIVER= and KFP_LAUNCHER=, KFP_ENDPOINT= (a server)
	KFP_SOURCE=$(KFP_SOURCE) KFP_RECORD=$(KFP_RECORD) KFP_DRIVER=$(KFP_DRIVER) KFP_LAUNCHER=$(KFP_LAUNCHER) \
	  KFP_ENDPOINT=$(KFP_ENDPOINT) $(BIN)/pytest -m real -rs -n 0 -o faulthandler_timeout=0 \
	  tests/e2e/test_kubeflow_programs.py tests/e2e/test_kubeflow_whole.py tests/integration/kubeflow/test_endpoint.py

FLINK := $(CACHE)/flink
ENGINES := tests/testbed/engines

# Beam's Java side comes by Maven, without what Flink has itself.
flink: install  ## install Flink and Beam's job server for it, for tests (Maven and a JDK; 300 MB, 2 min)
	VIRTUAL_ENV=.venv .venv/uv/bin/uv pip install --quiet --no-deps --require-hashes \
	  --target $(FLINK)/packages --requirement $(ENGINES)/flink.txt
	mkdir -p $(FLINK)/cluster $(FLINK)/classes
	rm -f $(FLINK)/unlisted-jars.jar
	ln -f $(FLINK)/packages/pyflink/lib/*.jar $(FLINK)/cluster
	mvn --batch-mode --quiet --file $(ENGINES)/pom.xml dependency:copy-dependencies \
	  -DexcludeGroupIds=org.apache.flink,org.slf4j -DoutputDirectory=$(FLINK)/job-server
	javac -d $(FLINK)/classes $(ENGINES)/UnlistedJars.java
	jar --create --file $(FLINK)/unlisted-jars.jar -C $(FLINK)/classes .

spark:  ## install Spark and Beam's job server for it, for tests (Maven; 300 MB, 30 s)
	mvn --batch-mode --quiet --file $(ENGINES)/spark/pom.xml dependency:copy-dependencies \
	  -DoutputDirectory=$(CACHE)/spark

prism:  ## build Beam's own runner, for tests on TFX 1.21 (Go; 2 min)
	cd $(ENGINES)/prism && CGO_ENABLED=0 GOBIN=$(CACHE)/bin GOFLAGS="-p=1 -mod=readonly" \
	  go install github.com/apache/beam/sdks/v2/go/cmd/prism

# A process and what it starts stay in the first network that they are in: each file has one.
# If a runner is not available, the tests name what is missing, and are skipped or fail.
test-engines: install-dev  ## test every Beam stage on a Flink cluster and on Spark, and their faults (as root; about 4 min)
	-$(MAKE) --no-print-directory flink spark
	$(BIN)/pytest -rs -m engines tests/e2e/test_engines.py
	$(BIN)/pytest -rs -m engines tests/e2e/test_spark_and_prism.py

clean:  ## remove all builds and the environment
	rm -rf .venv build dist ./*.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
