# The same commands for people and for CI.
PYTHON ?= python

.PHONY: install lock check format lint types contracts test docs bench

install:  ## Install exactly what the lock names, then this package
	$(PYTHON) -m pip install --require-hashes --requirement locks/dev.lock
	$(PYTHON) -m pip install --no-deps --no-build-isolation --editable .

lock:  ## Resolve the lock anew
	$(PYTHON) -m uv pip compile pyproject.toml --extra dev --extra world --extra ray --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet --output-file locks/dev.lock

check: lint types contracts test docs  ## Everything that CI checks

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

contracts:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	$(PYTHON) -m pytest

docs:
	$(PYTHON) -m mkdocs build --strict

bench:  ## The engine against a bare loop
	$(PYTHON) -m benchmarks.engine_overhead
