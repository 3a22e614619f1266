# The commands of this project; CMakePresets.json and ./setup do the work.
.DEFAULT_GOAL := build
.PHONY: setup configure build demo test bundle fuzz format format-check lint layers bench dspy clean

RELEASE := build/release
PROGRAM := $(RELEASE)/cuda-rlm
SOURCES := find $(wildcard src tests bench) -name '*.h' -o -name '*.cpp'

setup:
	@./setup

configure: setup
	@mkdir -p build
	@cmake --preset release -DRECUDA_WERROR=$(if $(CI),ON,OFF) >$(RELEASE).log 2>&1 || { cat $(RELEASE).log >&2; exit 1; }

build: configure
	cmake --build --preset release --target cuda-rlm

# Each demo has a folder of its own, so it can be run again.
demo: build
	$(PROGRAM) run --task nano30b_rmsnorm --preset offline --out-dir artifacts/demo/$$(date +%Y%m%d-%H%M%S-%N)

test: configure
	cmake --build --preset release
	@tools/run_tests.py $(RELEASE)

bundle: build
	tools/bundle $(RELEASE)

bench: build
	cmake --build --preset release --target benchmarks
	@for program in $(RELEASE)/bench_*; do $$program || exit 1; done

# DSPy itself, which tests/dspy compares with; made again when the pins change.
dspy: .deps/dspy/.stamp
.deps/dspy/.stamp: deps/dspy.txt | setup
	rm -rf .deps/dspy
	python3 -m venv .deps/dspy
	.deps/dspy/bin/python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: -r deps/dspy.txt
	@touch $@

# An hour by default; what is found lies in artifacts/fuzz.
FUZZ_SECONDS ?= 3600
fuzz: setup
	@mkdir -p build
	@cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log >&2; exit 1; }
	@cmake --build --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log >&2; exit 1; }
	tests/fuzz/run $(FUZZ_SECONDS)

format:
	$(SOURCES) | xargs -r clang-format -i

format-check:
	$(SOURCES) | xargs -r clang-format --dry-run -Werror

lint:
	tools/lint.py $(RELEASE)

layers:
	tools/check_layers.py

clean:
	rm -rf build
