# Everything runs from .venv, which `make setup` builds and rebuilds when the requirements change.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
STAMP  := $(VENV)/.setup-done

MARKED   := slow or network or browser or deployment
WORKERS  ?= 2
# The folders that exist: benchmarks and examples are checked as soon as they are there.
CHECKED  := $(wildcard src paper tests benchmarks examples)

.DEFAULT_GOAL := help
.PHONY: help setup demo paper test test-slow test-lowest browser lint format bench bench-peers clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv with bherd (editable) and its tools, at the pinned versions

PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(STAMP): $(READY)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(READY)  ## Compare FedAvg, BHerd and the controls on real digits, in about a minute
	$(BIN)/bherd demo

paper: $(READY)  ## Every figure of the paper, tiny, in minutes; ARGS="3a --scale quick" for others
	$(BIN)/python -m paper $(ARGS)

test: lint  ## Lint, types, and every test that needs neither long time nor network
	$(BIN)/python -m pytest -n $(WORKERS) -m "not ($(MARKED))"

# pytest's exit status 5 is 'nothing collected': all right only while no test bears such a mark.
test-slow: setup browser  ## The tests marked slow, network, browser or deployment
	@$(BIN)/python -m pytest -m "$(MARKED)"; status=$$?; \
	if [ $$status -eq 5 ] && ! grep -rqE 'mark\.(slow|network|browser|deployment)' tests; then \
		echo "No test is marked slow, network, browser or deployment yet."; exit 0; \
	fi; \
	exit $$status

LOWEST := .venv-lowest/bin/python

# flwr wants newer releases than the lowest of ours. PyPI's torch of that age comes with CUDA: some gigabytes.
test-lowest:  ## The quick tests with the oldest releases of the dependencies that pyproject.toml admits
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST) -m pip install --disable-pip-version-check --quiet -c constraints-lowest.txt -e '.[tensorboard,mlflow,wandb]' \
		pytest pytest-xdist hypothesis psutil pandas duckdb
	$(LOWEST) -m pytest -n $(WORKERS) -m "not ($(MARKED))" --ignore=tests/flower --ignore=tests/federation

# Debian's and Ubuntu's package; elsewhere, any chromium on the PATH will do.
browser:  ## Chromium for the tests of the report, if it is missing
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		apt-get update -q >/dev/null && \
		apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	} || echo "Chromium is missing and could not be installed: the tests marked browser will fail." >&2

lint: setup  ## Check style (ruff), format (ruff) and types (mypy, strict)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy

format: setup  ## Put the code in the house format and fix what ruff can fix
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: setup  ## Measure the time of a round against hand-written loops
	$(BIN)/python -m benchmarks

# Installs each simulator into .peers the first time: gigabytes and minutes, so never a part of CI.
bench-peers: setup  ## Measure other simulators beside ours, half an hour
	$(BIN)/python -m benchmarks.peers --docs

clean:  ## Remove caches and build products (keeps .venv and runs)
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src paper tests -type d -name __pycache__ -prune -exec rm -rf {} +
