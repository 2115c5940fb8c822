# Everything a fresh machine with Python >= 3.11 needs: `make demo`, `make test`, `make lab`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SANDBOX ?= auto
export SANDBOX

.PHONY: demo test test-all lint format bench lab clean

demo: $(READY)
	$(BIN)/scienceide demo --sandbox $(SANDBOX)

test: $(READY)
	$(BIN)/python -m pytest -m "not slow"

test-all: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" tools/lint-types

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks

lab: $(READY)
	$(BIN)/scienceide lab

# torch goes first: a CPU build where the index offers one, and nothing later replaces it.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ScienceIDE needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a minute or two) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[train,docker,chat,lab,dev]'
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info .lint .pytest_cache .mypy_cache .ruff_cache .hypothesis
