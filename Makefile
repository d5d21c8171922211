# Each target does its own set-up: a virtual environment in .venv, nothing global. Run again, they start at once.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
export PIP_NO_INPUT := 1
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes: compile the source once

.PHONY: help demo quick test system levels kernels lint validate bench hostile fuzz docs cluster lowest tools lock dist

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 10

demo: .venv/demo.stamp ## set up and audit a panel whose truth is known
	@$(BIN)/polyjudge demo

QUICK := tests/base tests/cbc tests/stats tests/audit tests/report tests/test_public.py
quick: .venv/quick.stamp ## the first thing to run: under a minute from a bare clone
	$(PYTEST) -q -m "not statistical and not slow and not browser and not spark and not postgres and not lme4" $(QUICK) $(ARGS)

test: .venv/test.stamp ## the tests and doctests (skip with a reason what is absent: make system installs it)
	$(PYTEST) -m "not statistical" $(ARGS)
	$(BIN)/python -m pytest -q --doctest-modules src/polyjudge

system: .venv/test.stamp ## Chromium, Java, PostgreSQL and lme4 for the tests that need them (as root: with apt)
	@$(BIN)/python tools/components.py

levels: .venv/test.stamp ## levels, coverage and power over many simulated panels
	$(PYTEST) -m statistical $(ARGS)

NUMERIC := tests/cbc tests/stats tests/golden tests/audit tests/calibrate tests/test_kernels.py
kernels: .venv/test.stamp ## the numerical tests as other processors compute
	OPENBLAS_CORETYPE=Prescott $(PYTEST) -q -m "not statistical and not browser and not lme4 and not slow" $(NUMERIC)
	NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python tools/features.py)" $(PYTEST) -q -m "not statistical and not browser and not lme4 and not slow" $(NUMERIC)

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

cluster: .venv/test.stamp ## Spark loses a worker and the answer stays
	$(BIN)/python -m validation.cluster

tools: .venv/test.stamp ## run the eval tools anew and keep what they write as fixtures
	$(BIN)/python tests/eval_tools/run_all.py

# What the versions that pyproject.toml promises are tested with: its lower bounds, and the newest pandas 2.
OTHER_VERSIONS := ".[collect,warehouse,excel,logs,plot]" "pytest>=8" "pytest-timeout>=2.3" "pytest-xdist>=3.6" \
  "hypothesis>=6.100" "polars>=1" "statsmodels>=0.14.1" "scikit-learn>=1.4" "evalica>=0.3" "ppi-python>=0.2.3"
NOT_THERE := not browser and not statistical and not spark and not postgres and not lme4 and not newest
ROOMS := tests/answers tests/audit tests/base tests/calibrate tests/cbc tests/collect tests/golden tests/paper tests/people \
  tests/read tests/report tests/stats tests/test_cli.py tests/test_public.py
lowest: .venv/test.stamp ## the lower bounds of pyproject.toml, and the newest pandas 2
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install -q --python .venv-lowest/bin/python --resolution lowest-direct $(OTHER_VERSIONS)
	.venv-lowest/bin/polyjudge demo -o .venv-lowest/demo > /dev/null
	POLYJUDGE_NO_SKIP= .venv-lowest/bin/python -m pytest -q -p no:cacheprovider -n auto --dist loadfile -m "$(NOT_THERE)" $(ROOMS)
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-pandas2
	$(BIN)/uv pip install -q --python .venv-pandas2/bin/python $(OTHER_VERSIONS) "pandas<3"
	POLYJUDGE_NO_SKIP= .venv-pandas2/bin/python -m pytest -q -p no:cacheprovider -n auto --dist loadfile \
	  -m "$(NOT_THERE) and not slow" $(ROOMS)

LOCK := $(BIN)/uv pip compile -q pyproject.toml requirements/build.in --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-header --no-emit-package polyjudge
lock: .venv/test.stamp ## pinned and hashed requirements
	$(LOCK) --extra test -o requirements/test.txt
	$(LOCK) -c requirements/test.txt -o requirements/run.txt
	$(LOCK) --extra quick -c requirements/test.txt -o requirements/quick.txt

dist: .venv/test.stamp ## the wheel and the source distribution
	$(BIN)/uv build -q --out-dir dist .

# The stamps: dependencies are the pinned and hashed lists, the package itself is installed in place.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("polyjudge needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...") \
	  if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/demo.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@$(PIP) install --require-hashes -r requirements/run.txt && $(PIP) install --no-deps --no-build-isolation -e . && touch $@

.venv/quick.stamp: requirements/quick.txt pyproject.toml | .venv/bin/python
	@$(PIP) install --require-hashes -r requirements/quick.txt && $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ .venv/demo.stamp

.venv/test.stamp: requirements/test.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv with all that the tests need (once)"
	@$(PIP) install --require-hashes -r requirements/test.txt && $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ .venv/demo.stamp
