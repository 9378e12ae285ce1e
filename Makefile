PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-live test-real check bench clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "abilock needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=26.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

demo: $(VENV)/.ready
	$(BIN)/abilock resolve --cuda 13.0 --arch sm120

test: $(VENV)/.ready
	$(BIN)/python -m pytest

test-live: $(VENV)/.ready
	$(BIN)/python -m pytest -m live

test-real: $(VENV)/.ready
	$(BIN)/python -m pytest -m real

check: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/abilock knowledge validate

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist
