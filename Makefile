# Every task of the workbench. `make run` and `make test` need Python 3.11, git and make: the locks are for 3.11.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help run env lock test check lint style types loads imports docs docs-check release-check format bench soak fuzz

# Hundreds of processes begin in the tests alone: none compiles again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# Of what is installed some third is ever imported: Python compiles that when it is, in half the time of all at once.
INSTALL := $(BIN)/python -m pip install --no-compile --progress-bar off --no-deps --no-build-isolation
# Files whose hashes are in the locks, and no others. The locks have all that others need, so nothing is looked for.
LOCKED := $(INSTALL) --require-hashes
# Where an index or a folder has it: pip would prefer one whose hash the index tells. Else it is the usual build.
CPU := $(LOCKED) --quiet -r locks/cpu.txt 2>/dev/null || echo "The build of torch for CPUs alone was not found."
# The usual build for Linux needs libraries for GPUs, some gigabytes.
CUDA := if $(BIN)/python -m pip show torch | grep '^Requires:.*triton' >/dev/null; then $(LOCKED) -r locks/cuda.txt; fi
PROJECTS := $(or $(EXAM_PROJECTS_DIR),data/projects)
DEMO := $(PROJECTS)/demo.duckdb
PORT ?= 8501
# Processes that share the tests; whoever is done first takes over from the others. One more than there are cores often
# are, since much of a test in a browser is waiting. 0 runs them in one.
WORKERS ?= 3
TESTFLAGS ?=
# Properties are tried on a few examples, or on so many times as many: `make test TIMES=50` for a night.
TIMES ?= 1
# A soak: for how long, how many persons at once. The seed is of all dice (any for none).
MINUTES ?= 10
PERSONS ?= 1
SEED ?=
SOAKFLAGS ?=

help: ## show the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed $(DEMO) ## set up, make the demo project where there is none, and serve the app
	$(BIN)/exam serve --port $(PORT)

env: $(VENV)/.installed-dev ## set up the environment with the tools of development

lock: | $(BIN)/uv ## update the locks after a change of requirements.txt or pyproject.toml
	$(BIN)/python locks/write.py $(BIN)/uv

$(BIN)/uv: | $(BIN)/pip
	$(INSTALL) $$(grep -o 'uv==[0-9.]*' pyproject.toml)

# Workers that calculate with all cores each keep one another waiting.
test: export OMP_NUM_THREADS := 1
# Thousands of small projects are made and closed, each with a wait for the disk: in memory where there is such a place.
test: export PYTEST_DEBUG_TEMPROOT := $(wildcard /dev/shm)
# Where the system has it, an allocator with which the tests take a tenth less work.
test: export LD_PRELOAD := $(firstword $(wildcard /usr/lib/*/libmimalloc.so.2*))
test: export EXAMPLES_TIMES := $(TIMES)
test: $(VENV)/.installed-dev ## set up and run all tests, those in the browser included
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTFLAGS)

# The tests come last and have the machine to themselves.
check: types loads lint style imports docs-check ## everything that CI checks
	@$(MAKE) --no-print-directory test

lint: $(VENV)/.installed-dev ## style and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

style: $(VENV)/.installed-dev ## language of texts, code and documentation; spelling; form of Markdown
	$(BIN)/python docs/style.py
	$(BIN)/typos --format brief
	$(BIN)/rumdl check --quiet .

# mypy finds modules by folders, so the folder gets a second name.
types: $(VENV)/.installed-dev ## strict types of core
	mkdir -p $(VENV)/names && ln -sfn ../../core $(VENV)/names/exam_workbench
	$(BIN)/mypy

# In a new checkout this compiles what the tests import, beside the check of types, and each process finds it compiled.
loads: $(VENV)/.installed-dev ## every file of tests can be loaded
	$(BIN)/python -m pytest --collect-only --quiet --quiet | tail -n 20

imports: $(VENV)/.installed-dev ## who may import whom
	$(BIN)/lint-imports

# Material for MkDocs prints an advertisement for its successor otherwise.
docs docs-check: export NO_MKDOCS_2_WARNING := 1
docs-check: $(VENV)/.installed-dev ## generated files are current, and every link of the documentation site works
	$(BIN)/python docs/generate.py --check
	$(BIN)/mkdocs build --quiet --strict

docs: $(VENV)/.installed-dev ## refresh the generated files, and build the documentation site in docs/build/site
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet --strict
	@echo "The site is docs/build/site/index.html."

format: $(VENV)/.installed-dev ## format the code and repair what can be repaired
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release-check: $(VENV)/.installed-dev ## install the wheel in clean environments, for each Python of this computer, and try it
	$(BIN)/python -m pytest -m index -n 2 $(TESTFLAGS) tests/test_wheel.py

bench: $(VENV)/.installed-dev ## measure the speed budgets beside their alternatives
	$(BIN)/python bench/run.py

soak: $(VENV)/.installed-dev ## persons at random work in a browser: MINUTES=120 PERSONS=3 SEED=7
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --persons $(PERSONS) $(if $(SEED),--seed $(SEED)) $(SOAKFLAGS)

fuzz: TIMES = 200
fuzz: export OMP_NUM_THREADS := 1
fuzz: export PYTEST_DEBUG_TEMPROOT := $(wildcard /dev/shm)
fuzz: export EXAMPLES_TIMES = $(TIMES)
fuzz: $(VENV)/.installed-dev ## properties of hostile files, answers, edits and commands on many examples: TIMES=1000 SEED=7
	$(BIN)/python -m pytest -n $(WORKERS) $(if $(SEED),--hypothesis-seed=$(SEED)) $(TESTFLAGS) \
	  tests/fuzz tests/exchange/test_fuzz_parquet.py tests/graders/test_parsing.py tests/graders/test_prompts.py

$(DEMO): | $(VENV)/.installed
	mkdir -p $(@D)
	$(BIN)/exam demo

# The stamps are newer than what they were made from, so pip runs only after a change.
$(VENV)/.installed: $(wildcard locks/*.txt) pyproject.toml | $(BIN)/pip
	$(LOCKED) -r locks/build.txt
	$(CPU)
	$(LOCKED) -r locks/run.txt
	$(CUDA)
	$(INSTALL) -e .
	touch $@

$(VENV)/.installed-dev: $(wildcard locks/*.txt) pyproject.toml | $(BIN)/pip
	$(LOCKED) -r locks/build.txt
	$(CPU)
	$(LOCKED) -r locks/run.txt -r locks/dev.txt
	$(CUDA)
	$(INSTALL) -e .
	touch $(VENV)/.installed $@

# Unless PYTHON names one, the system's before others: distributions optimize theirs by profile, and a loop takes a
# quarter less there than in one that was compiled with the usual options.
$(BIN)/pip:
	@python=; for name in $(or $(PYTHON),/usr/bin/python3.11 python3.11 python3); do \
	  if $$name -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "Python 3.11 with venv was not found as $(or $(PYTHON),python3.11 or python3)." >&2; exit 1; fi; \
	echo "$$python -m venv $(VENV)"; $$python -m venv $(VENV)
