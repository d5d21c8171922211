# Each target does its own set-up: a virtual environment in .venv, nothing global. Run again, they start at once.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
export PIP_NO_INPUT := 1
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes: compile the source once

.PHONY: help demo test levels kernels lint validate bench hostile fuzz docs cluster lowest tools lock dist

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 10

demo: .venv/demo.stamp ## set up and audit a panel whose truth is known
	@$(BIN)/polyjudge demo

test: .venv/test.stamp .venv/system.stamp ## the tests (skip with a reason what is absent)
	$(PYTEST) -m "not statistical" $(ARGS)

levels: .venv/test.stamp ## levels, coverage and power over many simulated panels
	$(PYTEST) -m statistical $(ARGS)

NUMERIC := tests/cbc tests/stats tests/golden tests/audit tests/calibrate tests/test_kernels.py
kernels: .venv/test.stamp ## the numerical tests as other processors compute
	OPENBLAS_CORETYPE=Prescott $(PYTEST) -q -m "not statistical and not browser and not lme4" $(NUMERIC)
	NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python tools/features.py)" $(PYTEST) -q -m "not statistical and not browser and not lme4" $(NUMERIC)

lint: .venv/test.stamp ## format, style, types, and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/style.py --check

validate: .venv/test.stamp ## every claim on planted truth, and against people's labels; ARGS="--panels 1000"
	@$(BIN)/python -m validation $(ARGS)
	@$(BIN)/python -m validation.evidence

bench: .venv/test.stamp ## speed and memory against references that do not import us
	@$(BIN)/python -m validation.bench $(ARGS)

hostile: .venv/test.stamp ## hostile names, broken files, odd options, kills; ARGS="--seed 1"
	$(BIN)/python fuzz/hostile.py $(ARGS)

fuzz: .venv/test.stamp ## coverage-guided fuzzing of the readers; ARGS="--seconds 60"
	$(PIP) install atheris==3.0.0
	$(BIN)/python fuzz/readers.py $(ARGS)

docs: .venv/test.stamp ## generated pages, pictures and the site
	$(BIN)/python docs/make.py
	$(BIN)/zensical build --strict -f mkdocs.yml

cluster: .venv/test.stamp .venv/system.stamp ## Spark loses a worker and the answer stays
	$(BIN)/python -m validation.cluster

tools: .venv/test.stamp ## run the eval tools anew and keep what they write as fixtures
	$(BIN)/python tests/eval_tools/run_all.py

lowest: .venv/test.stamp ## the lower bounds of pyproject.toml
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install -q --python .venv-lowest/bin/python --resolution lowest-direct \
	  ".[warehouse,excel,logs]" "pytest>=8" "pytest-timeout>=2.3" "hypothesis>=6.100" "polars>=1" "statsmodels>=0.14.1"
	.venv-lowest/bin/polyjudge demo -o .venv-lowest/demo > /dev/null
	POLYJUDGE_NO_SKIP= .venv-lowest/bin/python -m pytest -q -p no:cacheprovider \
	  -m "not slow and not browser and not statistical and not spark and not postgres and not lme4" tests/base tests/cbc tests/stats tests/read

LOCK := $(BIN)/uv pip compile -q pyproject.toml requirements/build.in --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-header --no-emit-package polyjudge
lock: .venv/test.stamp ## pinned and hashed requirements
	$(LOCK) --extra test -o requirements/test.txt
	$(LOCK) -c requirements/test.txt -o requirements/run.txt

dist: .venv/test.stamp ## the wheel
	$(PIP) wheel --no-deps -w dist .

# The stamps: dependencies are the pinned and hashed lists, the package itself is installed in place.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("polyjudge needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...") \
	  if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/demo.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@$(PIP) install --require-hashes -r requirements/run.txt && $(PIP) install --no-deps --no-build-isolation -e . && touch $@

.venv/test.stamp: requirements/test.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv with all that the tests need (once)"
	@$(PIP) install --require-hashes -r requirements/test.txt && $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ .venv/demo.stamp

.venv/system.stamp: tools/components.py | .venv/test.stamp  # Chromium, Java, PostgreSQL, lme4: installed where that is allowed
	@$(BIN)/python tools/components.py && touch $@
