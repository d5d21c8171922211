# Each target does its own set-up: a virtual environment in .venv, nothing global. Run again, they start at once.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
export PIP_NO_INPUT := 1
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes: compile the source once

.PHONY: demo test levels tools mutate validate evidence cluster lint bench docs readme fuzz hostile lock lowest dist clean

demo: .venv/demo.stamp
	$(BIN)/polyjudge demo

PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
test: .venv/test.stamp .venv/system.stamp
	$(PYTEST) -m "not statistical" $(ARGS)

# Levels, coverage and power over many simulated panels: a minute.
levels: .venv/test.stamp .venv/system.stamp
	$(PYTEST) -m statistical $(ARGS)

# The eval tools whose files are read, in an environment of their own, and what they write in runs with mock judges.
# promptfoo (needs Node.js 20.20 or newer) without what it asks for optionally, its own dependencies as of a day.
NPM := --no-audit --no-fund --silent --omit=optional --ignore-scripts --before=2026-08-08
tools: .venv-tools/runs.stamp

# Known answers, and people's answers: ARGS="--full --page docs/validation.md", ARGS="--page docs/evidence.md".
validate: .venv/test.stamp
	@$(BIN)/python -m validation $(ARGS)

DATA ?= ../shared/data
evidence: .venv/test.stamp
	@$(BIN)/python -m evidence $(DATA) $(ARGS)

cluster: .venv/test.stamp
	$(BIN)/python benchmarks/cluster.py

lint: .venv/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python tools/audit.py

# Alterations of every question that its tests should notice; more of them: make mutate ARGS="--sample 20".
mutate: .venv/test.stamp
	$(BIN)/python tools/mutate.py $(ARGS)

# Each question taken out in turn: the tests that do not ask it must pass. One of them: make without ARGS="drift".
without: .venv/test.stamp
	@$(BIN)/python tools/without.py $(ARGS)

bench: .venv/test.stamp
	$(BIN)/python benchmarks/bench.py $(ARGS)

SECONDS ?= 60
fuzz: .venv/test.stamp
	$(PIP) install atheris==3.0.0
	@for file in readers calibrator answers plans stores logs page; do $(BIN)/python fuzz/$$file.py --seconds $(SECONDS) || exit 1; done

# Every command on hostile names, broken files, odd options and hard places; 100 kills. Again the same: ARGS="--seed 1".
hostile: .venv/test.stamp
	$(BIN)/python fuzz/pass.py $(ARGS)

docs: .venv/test.stamp
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_tutorial.py
	$(BIN)/zensical build --strict -f mkdocs.yml

readme: .venv/test.stamp
	$(BIN)/python docs/make_readme.py

LOCK := $(BIN)/uv pip compile -q pyproject.toml requirements/build.in --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-header --no-emit-package polyjudge
lock:
	$(LOCK) --extra test -o requirements/test.txt
	$(LOCK) -c requirements/test.txt -o requirements/run.txt
	$(BIN)/uv pip compile -q requirements/tools.in --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header -o requirements/tools.txt

# The lower bounds of pyproject.toml, in an environment of their own: a page, the help, and the tests of what meets
# other packages most. (An older rich draws the progress bar at other moments.)
LOWEST ?= --ignore tests/panel/test_progress.py tests/panel tests/read/test_readers.py tests/report/test_charts.py \
  $(addprefix tests/collect/test_collect,.py _batches.py _judges.py _kinds.py _logs.py _parse.py _plan.py)
lowest: .venv/test.stamp
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install -q --python .venv-lowest/bin/python --resolution lowest-direct \
	  ".[collect,warehouse,excel,figures,fetch]" "pytest>=8" "pytest-timeout>=2.3" "hypothesis>=6.100" "polars>=1" \
	  "openai>=2.8" "aioboto3>=13.2" "anthropic>=0.69" "azure-ai-inference>=1.0.0b9" "google-genai>=1.51" "groq>=0.28" \
	  "mistralai>=1.9.10"
	.venv-lowest/bin/polyjudge demo -o .venv-lowest/demo --figures svg > /dev/null
	.venv-lowest/bin/polyjudge collect --help > /dev/null
	POLYJUDGE_NO_SKIP= .venv-lowest/bin/python -m pytest -q -p no:cacheprovider -m "not slow and not browser" $(LOWEST)

dist: .venv/bin/python
	$(PIP) wheel --no-deps -w dist .
	@$(BIN)/python tools/sbom.py dist/polyjudge.cdx.json
	@ls dist/*

clean:
	rm -rf .venv .venv-lowest .venv-tools dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The stamps: dependencies are the pinned and hashed lists, the package itself is installed in place.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("polyjudge needs Python 3.11 or newer; this is " + sys.version.split()[0] + \
	  ". Name another one: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/demo.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv (once)"
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# Chromium, Java, PostgreSQL and R: installed where that is allowed; tests that lack one skip and name it.
.venv/system.stamp: tools/components.py | .venv/test.stamp
	@$(BIN)/python tools/components.py
	@touch $@

.venv/test.stamp: requirements/test.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv with all that the tests need (once)"
	$(PIP) install --require-hashes -r requirements/test.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	-@$(BIN)/python -m pytest --collect-only -qq > /dev/null  # bytecode of source and tests: else each worker makes it
	@touch $@ .venv/demo.stamp

.venv-tools/runs.stamp: .venv-tools/stamp tests/fixtures/make_tools.py $(wildcard tests/eval_tools/*.py)
	.venv-tools/bin/python tests/eval_tools/run_all.py .venv-tools/runs .venv-tools/node/node_modules/.bin/promptfoo
	@touch $@

.venv-tools/stamp: requirements/tools.txt requirements/node/package.json | .venv/test.stamp
	@echo "Setting up .venv-tools with the eval tools (once)"
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-tools
	$(BIN)/uv pip sync -q --compile-bytecode --require-hashes --python .venv-tools/bin/python requirements/tools.txt
	mkdir -p .venv-tools/node && cp requirements/node/package.json .venv-tools/node/
	cd .venv-tools/node && npm install $(NPM)
	cd .venv-tools/node && npm install $(NPM) --no-save $$(node -p 'const v = \
	  require("./node_modules/libsql/package.json").optionalDependencies; Object.keys(v).filter((n) => \
	  n.includes(process.platform + "-" + process.arch) && !n.endsWith("musl")).map((n) => n + "@" + v[n]).join(" ")')
	@touch $@
