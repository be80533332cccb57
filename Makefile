# Two commands: `make demo` and `make test`. Both set themselves up in .venv on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test check format docs bench clean

demo: $(VENV)/demo-ready
	rm -f build/demo.run.db
	$(BIN)/jurybox demo --out build/demo.run.db

test: $(VENV)/dev-ready check
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

check: $(VENV)/dev-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/dev-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev-ready
	$(BIN)/python docs/generate.py

bench: $(VENV)/dev-ready
	$(BIN)/python bench/spine.py

clean:
	rm -rf $(VENV) build dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "jurybox needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo-ready: $(BIN)/python pyproject.toml
	$(PIP) install --editable '.[embedded]'
	touch $@

$(VENV)/dev-ready: $(BIN)/python pyproject.toml
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --editable '.[all]' --group dev
	touch $@ $(VENV)/demo-ready
