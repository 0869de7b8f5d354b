# Each target sets up what it needs; nothing has to be typed before it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Without compiled bytecode every process that imports TFX starts three times slower.
export PYTHONDONTWRITEBYTECODE =
# Another checkout there would be run in this one's place.
unexport PYTHONPATH
export TF_CPP_MIN_LOG_LEVEL ?= 2
BIN := .venv/bin
# Whole files go to one worker, for their tests share pipelines that take half a minute to make;
# tests/conftest.py says in which order.
WORKERS ?= 2
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help install demo test test-unit test-slow test-real check format bench golden reference lock image fake-gcs-server clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install:  ## the environment in .venv, from the lock (nothing to do: under 2 s)
	@bash lock/install.sh

DEMO_SETTINGS := --data demo/data --root demo/run --push demo/models \
  --set 'data.splits={train: ["span-{SPAN}/train*"], eval: ["span-{SPAN}/validate*"], test: []}' \
  --set evaluator.vocabulary=demo/data/vocabulary.csv

demo: install  ## a first model is pushed, a second, on newer data, is gated against it (under 3 min)
	rm -rf demo
	$(BIN)/yt8m data generate --quiet --level video --out demo/data --train 2000 --eval 500 --classes 50 --shards 4 --spans 1
	$(BIN)/yt8m run smoke $(DEMO_SETTINGS)
	$(BIN)/yt8m data generate --quiet --level video --out demo/data --train 2000 --eval 500 --classes 50 --shards 4 --spans 2
	$(BIN)/yt8m retrain smoke $(DEMO_SETTINGS) --exit-zero
	$(BIN)/yt8m history --root demo/run
	@echo "the report: $$($(BIN)/yt8m report --root demo/run)"

test: install  ## unit, integration, distributed and end-to-end tests (about 20 minutes on two cores)
	$(PYTEST) -m "not slow and not real"

test-unit: install  ## unit tests alone (under a minute)
	$(PYTEST) --dist load -m "not real" tests/unit

test-slow: install  ## endurance tests: more kill points, longer runs
	$(PYTEST) --dist load -m "slow and not real"

test-real: install  ## opt-in: against real YouTube-8M shards and golden metric values
	$(BIN)/pytest -m real -rs

check: install  ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## rewrite what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: install  ## write the expected Kubeflow specs anew; look at the diff before committing it
	PYTHONPATH=tests/support $(BIN)/python tests/support/golden_specs.py

reference: install  ## write the reference in docs/configuration.md anew, from the code
	PYTHONPATH=tests/support $(BIN)/python tests/support/config_reference.py

IMAGE ?= yt8m:$(shell git rev-parse --short=12 HEAD 2>/dev/null || echo local)
BUILD_BASE ?= python:3.11-bookworm
BASE ?= python:3.11-slim-bookworm
LOCK ?= tfx-1.16-py311

image:  ## the container image; IMAGE, BUILD_BASE, BASE and LOCK may be given
	DOCKER_BUILDKIT=1 docker build --file kubeflow/images/Dockerfile --tag $(IMAGE) \
	  --build-arg BUILD_BASE=$(BUILD_BASE) --build-arg BASE=$(BASE) --build-arg LOCK=$(LOCK) \
	  --build-arg SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .

lock: install  ## resolve the lock anew, from setup.py and lock/
	bash lock/resolve.sh

# One is a part of another, and one needs records that only the user has.
BENCHMARKS := $(filter-out %/stock_pipeline.py %/preset_quality.py,$(wildcard benchmarks/*.py))

bench: install  ## each benchmark in turn, figures against their targets (wants a quiet machine)
	@for file in $(BENCHMARKS); do \
	  echo "== $$file"; $(BIN)/python -W ignore $$file || failed="$$failed $$file"; \
	done; test -z "$$failed" || { echo "below target:$$failed"; exit 1; }

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/yt8m

fake-gcs-server:  ## the server that tests of gs:// run against, built from tests/support/fake_gcs
	cd tests/support/fake_gcs && GOBIN=$(CACHE)/bin GOFLAGS="-p=1 -mod=readonly" \
	  go install github.com/fsouza/fake-gcs-server

clean:  ## remove what was built here, the environment too
	rm -rf .venv build dist ./*.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
