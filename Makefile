# One command sets up and shows (make demo), one sets up and checks (make test); what takes longer runs at night (make nightly).
NEEDED := $(shell sed -n 's/^requires-python = ">=\([0-9.]*\)".*/\1/p' pyproject.toml)
FITS = import sys; sys.exit(sys.version_info < tuple(map(int, "$(NEEDED)".split("."))))
# The first interpreter that is new enough; `make demo PYTHON=...` names another.
PYTHON ?= $(shell for it in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$it -c '$(FITS)' 2>/dev/null && echo $$it && break; done)
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv)
PIP := $(if $(UV),uv pip install --python $(BIN)/python,$(BIN)/python -m pip --disable-pip-version-check install) --quiet
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
SITE := $(VENV)/site

# Commands that tests start load compiled code, also where an image for containers sets this variable.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check pytest container nightly mutate bench image generated site lock release owner clean

# The packages that a run needs, and no tools: a run of the example is seconds away.
demo: $(or $(wildcard $(READY)),$(RUNS))
	@$(BIN)/python scripts/demo.py

test: check pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generated.py --check

pytest: $(READY)
	$(BIN)/pytest -q -n 3 --dist loadgroup -m "not slow"

# The image built and started as GitHub's runner does; needs root, and the tools that .ci/run installs.
container: $(READY)
	$(BIN)/pytest -q tests/container/test_container.py

# All that takes long: every test with coverage and 200 inputs for each property, the side by side with promptfoo, changed code.
nightly: check $(SITE)/.ready
	$(BIN)/pytest -q -n 3 --dist loadgroup --cov --hypothesis-profile=nightly
	$(BIN)/python benchmarks/promptfoo_side_by_side.py
	$(MAKE) mutate

# Whether the tests notice small changes to the code that decides; MUTATE="planning --seed 2" names others.
mutate: $(READY)
	$(BIN)/python scripts/mutate.py $(MUTATE)

bench: $(READY)
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/rate_limits.py --promptfoo newest

# What the image weighs, and how long it takes to start. Needs docker; BASE=... measures it on another base.
image:
	docker build --quiet $(if $(BASE),--build-arg BASE=$(BASE)) --tag gradegate:measured .
	docker save --output .image.tar gradegate:measured
	$(PYTHON) scripts/image_size.py .image.tar --start gradegate:measured; code=$$?; rm -f .image.tar; exit $$code

# Files that are made from the code.
generated: $(READY)
	$(BIN)/python scripts/generated.py
	$(BIN)/python scripts/transcript.py

# The site of the docs, into site/. What builds it has an environment of its own, by hash.
site: $(SITE)/.ready
	$(SITE)/bin/python scripts/docs_site.py $(abspath $(SITE)/bin/zensical)

# What the container installs, and what builds the package of a release and the site of the docs, by hash. Nobody looks at a terminal there: no rich.
COMPILE = PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= $(BIN)/pip-compile --quiet --no-annotate --generate-hashes --strip-extras \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --no-header --output-file
lock: $(READY)
	$(COMPILE) requirements.lock $(addprefix --unsafe-package ,rich markdown-it-py mdurl pygments) pyproject.toml
	$(COMPILE) .github/package/requirements.txt --allow-unsafe .github/package/requirements.in
	$(COMPILE) .github/site/requirements.txt .github/site/requirements.in

# One commit with version, date and figures: make release VERSION=0.2.0, and OWNER=NAME where the repository names no owner yet.
release: $(READY)
	$(BIN)/python scripts/release.py prepare $(VERSION) $(addprefix --owner ,$(OWNER))
	$(BIN)/ruff format --quiet .
	$(BIN)/python scripts/generated.py
	git commit --quiet --all --message "Prepare v$(VERSION)"
	$(BIN)/python scripts/release.py check $(VERSION)

# The owner's name in every file that names this repository: make owner OWNER=NAME.
owner: $(READY)
	$(BIN)/python scripts/release.py own $(OWNER)
	$(BIN)/ruff format --quiet .

$(BIN)/python:
	$(if $(or $(UV),$(PYTHON)),,$(error gradegate needs Python $(NEEDED) or newer: install it, or name one with make PYTHON=/path/to/python3))
	$(if $(UV),uv venv --quiet --seed --python "$(or $(PYTHON),>=$(NEEDED))" $(VENV),$(PYTHON) -m venv $(VENV))

$(RUNS): requirements.lock | $(BIN)/python
	$(PIP) --no-compile --requirement requirements.lock
	@touch $(RUNS)

$(READY): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $(READY)

$(SITE)/.ready: .github/site/requirements.txt | $(BIN)/python
	$(BIN)/python -m venv $(SITE)
	$(SITE)/bin/pip --disable-pip-version-check install --quiet --require-hashes --requirement $<
	@touch $@

clean:
	rm -rf $(VENV) build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
