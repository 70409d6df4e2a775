# The workshop. `make test` in a fresh clone makes `.venv`, installs every distribution editable and runs the whole suite.
# ARGS goes to the tool behind a target: make test ARGS="-k record -x -n 0", make bench ARGS="--json out.json".

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PY := .venv/bin/python
ARGS ?=

# Sister distributions count as soon as they have a pyproject.toml.
SISTERS := $(patsubst %/,%,$(dir $(wildcard plugins/*/pyproject.toml providers/*/pyproject.toml observability/*/pyproject.toml)))
CODE := $(wildcard agentfp agentfp_core benchmarks examples scripts tests) $(foreach sister,$(SISTERS),$(wildcard $(sister)/agentfp_*))

# Examples that are programs of their own import their own modules by bare names.
PROGRAMS := $(filter-out examples/transcripts,$(patsubst %/,%,$(sort $(dir $(wildcard examples/*/*.py examples/*/pyproject.toml)))))

empty :=
space := $(empty) $(empty)
# The stamp carries the folder's path: an environment copied along with a checkout still points at the old one.
STAMP := .venv/installed-$(subst $(space),-,$(subst /,-,$(CURDIR)))

.PHONY: help setup test lint docs format demo phoenix bench bench-peers events pins dist clean distclean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## .venv with all distributions editable and the development tools

$(STAMP): constraints.txt pyproject.toml $(SISTERS:%=%/pyproject.toml) scripts/install.py scripts/workshop.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m scripts.install
	@touch "$@"

test: $(STAMP)  ## the whole test suite
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

lint: $(STAMP)  ## pins, ruff, mypy
	@$(PY) -m scripts.pins check
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@MYPYPATH="$(subst $(space),:,$(SISTERS))" $(PY) -m mypy --exclude '^examples/($(subst $(space),|,$(PROGRAMS:examples/%=%)))/' $(CODE)
	@for program in $(PROGRAMS); do MYPYPATH="$(subst $(space),:,$(SISTERS)):$$program:$$program/src" $(PY) -m mypy "$$program"; done

phoenix: $(STAMP)  ## traces read back from a real Phoenix server (600 MB, kept under ~/.cache)
	@$(PY) -m tests.observability.otel.in_phoenix $(ARGS)

docs: $(STAMP)  ## the guide as a site in site/; a broken link is an error
	@$(PY) -m scripts.site $(ARGS)

format: $(STAMP)  ## ruff's fixes and formatting
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

demo: $(STAMP)  ## examples/demo.py
	@$(PY) examples/demo.py $(ARGS)

bench: $(STAMP)  ## what the kernel costs; ARGS="--json out.json" for JSON, "--quick" for a look
	@$(PY) -m benchmarks $(ARGS)

bench-peers: $(STAMP)  ## the same turn in other frameworks, each installed in an environment of its own
	@$(PY) -m benchmarks.peers $(ARGS)

events: $(STAMP)  ## write docs/events.md and the events of plugins from what they say of themselves
	@$(PY) -m scripts.event_table

pins: $(STAMP)  ## write constraints.txt from what is installed
	@$(PY) -m scripts.pins write

dist: $(STAMP)  ## wheels and source distributions in dist/, checked, each installed alone; ARGS=--no-install builds only
	@$(PY) -m scripts.dist $(ARGS)

clean:  ## remove caches and builds
	@rm -rf build dist site htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean  ## and .venv
	@rm -rf .venv
