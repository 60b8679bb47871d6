# `make demo` and `make test` need Python 3.11–3.13 (with venv) and make, nothing else.
# They make their own environment in $(VENV) and bring it up to date when pyproject.toml changes.

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
READERS ?= build/readers
# Tests at a time; a plan has two threads of its own. BLAS has one: a second would keep a core busy while it waits.
# Idle workers steal half of a busy worker's queue.
JOBS ?= 2
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# The total, and the ten least covered files.
COVERED = $(BIN)/coverage report --sort=cover | sed -n '1,12p;/^TOTAL/p'
# Where `make readers` has been, the tests use what it fetched.
export GCODE_READERS ?= $(abspath $(wildcard $(READERS)))
# The programs beside Python that tests drive, each with the Debian package that brings it.
PROGRAMS := chromium:chromium inkscape:inkscape prusa-slicer:prusa-slicer gerbv:gerbv broadwayd:libgtk-3-bin
# Runs a command and prints its output only if it fails.
QUIETLY = quietly() { local said status=0; said="$$("$$@" 2>&1)" || status=$$?; \
	[ $$status = 0 ] || printf '%s\n' "$$said" >&2; return $$status; }; quietly
# Bytecode is written as modules are imported, and kept: tests start Python some hundred times.
INSTALL = -m pip install --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=
# Taichi's Linux wheels are linked with libX11, which a container may lack.
LINKED := import ctypes, sys; sys.platform == "linux" and ctypes.CDLL("libX11.so.6")
SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

# The first of these that will do; or say `make PYTHON=/path/to/python3.12 …`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(SUITABLE)' 2>/dev/null && echo $$p && break; done)

.PHONY: help demo test test-slow test-guards test-all test-tools test-lower test-parity tools programs docs readers firmware bench bench-plan costs compare torture fuzz lint format types wheel hooks clean python

help:
	@echo 'make demo        plan samples/butterfly.svg into $(DEMO)/'
	@echo 'make test        the fast tests, for which Python is enough;  COVERAGE=1  with their branch coverage'
	@echo 'make test-slow   the slow ones;  make test-guards  those of them that guard what a machine does'
	@echo 'make test-all    every set of tests, the docs and a minute of fuzz: before a release'
	@echo 'make test-tools  those that drive programs beside Python: see make tools, make readers'
	@echo 'make test-lower  with the oldest dependencies that are allowed, the tests nearest to them;  ALL=1  every fast test'
	@echo 'make test-parity the dose against PyTorch, JAX and exact integrals, in an environment that has both'
	@echo 'make tools       install Chromium, Inkscape, PrusaSlicer and gerbv by apt, for make test-tools (as root)'
	@echo 'make docs        the site, into build/site; warnings are errors'
	@echo 'make readers     fetch other readers of G-code (LinuxCNC, Klipper, CNCjs …), for make test-tools'
	@echo 'make firmware    the motion models against recordings of real firmware, and docs/gcode.md anew'
	@echo 'make bench       the dose against its peers, and docs/performance.md anew;  SIZES=S  a small one'
	@echo 'make bench-plan  whole plans against another commit;  COMMIT=HEAD~5  RUNS=1  LONG=1  larger designs, too'
	@echo 'make costs       the unit costs of forecasts, which planning/costs.py has, anew'
	@echo 'make compare     plans against constant power and the limit, and docs/compare.md anew;  DESIGNS="mdi_chip"  a few'
	@echo 'make torture     signals, limits and rivals at random moments of plans;  SECONDS=600  SEED=…'
	@echo 'make fuzz        damaged files for every reader;  SECONDS=600  SEED=…  FORMATS="svg dxf"'
	@echo 'make lint        ruff, lint and format;  make format  repairs what it can'
	@echo 'make types       mypy'
	@echo 'make wheel       build the wheel and try it in an environment of its own'
	@echo 'make hooks       run lint and types before every commit'
	@echo 'make clean       remove all that this file makes'

demo: $(VENV)/run.stamp
	@mkdir -p $(DEMO)
	$(BIN)/laserpath plan samples/butterfly.svg -o $(DEMO)

# With COVERAGE=1 they take 1.3 to 1.5 times as long.
test: $(VENV)/dev.stamp
	$(if $(COVERAGE),@mkdir -p build)
	$(PYTEST)$(if $(COVERAGE), --cov --cov-report=)
	@$(if $(COVERAGE),$(COVERED))

# pytest's exit code 5: there is no slow test. Then once more with each of the others of PYTHONS that is installed.
PYTHONS ?= 3.11 3.13
test-slow: $(VENV)/dev.stamp
	$(PYTEST) -m slow || test $$? -eq 5
	@own=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	for other in $(PYTHONS); do \
		if [ $$other != $$own ] && python$$other -c '$(SUITABLE)' 2>/dev/null; then \
			$(MAKE) test-slow PYTHONS= PYTHON=python$$other VENV=$(VENV)-$$other || exit; \
		fi; \
	done

# What a program makes a machine do, tested slowly: written, read back, verified, executed as recorded. For the CI.
GUARDS := tests/gcode tests/machine tests/simulation tests/planning/test_plan_dialects.py tests/torture
test-guards: $(VENV)/dev.stamp
	$(PYTEST) -m slow $(GUARDS)

# All that can be tested, one after the other: most of an hour.
test-all:
	$(MAKE) test
	$(MAKE) docs
	$(MAKE) test-slow
	$(MAKE) test-tools
	$(MAKE) test-lower
	$(MAKE) test-parity
	$(MAKE) fuzz SECONDS=60

# A program that is missing fails its tests; of other people's readers, those that are here are compared with.
test-tools: $(VENV)/dev.stamp
	$(PYTEST) -m tools

test-lower: python
	rm -rf $(VENV)-lower
	$(PYTHON) -m venv $(VENV)-lower
	@$(QUIETLY) $(VENV)-lower/bin/python $(INSTALL) -c tests/lower-bounds.txt -e . 'pytest>=8.2' \
		'pytest-xdist>=3.6' 'hypothesis>=6.100'
	$(VENV)-lower/bin/python -m pytest -n $(JOBS) --dist worksteal $(if $(ALL),,$$($(VENV)-lower/bin/python tests/sets.py))

# An environment of its own: torch and jax are large, and the rest must work without.
test-parity: $(VENV)-parity/parity.stamp
	$(VENV)-parity/bin/python -c 'import torch, jax'
	$(VENV)-parity/bin/python -m pytest -m parity

$(VENV)-parity/parity.stamp: pyproject.toml | python
	$(PYTHON) -m venv --clear $(VENV)-parity
	@$(QUIETLY) $(VENV)-parity/bin/python $(INSTALL) -e '.[dev,parity]'
	@touch $@

# An environment of its own again; the machine should have nothing else to do. About 10 minutes.
bench: $(VENV)-bench/bench.stamp
	$(VENV)-bench/bin/python -m pytest -c tests/bench/pytest.ini tests/bench \
	$(if $(SIZES),--sizes '$(SIZES)' --no-scaling,--write) $(BENCH)

# Whole plans, against another commit in turns: COMMIT=HEAD~5. Some minutes, half an hour with LONG=1.
bench-plan: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python tests/bench/plans.py $(if $(COMMIT),--commit $(COMMIT)) $(if $(LONG),--long) $(if $(RUNS),--runs $(RUNS))

# Best on an idle machine: it counts processor time.
costs: $(VENV)/dev.stamp
	$(BIN)/python tests/bench/costs.py

$(VENV)-bench/bench.stamp: pyproject.toml | python
	$(PYTHON) -m venv --clear $(VENV)-bench
	@$(QUIETLY) $(VENV)-bench/bin/python $(INSTALL) -e '.[bench]'
	@touch $@

# Every design of tests/data/designs, planned and printed in ten ways: some minutes.
compare: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python tests/compare $(DESIGNS)

# Half of the time for kills of whole plans, half for kills while files are written.
SECONDS ?= 600
torture: $(VENV)/dev.stamp
	$(BIN)/python tests/torture $(SECONDS) $(if $(SEED),--seed $(SEED))

# What fails is in build/fuzz/. The time is shared equally by the formats.
fuzz: $(VENV)/dev.stamp
	$(BIN)/python tests/fuzz $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(FORMATS),--formats '$(FORMATS)')

# From Debian's packages. Who has them already, from wherever, needs no root.
tools:
	@missing=; for p in $(PROGRAMS); do command -v $${p%:*} >/dev/null || missing="$$missing $${p#*:}"; done; \
	if [ -n "$$missing" ]; then \
		apt-get -q=2 -o Acquire::Retries=3 update && DEBIAN_FRONTEND=noninteractive \
		apt-get -q=2 -o Acquire::Retries=3 install -y --no-install-recommends $$missing; \
	fi

programs:
	@for p in $(PROGRAMS); do echo $${p%:*}; done

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

$(VENV)/docs.stamp: $(VENV)/dev.stamp
	@$(QUIETLY) $(BIN)/python $(INSTALL) -e '.[docs]'
	@touch $@

readers: $(VENV)/dev.stamp
	PYTHON=$(BIN)/python tests/gcode/readers/fetch $(READERS)

firmware: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python tests/gcode/recordings.py
	PYTHONPATH=tests $(BIN)/python tests/simulation/recorded_plans.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

wheel: $(VENV)/dev.stamp
	rm -rf dist $(VENV)-wheel
	@$(QUIETLY) $(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(VENV)-wheel
	@$(QUIETLY) $(VENV)-wheel/bin/python $(INSTALL) dist/*.whl
	cd dist && $(abspath $(VENV)-wheel)/bin/laserpath --version
	cd dist && $(abspath $(VENV)-wheel)/bin/laserpath plan ../samples/holes.svg --iterations 2 -o ../build/wheel

hooks: $(VENV)/dev.stamp
	$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) $(foreach one,3.11 3.13,$(VENV)-$(one)) $(VENV)-lower $(VENV)-parity $(VENV)-bench $(VENV)-wheel build dist $(DEMO) .mypy_cache .pytest_cache .ruff_cache .hypothesis

python:
	@test -n '$(PYTHON)' && '$(PYTHON)' -c '$(SUITABLE)' 2>/dev/null || { \
	echo "laserpath needs Python 3.11, 3.12 or 3.13 with its venv module (on Debian: apt install python3-venv);"; \
	echo "found: $$('$(or $(PYTHON),python3)' --version 2>&1 | head -n 1)." \
	"Name another one: make PYTHON=/path/to/python3.12 …"; exit 1; } >&2
	@'$(PYTHON)' -c '$(LINKED)' 2>/dev/null || { \
	echo "Taichi needs the system's library libX11.so.6, which is not here; on Debian: apt install libx11-6"; exit 1; } >&2

$(VENV)/run.stamp: pyproject.toml | python
	@echo 'Making the environment $(VENV); this takes a minute or two.'
	$(PYTHON) -m venv --clear $(VENV)
	@$(QUIETLY) $(BIN)/python $(INSTALL) -e .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	@$(QUIETLY) $(BIN)/python $(INSTALL) -e '.[dev]'
	@touch $@
