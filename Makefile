# Two commands need nothing but Python 3.11+, pip and make:
#   make demo    see what the library does
#   make test    check that it does it right
# `make` alone lists all commands.

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
PYTEST := OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m pytest -n $(JOBS)
# Coverage of `make test`, in percent. That of all tests is in pyproject.toml.
USUAL  := 93
CODE   := src tests tools benchmarks experiments hatch_build.py
# Where `make docs` writes the site.
SITE   ?= site

.DEFAULT_GOAL := help
.PHONY: help demo docs pages screenshots experiments test test-long test-lowest test-newest test-nightly test-dist test-rest
.PHONY: test-all mutants reliability lint style workflows format build bench bench-smoke browser clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

# ---------------------------------------------------------------------------- what it does

demo: $(VENV)/.demo  ## explain two models of real data, and write report.html (ARGS="--data my.csv --target price")
	@$(BIN)/skedasis demo $(ARGS)

experiments: $(VENV)/.torch  ## repeat the papers' experiments, and write experiments/RESULTS.md (20 minutes; ARGS="--only rhale/")
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m experiments $(ARGS)

docs: $(VENV)/.dev  ## build the documentation into site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir '$(SITE)'

pages: $(VENV)/.torch  ## run the code of the documentation, and write what it prints and draws into it (ARGS="docs/start.md")
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m tools.pages --write $(ARGS)

screenshots: browser $(VENV)/.dev  ## take screenshots of reports, to look at: light, dark, phone, print (ARGS="--docs" for those of the documentation)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.screenshots $(ARGS)

bench: $(VENV)/.dev  ## measure speed and memory in comparison with effector, PyALE and scikit-learn
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks $(ARGS)

# ---------------------------------------------------------------------------- whether it is right

lint: style workflows  ## style, the import rule, types, retired words, structure, workflows
	$(BIN)/lint-imports
	$(BIN)/pyright --threads $(JOBS) --pythonpath $(BIN)/python$(EXE)
	$(BIN)/python -m tools.words
	$(BIN)/python -m tools.structure

style: $(VENV)/.dev  ## style alone
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

workflows: $(VENV)/.dev  ## the files that GitHub, Read the Docs and others read: schemas, security, actionlint
	$(BIN)/python -m tools.workflows

test: lint  ## lint, then all fast tests that need no torch or other optional library, with coverage
	$(PYTEST) -m 'not slow and not torch and not optional' --cov --cov-report=term --cov-fail-under=$(USUAL)

# One after the other, even under `make -j`: the first must not see torch.
test-all:  ## make test, then the slow and the optional tests and a short benchmark
	$(MAKE) test
	$(MAKE) test-rest

# It completes the coverage that `make test` has measured: what is written for torch runs in tests of torch only.
test-rest: browser $(VENV)/.torch
	$(MAKE) bench-smoke BENCHMARKS='--only ale --only rhale --only pdp --only trees'
	$(PYTEST) -m '(slow or torch or optional) and not long' --cov --cov-append --cov-report=term
	$(MAKE) test-lowest ARGS=

# Beyond what each change has to wait for: run it after changes of errors, intervals and p-values. What simulations
# measure is compared with tests/long/figures.json, or written there.
test-long: $(VENV)/.torch bench-smoke  ## simulations of more than 100 data sets, laws by many examples, full tables, all benchmarks on few rows (50 minutes; ARGS="--write-figures")
	$(PYTEST) -m long $(ARGS)

# Not part of `.ci/run`: how many small changes of the code the fast tests see. Runs the tests once, to know which of
# them execute which lines, then those of each mutant in a process.
MUTANTS ?= stats methods --sample 200
mutants: $(VENV)/.dev  ## change the code in small ways and count the changes that no test sees (an hour; MUTANTS="stats --sample 100 --seed 1")
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m tools.mutants --record
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m tools.mutants $(MUTANTS)

reliability: $(VENV)/.torch  ## run all that is tried against the library, and write docs/explanation/reliability.md (an hour)
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m tools.reliability --run --write

# Beside `.venv`, whose versions are those that pip found when it was made, as far as what is compared allows it.
test-lowest: $(BIN)/python$(EXE)  ## the tests that touch every dependency, with the lowest versions of them (ARGS="tests/unit tests/laws tests/reference")
	$(BIN)/python tools/lowest.py $(ARGS)

test-newest: $(BIN)/python$(EXE)  ## the same with the newest versions
	$(BIN)/python tools/newest.py $(ARGS)

test-nightly: $(BIN)/python$(EXE)  ## the same with last night's NumPy, SciPy, scikit-learn, pandas and matplotlib
	$(BIN)/python tools/newest.py --nightly $(ARGS)

# Of `make build`: the bytes that are published.
test-dist: $(VENV)/.dev  ## the archives in dist: their contents, and that they work in empty environments
	SKEDASIS_DIST=dist $(PYTEST) tests/package/test_archives.py tests/package/test_installed.py

# `make test` skips what needs a browser where there is none; all tests means these, too.
browser:
	@for name in "$$SKEDASIS_CHROMIUM" chromium chromium-browser google-chrome; do \
		if command -v "$${name:-none}" >/dev/null; then exit 0; fi; done; \
	echo "No chromium, which the tests of pages need: install one, or name it in SKEDASIS_CHROMIUM" >&2; exit 1

bench-smoke: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --smoke $(BENCHMARKS)

# ---------------------------------------------------------------------------- releases and care

build: $(VENV)/.dev  ## build the package into dist, and check it (TAG=v1.2.3: and that it is this release)
	$(BIN)/python -m tools.build --tag "$$TAG"

format: $(VENV)/.dev  ## format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

clean:  ## remove everything that was built, and the environment
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-nightly dist site skedasis-demo .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
