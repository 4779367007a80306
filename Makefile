# One short name for everything a developer or the CI runs. The presets in CMakePresets.json do the work; each one has
# its own tree under build/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.NOTPARALLEL:

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BENCH_ARGS ?=
SOAK_ARGS ?=
STORM_ARGS ?=
MUTATION_ARGS ?=
FUZZ_SECONDS ?=
SANITIZE_ALL ?= OFF

.PHONY: build install setup test demo bench bench-micro ceiling soak storm check format sanitize matrix fuzz mutation clean help

say = printf '== %s\n' "$(strip $(1))"
configure = $(call say,configure $(1)); cmake --preset $(1) >/dev/null
build = $(call say,build $(1) $(2)); cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))

build: setup
	@$(call configure,release)
	@$(call build,release)

# The library and the program perdure, without tests, benchmarks and examples.
install: setup
	@$(call configure,install)
	@$(call build,install)
	@$(call say,install under $(PREFIX))
	@cmake --install build/install --prefix "$(PREFIX)" >/dev/null

setup:
	@scripts/setup.sh

# The fuzzers first, so that the last thing printed is the summary of the main suite.
test: fuzz build
	@$(call say,test release)
	@ctest --preset release

demo: setup
	@$(call configure,release)
	@$(call build,release,order_demo)
	@$(call say,run examples/order_demo: an order survives the death of its process)
	@build/release/examples/order_demo

# A few minutes. Writes build/bench/*.json, the plot and the tables of docs/performance.md. BENCH_SECONDS=10 measures
# each workload longer.
bench: setup
	@$(call configure,release)
	@$(call build,release,perdure_cli)
	@$(call say,run bench/report/run.sh)
	@bench/report/run.sh build/release/bin/perdure build/bench
	@$(call say,write the tables and the plot)
	@python3 -B bench/report/report.py build/bench --page docs/performance.md --summary README.md --plot docs/in-flight.svg

# What single parts cost: the replay engine, a long history, nodes on PostgreSQL.
bench-micro: setup
	@$(call configure,release)
	@$(call build,release,perdure_benchmarks)
	@for source in $(wildcard bench/*_bench.cpp); do \
	  program=build/release/$${source%.cpp}; \
	  $(call say,run $$program); \
	  $$program $(BENCH_ARGS); \
	done
	@$(call say,run bench/growth/run.sh)
	@bench/growth/run.sh build/release/bench
	@$(call say,run bench/postgres/run.sh)
	@bench/postgres/run.sh build/release/bench

# Takes about fifteen minutes: each program several times, in turn.
ceiling: setup
	@$(call configure,release)
	@$(call build,release,perdure_benchmarks)
	@$(call say,run bench/ceiling/compare.sh)
	@bench/ceiling/compare.sh build/release/bench
	@$(call say,run bench/ceiling/compare_postgres.sh)
	@bench/ceiling/compare_postgres.sh build/release/bench

# Ten minutes, unless SOAK_ARGS=seconds=60 or the like says otherwise.
soak: setup
	@$(call configure,release)
	@$(call build,release,soak)
	@$(call say,run bench/soak)
	@build/release/bench/soak store=build/release/bench/soak.db $(SOAK_ARGS)

# Ten minutes, unless STORM_ARGS=seconds=60 or the like says otherwise. It mounts a small file system, so it needs root.
storm: setup
	@$(call configure,release)
	@$(call build,release,perdure_storm)
	@$(call say,run tests/cluster/storm)
	@build/release/tests/perdure_storm $(STORM_ARGS)

check: setup
	@$(call configure,clang)
	@$(call configure,fuzz)
	@JOBS=$(JOBS) scripts/check.sh

format: setup
	@scripts/check.sh --format

# The thread sanitizer runs only what starts threads, the others not all of that. SANITIZE_ALL=ON lets them run the rest as
# well, in twice the time.
sanitize: setup
	@$(call say,configure asan); cmake --preset asan -DPERDURE_SANITIZE_ALL=$(SANITIZE_ALL) >/dev/null
	@$(call build,asan)
	@$(call say,test asan)
	@ctest --preset asan
	@$(call configure,tsan)
	@$(call build,tsan,perdure_threaded_tests)
	@$(call say,test tsan: the label threads)
	@ctest --preset tsan -L '^threads$$' --no-tests=ignore

matrix: setup
	@$(call configure,clang)
	@$(call build,clang)
	@$(call say,test clang)
	@ctest --preset clang

fuzz: setup
	@$(call configure,fuzz)
	@$(call build,fuzz,perdure_fuzzers)
	@$(call say,test fuzz)
	@ctest --preset fuzz --no-tests=ignore
ifneq ($(FUZZ_SECONDS),)
	@for source in $(wildcard fuzz/*_fuzz.cpp); do \
	  program=build/fuzz/$${source%.cpp}; name=$$(basename $$source _fuzz.cpp); \
	  mkdir -p build/fuzz/found/$$name build/fuzz/fuzz/crashes/$$name; \
	  corpus=fuzz/corpus/$$name; if ! [ -d $$corpus ]; then corpus=; fi; \
	  $(call say,search $$name for $(FUZZ_SECONDS) s); \
	  ASAN_OPTIONS=external_symbolizer_path=/usr/bin/addr2line \
	    $$program -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/fuzz/crashes/$$name/ build/fuzz/found/$$name $$corpus; \
	done
endif

# Prints the table of docs/mutations.md. Takes a few minutes; MUTATION_ARGS='--only tag-ignored' for one fault.
mutation: setup
	@$(call configure,mutation)
	@$(call build,mutation)
	@$(call say,run perdure mutation)
	@build/mutation/bin/perdure mutation $(MUTATION_ARGS)

clean:
	@rm -rf build

help:
	@echo 'make build      configure and build build/release, the default'
	@echo 'make install    the library and the program perdure; PREFIX=/usr/local'
	@echo 'make test       everything that must pass: fuzzers briefly, then the whole suite'
	@echo 'make demo       an order survives the SIGKILL of its process, in a few seconds'
	@echo 'make bench      perdure bench over workloads and stores, into docs/performance.md; BENCH_SECONDS=...'
	@echo 'make bench-micro  what single parts cost; BENCH_ARGS=--benchmark_filter=...'
	@echo 'make ceiling    the SQLite and PostgreSQL stores beside what the bare databases reach'
	@echo 'make soak       two runtimes under a mixed workload for ten minutes'
	@echo 'make storm      all faults at once for ten minutes on PostgreSQL, as root; STORM_ARGS="seconds=60 seed=17"'
	@echo 'make check      clang-format on all sources, clang-tidy on what changed; CHECK_BASE=<commit>, CHECK_ALL=1'
	@echo 'make format     let clang-format rewrite all sources'
	@echo 'make sanitize   tests under address and undefined, those with threads under thread; SANITIZE_ALL=ON for all'
	@echo 'make matrix     the suite with clang'
	@echo 'make fuzz       the fuzzers; FUZZ_SECONDS=600 to search that long with each'
	@echo 'make mutation   plant faults in the engine and let the simulator find them; MUTATION_ARGS=...'
	@echo 'make setup      install the packages that are missing'
	@echo 'make clean      remove build/'
