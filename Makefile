# Entry points for users and developers. Each target installs missing packages, configures and builds first.
.DEFAULT_GOAL := help
.PHONY: help build test test-deep test-debian13 check demo bench docs format install clean
PREFIX ?= /usr/local
PYTHON := /usr/bin/python3
TUTTI := build/bin/tutti
QUICK := --quick --append --json build/bench/results.json

help:  ## prints this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

build:  ## the programs, in build/bin
	@scripts/build.sh release

test:  ## every test in a release build, and the checks of the source
	@scripts/install-deps.sh --for test
	@$(PYTHON) scripts/run_tests.py

test-deep:  ## tests with sanitizers (asan + ubsan, tsan) and as on older CPUs; clang-tidy, thread-safety analysis
	@scripts/install-deps.sh --for deep
	@$(PYTHON) scripts/run_tests.py --deep

test-debian13:  ## every test in Debian 13, in a chroot that is kept between runs (root; docs/use/debian13.md)
	@scripts/debian13

check:  ## only the quick checks: layers, sizes, format, documents, prose, error codes
	@scripts/install-deps.sh --for test
	@$(PYTHON) scripts/run_tests.py checks

demo:  ## trains the particle-physics network on all cores; prints result and speed, plots in build/demo
	@TUTTI_PACKAGES=build scripts/build.sh release tutti train_rank
	@$(TUTTI) train hep --set runs=build/demo --set train_events=24000 --set test_events=30000 --set val_events=3000
	@$(TUTTI) bench train --ranks $$(nproc) --images 64 --batch 64 --rounds 1 --baselines none --json build/demo/speed.json

bench: build  ## every benchmark in a quick form; results and plots in build/bench
	@mkdir -p build/bench && rm -f build/bench/results.json
	@$(TUTTI) bench allreduce $(QUICK) --plot build/bench/allreduce.svg
	@$(TUTTI) bench ddp $(QUICK)
	@$(TUTTI) bench train $(QUICK)
	@$(TUTTI) bench hybrid $(QUICK)
	@$(TUTTI) bench glm $(QUICK)
	@$(TUTTI) bench shapes $(QUICK)
	@$(TUTTI) bench tree $(QUICK)
	@$(TUTTI) bench summary build/bench/results.json --plot build/bench/summary.svg
	@echo "rows: build/bench/results.json   plots: build/bench/*.svg"

docs:  ## the documentation as a site with search and API reference, in build/docs/html
	@scripts/install-deps.sh --for docs
	@$(PYTHON) tools/build_docs.py

format:  ## clang-format over the whole source
	@scripts/install-deps.sh --for test
	@$(PYTHON) tools/check_format.py --fix

install: build  ## libraries, headers, programs under PREFIX (/usr/local)
	@scripts/install.sh "$(PREFIX)"

clean:  ## removes all build directories
	@rm -rf build build-*
