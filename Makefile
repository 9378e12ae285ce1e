# The first Python on PATH that is new enough; make PYTHON=/path/to/python3.12 names another.
PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13 python3.14 python3.15; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
# Workers take tests from each other, so that none of them is left with the slow ones.
PARALLEL := -n auto --dist worksteal
# Workers and the commands that tests start take compiled files from each other too.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test coverage test-live test-real fuzz check bench clean

help:
	@echo 'make demo       create $(VENV) and lock the default stack: CUDA 13.0, SM120'
	@echo 'make test       the tests that need no network, on all processors'
	@echo 'make coverage   the same with many examples a property and branch coverage: slower'
	@echo 'make test-live  the tests that read the package index'
	@echo 'make test-real  the tests that build real environments (several GB, by hand)'
	@echo 'make fuzz       every reader of outside input under atheris, SECONDS=5 each'
	@echo 'make check      formatter, linter, types, layers, compatibility database'
	@echo 'make bench      measure beside uv and plain Python'
	@echo 'make clean      remove $(VENV) and what the tools leave behind'

# What abilock itself needs, then what its developers need: the demo waits for the first only.
$(VENV)/.ready: pyproject.toml
	@test -n '$(PYTHON)' || { echo 'abilock needs Python 3.11 or newer: make PYTHON=/path/to/python3.12' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=26.1'
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

demo: $(VENV)/.ready
	$(BIN)/abilock resolve --cuda 13.0 --arch sm120

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest $(PARALLEL)

coverage: $(VENV)/.ready-dev
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term:skip-covered

test-live: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -m live

test-real: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -m real

fuzz: $(VENV)/.ready-dev
	@$(BIN)/python -m pip install --quiet atheris || echo 'atheris cannot be had here: nothing is fuzzed'
	@$(BIN)/python -c 'import atheris' 2>/dev/null || exit 0; \
	$(BIN)/python -m tests.fuzz $(if $(RUNS),--runs $(RUNS),--seconds $(or $(SECONDS),5))

check: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/abilock knowledge validate

bench: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
