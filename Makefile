# Two commands need nothing but Python 3.11+, pip and make:
#   make demo    see what the library does
#   make test    check that it does it right
# `make` alone lists all commands. Benchmarks, experiments, pages and pictures are programs: CONTRIBUTING.md lists them.

VENV := .venv
# On Windows this needs the shell that comes with Git, whose make and other commands are those of other systems.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN    := $(VENV)/Scripts
EXE    := .exe
# Else what programs print could not be read by those that call them, which take it for UTF-8.
export PYTHONUTF8 := 1
else
PYTHON ?= python3
BIN    := $(VENV)/bin
EXE    :=
endif
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The version of torch with which the optional tests are known to pass. It is an enormous download that no
# other part needs, so it stands here and not among the dependencies.
TORCH  := torch==2.13.0
# Libraries of models that predict distributions. They bring an older pandas, with which these tests pass, too.
UNSURE := gpytorch==1.15.2 ngboost==0.5.11 skpro==2.16.0
# Other libraries whose models are explained; large, too, and few have all of them.
OTHERS := catboost==1.2.10 jax==0.10.2 keras==3.15.1 onnx==1.23.2 onnxruntime==1.31.1 skl2onnx==1.20.0
# Byte code is kept, also on a machine that is set not to: tests start hundreds of processes, each of which would compile
# the package and its libraries.
export PYTHONDONTWRITEBYTECODE :=
# Test processes. Each keeps to one thread, or they would fight over the cores.
JOBS   ?= 2
RUN    := OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m
PYTEST := $(RUN) pytest -n $(JOBS)
USUAL  := -m 'not slow and not long'
# Options by which `make test-all` measures the coverage of the fast tests.
COVERAGE :=
CODE   := src tests tools benchmarks experiments hatch_build.py
# Where `make docs` writes the site.
SITE   ?= site
# What `make test-versions` tests.
VERSIONS ?= lowest-direct

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all test-long test-versions lint format build clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------------------- the environment
# Stamps say what is installed; they are older than pyproject.toml when it must be installed anew. Of what developers
# need a small part is ever imported, so Python compiles it then, and pip does not compile all of it now.

# A half-made environment is removed: it would look like a finished one the next time.
$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("$(PYTHON) is Python " + sys.version.split()[0] + ", expected 3.11 or newer. Name one: make PYTHON=python3.12 ...")'
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.demo: pyproject.toml | $(BIN)/python$(EXE)
	@echo "Installing skedasis, scikit-learn and numba into $(VENV) (once)"
	@$(PIP) --editable '.[sklearn,trees]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python$(EXE)
	@echo "Installing skedasis with all that tests and linters need into $(VENV) (once)"
	@$(PIP) --no-compile --editable '.[dev]'
	@touch $@

$(VENV)/.torch: Makefile $(VENV)/.dev
	@echo "Installing $(TORCH) $(UNSURE) $(OTHERS) into $(VENV) (once)"
	@$(PIP) --no-compile '$(TORCH)' $(UNSURE) $(OTHERS)
	@touch $@

$(VENV)/.uv: | $(BIN)/python$(EXE)
	@$(PIP) 'uv>=0.5'
	@touch $@

# ---------------------------------------------------------------------------- what it does

demo: $(VENV)/.demo  ## explain two models of real data, and write report.html (ARGS="--data my.csv --target price")
	@$(BIN)/skedasis demo $(ARGS)

docs: $(VENV)/.dev  ## build the documentation into site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir '$(SITE)'

# ---------------------------------------------------------------------------- whether it is right

lint: $(VENV)/.dev  ## style, the import rule, types, structure, the files that GitHub and other services read
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports
	$(BIN)/pyright --threads $(JOBS) --pythonpath $(BIN)/python$(EXE)
	$(BIN)/python -m tools.structure
	$(BIN)/python -m tools.workflows

test: lint  ## lint, then all fast tests, which need no torch or other optional library
	$(PYTEST) $(USUAL) $(COVERAGE)

# One after the other, even under `make -j`: the fast tests must not see torch. Tests of pages skip themselves where no
# browser is; all tests means these, too.
test-all:  ## make test with coverage, then slow tests, with torch and others, a short benchmark, and the lowest versions
	$(MAKE) test COVERAGE='--cov --cov-report=term'
	@for name in "$$SKEDASIS_CHROMIUM" chromium chromium-browser google-chrome; do \
		if command -v "$${name:-none}" >/dev/null; then exit 0; fi; done; \
	echo "No chromium, which the tests of pages need: install one, or name it in SKEDASIS_CHROMIUM" >&2; exit 1
	$(MAKE) $(VENV)/.torch
	$(PYTEST) -m 'slow and not long'
	$(RUN) benchmarks --smoke --only ale --only rhale --only pdp --only trees
	$(MAKE) test-versions

# Beyond what each change has to wait for: run it after changes of errors, intervals and p-values. What simulations
# measure is compared with tests/long/figures.json, or written there.
test-long: $(VENV)/.torch  ## simulations of more than 100 data sets, full tables, all benchmarks on few rows (50 minutes; ARGS="--write-figures")
	$(PYTEST) -m long $(ARGS)
	$(RUN) benchmarks --smoke

# Beside `.venv`, whose versions are those that pip found when it was made, as far as what is compared allows it.
test-versions: $(VENV)/.uv  ## the tests that touch every dependency, with the lowest versions (VERSIONS=highest, VERSIONS=nightly; ARGS="tests/unit")
	$(BIN)/python -m tools.versions $(VERSIONS) $(ARGS)

# ---------------------------------------------------------------------------- releases and care

# Tested are the bytes that are published: their contents, and that they work in empty environments.
build: $(VENV)/.dev  ## build the package into dist, and test it (TAG=v1.2.3: and that it is this release)
	$(BIN)/python -m tools.build --tag "$$TAG"
	SKEDASIS_DIST=dist $(PYTEST) tests/package/test_archives.py tests/package/test_installed.py

format: $(VENV)/.dev  ## format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

clean:  ## remove everything that was built, and the environments
	rm -rf $(VENV) .venv-* dist site skedasis-demo .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
