# `make` lists what there is to make. Everything sets itself up: a machine needs
# Rust, Python >= 3.10 (3.11 for the site), git and make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Cargo uses all cores by itself, and two builds at once would wait for each other.
.NOTPARALLEL:

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/memscape
TOOLS ?= $(CACHE)/tools
PYTHON ?= python3
export CARGO_TARGET_DIR ?= $(CACHE)/target

# One profile and one set of features for everything: Polars is built once.
CARGO_FLAGS := --release --locked --workspace
MEMSCAPE := $(CARGO_TARGET_DIR)/release/memscape
# Tools for building live in .venv; the wheel is tried in an environment that
# knows nothing but the wheel.
VENV := .venv/tools-installed
FRESH := $(CARGO_TARGET_DIR)/fresh-venv
WHEELS := $(CARGO_TARGET_DIR)/wheels
# The site, and what it is built with beside the wheel.
SITE := $(CARGO_TARGET_DIR)/site
SITE_VENV := $(CARGO_TARGET_DIR)/site-venv
SDIST := $(CARGO_TARGET_DIR)/sdist
FROM_SDIST := $(CARGO_TARGET_DIR)/sdist-venv
RELEASE := $(CARGO_TARGET_DIR)/to-publish
# Where cargo-deny keeps what is known against crates.
ADVISORIES := $(or $(CARGO_HOME),$(HOME)/.cargo)/advisory-dbs
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
FUZZ_CASES ?= 100000
DOCS := $(shell $(PYTHON) -c 'import sys; print("test-site" if sys.version_info >= (3, 11) else "no-docs")')
# What `figures` is compared with.
REDRAWN := $(CARGO_TARGET_DIR)/figures

# On Linux, zig links against the glibc of RHEL 8 and its like, which clusters have,
# whatever this machine's is. Only the last crate is linked by it.
GLIBC := 2.28
ifeq ($(shell uname -s),Linux)
PORTABLE := --compatibility manylinux_$(subst .,_,$(GLIBC)) -- -C linker=$(CURDIR)/python/tools/zig-cc
export ZIG_TARGET := $(shell uname -m)-linux-gnu.$(GLIBC)
endif

EVCXR_VERSION := 0.22.0
EVCXR := $(TOOLS)/evcxr_jupyter-$(EVCXR_VERSION)
# A Rust notebook builds its dependencies by itself. The folder is kept, so that
# only the first run takes minutes.
EVCXR_SESSION := $(CACHE)/evcxr
NOTEBOOKS := $(wildcard notebooks/python/*.ipynb notebooks/rust/*.ipynb)
# A Rust notebook takes a minute to begin. The others' code is the tour's, which is a doctest.
SOME_NOTEBOOKS := $(filter-out notebooks/rust/%,$(NOTEBOOKS)) notebooks/rust/00_quickstart.ipynb notebooks/rust/01_pimnast.ipynb

.PHONY: help
help: ## list what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: reproduce
reproduce: $(MEMSCAPE) ## redraw every figure and table into figures/, then print the claims report
	@# 1 says that a model is less right than it is held to, which is what the report is about.
	$(MEMSCAPE) reproduce --out figures --claims || [ $$? -eq 1 ]

.PHONY: test
# Notebooks first: they install the Rust kernel, which the Python tests show in a browser.
test: lint deny msrv test-rust doc test-figures test-some-notebooks test-python $(DOCS) ## check everything; what CI runs

.PHONY: fmt
fmt: $(VENV) ## format the code
	cargo fmt --all
	.venv/bin/ruff format python docs/conf.py docs/_ext

.PHONY: lint
lint: $(VENV) ## formats and lints of Rust and Python, spelling; warnings are denied
	cargo fmt --all --check
	.venv/bin/ruff format --check python docs/conf.py docs/_ext
	.venv/bin/ruff check python docs/conf.py docs/_ext
	.venv/bin/typos
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings

.PHONY: deny
deny: $(VENV) ## licences, sources and bans of what is built from; what is known against it, if that list is at hand
	.venv/bin/cargo-deny --locked check bans licenses sources
	@if compgen -G "$(ADVISORIES)/*/crates" > /dev/null; then .venv/bin/cargo-deny --offline --locked check advisories; \
	else echo "advisories: not looked at; \`make advisories\` fetches their list into $(ADVISORIES)"; fi

.PHONY: advisories
advisories: $(VENV) ## fetch what is known against crates, and look
	.venv/bin/cargo-deny --locked check advisories

.PHONY: msrv
msrv: ## check with the oldest Rust that is promised, if that is at hand
	@case "$$(rustc --version)" in \
	"rustc $(MSRV)"*) echo "msrv: Rust $(MSRV) itself builds and checks all of this" ;; \
	*) if rustup run $(MSRV) rustc --version > /dev/null 2>&1; then \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/msrv rustup run $(MSRV) cargo check $(CARGO_FLAGS) --all-targets; \
	else echo "msrv: not checked; \`rustup toolchain install $(MSRV)\` brings it"; fi ;; esac

.PHONY: third-party
third-party: ## write anew whose code the wheel holds, and under which terms
	$(PYTHON) python/tools/third_party.py

.PHONY: test-rust
test-rust: ## Rust tests, doctests and the pages' Rust snippets
	cargo test $(CARGO_FLAGS)

.PHONY: doc
doc: ## API documentation, with warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc $(CARGO_FLAGS) --no-deps

# Warnings are errors. Notebooks are shown as they stand; `test-notebooks` runs them.
.PHONY: docs
docs: doc wheel $(SITE_VENV)/tools-installed ## build the site: pages, notebooks, reference, gallery, API documentation
	wheel=$$(echo $(WHEELS)/memscape-*.whl) && $(SITE_VENV)/bin/pip install --quiet --force-reinstall --no-deps "$$wheel" && \
		$(SITE_VENV)/bin/pip install --quiet "$$wheel"
	MYPYPATH=docs/_ext:python/tools $(SITE_VENV)/bin/python -m mypy docs/_ext
	rm -rf $(SITE)
	$(SITE_VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env \
		--conf-dir docs --doctree-dir $(SITE_VENV)/doctrees . $(SITE)
	cp -R $(CARGO_TARGET_DIR)/doc $(SITE)/rust
	$(SITE_VENV)/bin/python python/tools/check_site.py $(SITE)
	@echo "$(SITE)/index.html"

.PHONY: test-site
test-site: docs $(FRESH) ## what lives on the built site, in a browser
	MEMSCAPE_SITE=$(SITE) $(FRESH)/bin/python -m pytest -k site python/tests/test_explorer.py

.PHONY: no-docs
no-docs:
	@echo "docs: not built; the site needs Python >= 3.11 (make test PYTHON=python3.11)"

.PHONY: test-figures
test-figures: $(MEMSCAPE) ## every file in figures/ is what the code draws now
	rm -rf $(REDRAWN)
	$(MEMSCAPE) reproduce --out $(REDRAWN)
	@diff --recursive --brief figures $(REDRAWN) || \
		{ echo "figures/ is not what the code draws: \`make reproduce\` redraws it; what is only there is left over"; exit 1; }

.PHONY: docs-numbers
docs-numbers: $(MEMSCAPE) ## rewrite the totals that README, docs and CHANGELOG quote from the claims report
	$(PYTHON) python/tools/docs_numbers.py $(MEMSCAPE)

# Hermes' walks take minutes for each draw, so that it has fewer.
.PHONY: coverage
coverage: $(MEMSCAPE) ## hold printed numbers against what the models say that they may be: seconds, Hermes a quarter of an hour
	for it in data/calibration/*.toml; do \
		$(MEMSCAPE) claims "$$(basename $$it .toml)" --uncertainty 40 --json > "$${it%.toml}-coverage.json"; done

.PHONY: keep-editions
keep-editions: ## keep what each study answers now at its defaults, once it may answer otherwise
	EDITIONS=keep cargo test $(CARGO_FLAGS) --test it -- editions

.PHONY: leave-one-out
leave-one-out: $(MEMSCAPE) ## predict each calibrating claim from a fit to the others: an hour, which Hermes' claims take
	@# Hermes has no jumps, and claims that take seconds.
	for it in data/calibration/*.toml; do \
		paper="$$(basename $$it .toml)"; if [ "$$paper" = hermes ]; then near=--near; else near=; fi; \
		$(MEMSCAPE) calibrate "$$paper" --leave-one-out $$near --out "$${it%.toml}-leave-one-out.csv"; done

.PHONY: bench
bench: $(FRESH) $(MEMSCAPE) ## speed of the engine, of sweeps, of whole programs; writes docs/performance.md
	cargo bench --locked --workspace --benches
	$(FRESH)/bin/python python/benches/performance.py $(MEMSCAPE) $(WHEELS)/memscape-*.whl $(CARGO_TARGET_DIR)/criterion

.PHONY: wheel
wheel: $(VENV) ## build the Python wheel
	rm -rf $(WHEELS)
	.venv/bin/maturin build --release --locked --out $(WHEELS) $(PORTABLE)
ifneq ($(PORTABLE),)
	for it in $(WHEELS)/*.whl; do .venv/bin/auditwheel show $$it && .venv/bin/abi3audit --strict $$it; done
endif
	@echo "pip install $$(echo $(WHEELS)/memscape-*.whl)"

.PHONY: sdist
sdist: $(VENV) ## build the source distribution
	rm -rf $(SDIST)
	.venv/bin/maturin sdist --out $(SDIST)
	tar -xzf $(SDIST)/memscape-*.tar.gz -C $(SDIST)

# Where it is unpacked stays the same, so that only the workspace's own crates are built.
.PHONY: test-sdist
test-sdist: sdist ## build from the source distribution alone and the crates at hand, and run the Python tests on that
	cargo fetch --locked
	$(PYTHON) -m venv --clear $(FROM_SDIST)
	source=$$(echo $(SDIST)/memscape-*/) && CARGO_NET_OFFLINE=true $(FROM_SDIST)/bin/pip install --quiet "$$source[test]"
	$(FROM_SDIST)/bin/python -m pytest

.PHONY: test-pythons
test-pythons: wheel ## try the wheel on every Python at hand that it is for, with no compiler in reach
	$(PYTHON) python/tools/every_python.py $(WHEELS)/memscape-*.whl $(CARGO_TARGET_DIR)/pythons

.PHONY: release
release: export MEMSCAPE_COMMIT = $(shell git rev-parse HEAD)
release: wheel sdist ## build what a release would publish, check it, and list it; nothing is published
	rm -rf $(RELEASE) && mkdir $(RELEASE)
	cp $(WHEELS)/*.whl $(SDIST)/*.tar.gz $(RELEASE)
	.venv/bin/twine check --strict $(RELEASE)/*
	$(PYTHON) python/tools/release.py $(RELEASE)

.PHONY: fuzz
fuzz: ## change real inputs at random for longer than the tests do; FUZZ_CASES says how often for each reader
	FUZZ_CASES=$(FUZZ_CASES) cargo test $(CARGO_FLAGS) --test inputs -- --nocapture

.PHONY: extremes
extremes: ## every number of every study at its extremes, and 20 000 points of extremes at random: all of what the tests have a minute for
	EXTREMES_SECONDS=0 EXTREMES_POINTS=20000 cargo test $(CARGO_FLAGS) --test it no_number_breaks_a_study -- --nocapture

.PHONY: test-python
test-python: $(FRESH) ## pytest, doctests, the pages' commands, the repository's rules, types and stubs
	$(FRESH)/bin/python -m pytest
	$(FRESH)/bin/python -m mypy python/memscape python/tools
	$(FRESH)/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml --allowlist python/tools/stubtest.txt memscape

.PHONY: test-notebooks
test-notebooks: $(FRESH) $(EVCXR) ## run the notebooks
	$(call run_notebooks,,$(NOTEBOOKS))

.PHONY: test-some-notebooks
test-some-notebooks: $(FRESH) $(EVCXR) ## run the Python notebooks, and two of the Rust ones
	$(call run_notebooks,,$(SOME_NOTEBOOKS))

.PHONY: notebooks
notebooks: $(FRESH) $(EVCXR) ## run the notebooks and keep what they show
	$(call run_notebooks,--save,$(NOTEBOOKS))

.PHONY: lab
lab: $(FRESH) $(EVCXR) ## JupyterLab over the notebooks, with the wheel and both kernels
	$(call install_kernel)
	$(FRESH)/bin/jupyter lab --notebook-dir=notebooks

define install_kernel
$(FRESH)/bin/python notebooks/kernel.py --install $(FRESH)/share/jupyter/kernels $(TOOLS)/bin/evcxr_jupyter $(EVCXR_SESSION)
endef

define run_notebooks
$(call install_kernel)
$(FRESH)/bin/python notebooks/run.py $(1) $(2)
endef

$(MEMSCAPE): FORCE
	cargo build --release --locked --package memscape-cli

# Made anew whenever what it is made of is said otherwise: it proves that the wheel needs nothing else.
$(FRESH): wheel FORCE
	cmp --silent pyproject.toml $@/pyproject.toml || $(PYTHON) -m venv --clear $@
	wheel=$$(echo $(WHEELS)/memscape-*.whl) && $@/bin/pip install --quiet "$$wheel[notebook,test]" && \
		$@/bin/pip install --quiet --force-reinstall --no-deps "$$wheel"
	cp pyproject.toml $@/

$(VENV): python/tools/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("memscape needs Python >= 3.10" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --requirement $<
	touch $@

$(SITE_VENV)/tools-installed: docs/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("the site needs Python >= 3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --requirement $<
	touch $@

$(EVCXR):
	env -u CARGO_TARGET_DIR cargo install --locked --version $(EVCXR_VERSION) --root $(TOOLS) evcxr_jupyter
	touch $@

.PHONY: FORCE
FORCE:
