# Every task of the workbench. `make run` and `make test` need git, make and Python 3.11, for which the locks are made.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help run env lock test check lint style types loads imports size docs docs-check release-check format bench soak fuzz real-models

# The tests start hundreds of processes, which share compiled modules.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# Only a third of the installed modules is ever imported. Python compiles these on import, in half of the time for all.
INSTALL := $(BIN)/python -m pip install --no-compile --progress-bar off --no-deps --no-build-isolation
# Install only files whose hashes are in the locks. The locks include all requirements, so pip resolves none.
LOCKED := $(INSTALL) --require-hashes
# The build of torch for CPUs, if an index or a folder has it. It has a step of its own, because pip would prefer the
# usual build if the index states the hash of that. If it is missing, the usual build is installed later.
CPU := $(LOCKED) --quiet -r locks/cpu.txt 2>/dev/null || echo "The build of torch for CPUs alone was not found."
# The usual build for Linux needs some gigabytes of GPU libraries.
CUDA := if $(BIN)/python -m pip show torch | grep '^Requires:.*triton' >/dev/null; then $(LOCKED) -r locks/cuda.txt; fi
# Small real models, whose tests are skipped without them.
MODELS := $(LOCKED) --quiet -r locks/models.txt || echo "The small real models were not found. Their tests are skipped."
PROJECTS := $(or $(EXAM_PROJECTS_DIR),data/projects)
DEMO := $(PROJECTS)/demo.duckdb
PORT ?= 8501
# Number of processes that share the tests. The default is one more than many machines have cores, because tests in a
# browser mostly wait. 0 runs all tests in one process.
WORKERS ?= 3
TESTFLAGS ?=
# Multiple of the usual number of examples for each property: `make test TIMES=50` runs for a night.
TIMES ?= 1
# Duration and number of simulated people of a soak test, and the seed of its random numbers. Empty: a random seed.
MINUTES ?= 10
PERSONS ?= 1
SEED ?=
SOAKFLAGS ?=

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed $(DEMO) ## set up, create the demo project if it is missing, and serve the app
	$(BIN)/exam serve --port $(PORT)

env: $(VENV)/.installed-dev ## set up the environment with the development tools

lock: | $(BIN)/uv ## update the locks after a change of requirements.txt or pyproject.toml
	$(BIN)/python locks/write.py $(BIN)/uv

$(BIN)/uv: | $(BIN)/pip
	$(INSTALL) $$(grep -o 'uv==[0-9.]*' pyproject.toml)

# If every worker used all cores, they would wait for each other.
test: export OMP_NUM_THREADS := 1
# The tests create thousands of small projects. A folder in memory saves the waits for the disk.
test: export PYTEST_DEBUG_TEMPROOT := $(wildcard /dev/shm)
# With this allocator, if the system has it, the tests take a tenth less work.
test: export LD_PRELOAD := $(firstword $(wildcard /usr/lib/*/libmimalloc.so.2*))
test: export EXAMPLES_TIMES := $(TIMES)
test: $(VENV)/.installed-dev ## set up and run all tests, including those in a browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTFLAGS)

# The tests run last, with the whole machine to themselves.
check: types loads lint style imports size docs-check ## run everything that CI checks
	@$(MAKE) --no-print-directory test

lint: $(VENV)/.installed-dev ## check style and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

style: $(VENV)/.installed-dev ## check the language of texts, code and documentation, spelling, and Markdown
	$(BIN)/python docs/style.py
	$(BIN)/typos --format brief
	$(BIN)/rumdl check --quiet .

# mypy names modules after folders, so the folder `core` gets a second name.
types: $(VENV)/.installed-dev ## check the types of core strictly
	mkdir -p $(VENV)/names && ln -sfn ../../core $(VENV)/names/exam_workbench
	$(BIN)/mypy

# In a new checkout this compiles the modules that the tests import, while types are checked.
loads: $(VENV)/.installed-dev ## check that every test file can be loaded
	$(BIN)/python -m pytest --collect-only --quiet --quiet | tail -n 20

size: $(VENV)/.installed-dev ## compare the size of each package with its budget
	$(BIN)/python docs/size.py

imports: $(VENV)/.installed-dev ## check the import rules
	$(BIN)/lint-imports

# Otherwise Material for MkDocs prints an advertisement for its successor.
docs docs-check: export NO_MKDOCS_2_WARNING := 1
docs-check: $(VENV)/.installed-dev ## check that generated files are current and that the links of the documentation site work
	$(BIN)/python docs/generate.py --check
	$(BIN)/mkdocs build --quiet --strict

docs: $(VENV)/.installed-dev ## refresh the generated files, and build the documentation site in docs/build/site
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet --strict
	@echo "The site is docs/build/site/index.html."

format: $(VENV)/.installed-dev ## format the code and fix mistakes that ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release-check: $(VENV)/.installed-dev ## install the wheel in clean environments, for each Python of this computer, and test it
	$(BIN)/python -m pytest -m index -n 2 $(TESTFLAGS) tests/test_wheel.py

bench: $(VENV)/.installed-dev ## measure speed against the budgets and the alternatives
	$(BIN)/python bench/run.py

soak: $(VENV)/.installed-dev ## simulate people who work at random in a browser: MINUTES=120 PERSONS=3 SEED=7
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --persons $(PERSONS) $(if $(SEED),--seed $(SEED)) $(SOAKFLAGS)

real-models: $(VENV)/.installed-dev ## count failed, defaulted and wrongly read answers of a model: MODEL=FOLDER, FILE.gguf or ADDRESS
	$(BIN)/python -m tests.real_models $(MODEL) $(if $(NAME),--name $(NAME)) $(if $(READINGS),--readings $(READINGS))

fuzz: TIMES = 200
fuzz: export OMP_NUM_THREADS := 1
fuzz: export PYTEST_DEBUG_TEMPROOT := $(wildcard /dev/shm)
fuzz: export EXAMPLES_TIMES = $(TIMES)
fuzz: $(VENV)/.installed-dev ## test properties with many hostile files, answers, edits and commands: TIMES=1000 SEED=7
	$(BIN)/python -m pytest -n $(WORKERS) $(if $(SEED),--hypothesis-seed=$(SEED)) $(TESTFLAGS) \
	  tests/fuzz tests/exchange/test_fuzz_parquet.py tests/graders/test_parsing.py tests/graders/test_prompts.py

$(DEMO): | $(VENV)/.installed
	mkdir -p $(@D)
	$(BIN)/exam demo

# The stamps are newer than the locks, so pip runs only after a change.
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
	$(MODELS)
	$(CUDA)
	$(INSTALL) -e .
	touch $(VENV)/.installed $@

# Unless PYTHON names an interpreter, prefer that of the system. Distributions optimize theirs by profile, so a loop takes
# a quarter less time than in one compiled with the usual options.
$(BIN)/pip:
	@python=; for name in $(or $(PYTHON),/usr/bin/python3.11 python3.11 python3); do \
	  if $$name -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "Python 3.11 with venv was not found as $(or $(PYTHON),python3.11 or python3)." >&2; exit 1; fi; \
	echo "$$python -m venv $(VENV)"; $$python -m venv $(VENV)
