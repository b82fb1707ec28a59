# verispec: every target says what it does; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
TORCH_INDEX ?=
VENV ?= .venv
# What .venv was made for; cpu before there is one.
DEVICE ?= $(or $(patsubst $(VENV)/.ready-%,%,$(firstword $(wildcard $(VENV)/.ready-*))),cpu)
SCENARIO ?= $(if $(filter verify,$(MAKECMDGOALS)),exactness,demo)
ARM ?=
DIR ?=
PORT ?=
OUT ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(DEVICE)
# A name (demo) or a path (my/own.yaml).
SCENARIO_FILE = $(if $(wildcard $(SCENARIO)),$(SCENARIO),scenarios/$(SCENARIO).yaml)

.PHONY: help setup peers demo test test-fast lint bench soak serve serve-baseline sweep verify notebooks docs report doctor clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18
	@echo
	@echo 'variables: SCENARIO=name|file  ARM=name  DIR=results/…  PORT=…  OUT=…  DEVICE=cpu|gpu  PYTHON=…  TORCH_INDEX=URL'

setup: $(READY) ## make .venv with the locked environment (DEVICE=gpu: PyPI's CUDA vLLM); quick when nothing changed

$(READY): requirements/$(DEVICE).sh requirements/cpu.txt requirements/torch-cpu.txt pyproject.toml
	@PYTHON='$(PYTHON)' VENV='$(VENV)' TORCH_INDEX='$(TORCH_INDEX)' bash requirements/$(DEVICE).sh
	@touch $@

peers: setup ## add arctic-inference, for vLLM's suffix drafter (scenarios/peers.yaml); builds it: a C++ compiler, about a minute
	@DEVICE='$(DEVICE)' PYTHON='$(PYTHON)' VENV='$(VENV)' bash requirements/peers.sh

demo: setup ## the whole job: fetch the model, sweep scenarios/demo.yaml, print table, plot and report (resumes if it was killed)
	@$(BIN)/verispec fetch-model
	@$(BIN)/verispec sweep scenarios/demo.yaml --resume $(if $(OUT),--out $(OUT))

sweep: setup ## run (or resume) any scenario: make sweep SCENARIO=batch-sweep [OUT=DIR]
	@$(BIN)/verispec sweep $(SCENARIO_FILE) --resume $(if $(OUT),--out $(OUT))

verify: setup ## test sampled tokens and greedy answers against target-only (or go on): make verify [SCENARIO=exactness] [OUT=DIR]
	@$(BIN)/verispec fetch-model
	@$(BIN)/verispec verify $(SCENARIO_FILE) --resume $(if $(OUT),--out $(OUT))

notebooks: setup ## run the notebooks; executed copies go to OUT (default results/notebooks)
	@mkdir -p $(or $(OUT),results/notebooks)
	@cd notebooks && ../$(BIN)/jupyter-execute *.ipynb --output '$(abspath $(or $(OUT),results/notebooks))/{notebook_name}'

docs: setup ## build the documentation into site/
	@$(BIN)/python docs/reference_pages.py
	@$(BIN)/zensical build --strict --clean

report: setup ## redraw the figures and report.html of a result directory: make report DIR=results/…
	@$(if $(DIR),,echo 'which result directory? make report DIR=results/…' >&2; exit 2;) $(BIN)/verispec report $(DIR)

serve: setup ## start the speculative server of a scenario by hand: make serve [SCENARIO=demo] [ARM=…] [PORT=…]
	@$(BIN)/verispec serve $(SCENARIO_FILE) $(if $(ARM),--arm $(ARM)) $(if $(PORT),--port $(PORT))

serve-baseline: setup ## start its matched target-only server by hand
	@$(BIN)/verispec serve $(SCENARIO_FILE) --baseline $(if $(PORT),--port $(PORT))

test: setup lint ## all tests: lint, types, pure, fake servers, and real vLLM engines
	@$(BIN)/verispec fetch-model
	@$(BIN)/pytest -m 'not engine' -n 2
	@$(BIN)/pytest -m engine

test-fast: setup lint ## the tests that need no engine
	@$(BIN)/pytest -m 'not engine' -n 2

lint: setup ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup ## time rules and drafters, their share of a served step, and the load client's own error (quiet the machine first)
	@$(BIN)/verispec fetch-model > /dev/null
	@$(BIN)/python benchmarks/rules.py $(if $(OUT),--json > $(OUT))
	@$(BIN)/python benchmarks/drafters.py $(if $(OUT),--json >> $(OUT))
	@$(BIN)/python benchmarks/served.py $(if $(OUT),--json >> $(OUT))
	@$(BIN)/python benchmarks/client.py $(if $(OUT),--json >> $(OUT))

soak: setup ## twenty minutes of mixed traffic on a live server while faults are switched on and off: nothing may be lost or differ
	@$(BIN)/python -m tests.soak

doctor: setup ## what is installed, which seams fit, which model is there
	@$(BIN)/verispec doctor

clean: ## remove .venv and tool caches (not results, not the model)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
