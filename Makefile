# On a fresh machine (Python >= 3.11 and make): `make demo` or `make test`. Everything else is installed
# into .venv by these targets, in the versions of constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types contract docs bench-core constraints clean

help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tailcut needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch .venv/installed

demo: setup ## set up and run the main job
	$(BIN)/tailcut demo

test: lint docs ## set up and pass all checks: lint, types, import contract, docs, tests, doctests
	$(BIN)/pytest -n auto

lint: setup ## formatting, lint, types and import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup ## build the documentation into site/, strictly
	$(BIN)/zensical build --clean --strict

bench-core: setup ## time per decision of the core, as a table
	$(BIN)/python benchmarks/core.py

constraints: setup ## write down the versions now installed
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean: ## remove everything that was made here
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis site dist
