# From a bare machine (Python 3.11, a C compiler, make) to a result, in one command each:
#
#   make demo            build, and run the main job on data it generates
#   make test            build, then every test and every style check
#   make test-slow       the tests marked slow; the C tests for threads, with clang, in valgrind
#   make test-sklearn    scikit-learn's own tests of its support vector machines, on kcore's
#   make attack          ten minutes of random attacks (ATTACK_MINUTES=, ATTACK_SEED=)
#   make bench-kernels   kernel evaluations against NumPy and scikit-learn
#   make bench-svm       support vector machines against other libraries
#   make bench-gradient  gradients of kernels beside their Gram matrices
#   make bench-perceptron  passes of the perceptron against scikit-learn
#   make bench-online    what one sample costs an online learner
#   make bench-decomposition  KernelPCA and Nystroem against scikit-learn
#   make bench           every benchmark
#   make format          let the formatters rewrite what they may
#   make clean           forget what was built (distclean: the environment too)
#
# Tools and libraries are installed into .venv, by the lists in pyproject.toml; builds are in build/.

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE := 1

.DELETE_ON_ERROR:
.SUFFIXES:

.PHONY: help
help:
	@sed -n 's/^#   //p' Makefile

# ---- Environment ----------------------------------------------------------------------------

# $(call install_requirements,names): the package's own requirements, those of its build, and the
# named extras, read from pyproject.toml.
install_requirements = \
	python -c "import sys, tomllib; t = tomllib.load(open('pyproject.toml', 'rb')); \
	p = t['project']; e = p['optional-dependencies']; \
	print(*t['build-system']['requires'], 'ninja', *p['dependencies'], \
	*(r for name in sys.argv[1:] for r in e[name]), sep='\n')" $(1) > .venv/requirements.txt \
	&& pip install -qq --requirement .venv/requirements.txt

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kcore needs Python 3.11 or later; try make PYTHON=python3.11")'
	@echo "making the environment .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/has-build: pyproject.toml | .venv/made
	@echo "installing what the build needs"
	@$(call install_requirements)
	@touch $@

.venv/has-test: pyproject.toml | .venv/has-build
	@echo "installing what the tests need"
	@$(call install_requirements,test dev)
	@touch $@

.venv/has-sklearn-suite: pyproject.toml | .venv/has-build
	@echo "installing scikit-learn with its tests"
	@$(call install_requirements,sklearn-suite)
	@touch $@

.venv/has-bench: pyproject.toml | .venv/has-build
	@echo "installing what the benchmarks need"
	@$(call install_requirements,bench)
	@pip install -qq --no-deps thundersvm-cpu || echo "thundersvm-cpu does not install here: left out"
	@touch $@

# The package as users get it; build/package is kept, so that only what changed is compiled.
package_sources := meson.build meson.options pyproject.toml \
	$(shell find src python -type f -not -name '*.pyc')

.venv/has-kcore: $(package_sources) | .venv/has-build
	@echo "building and installing kcore"
	@unset MAKEFLAGS; pip install -qq --no-deps --no-build-isolation --force-reinstall \
		--config-settings=build-dir=build/package .
	@touch $@

# ---- Uses -----------------------------------------------------------------------------------

.PHONY: demo bench bench-kernels bench-gradient bench-svm bench-online bench-perceptron bench-decomposition
demo: .venv/has-kcore
	@python examples/demo.py

# bench/python/bench_<name>.py; BENCH_ARGS="--help" shows what each takes.
bench-kernels bench-gradient bench-svm bench-online bench-perceptron bench-decomposition: bench-%: .venv/has-bench .venv/has-kcore build/release/build.ninja
	@unset MAKEFLAGS; ninja -C build/release --quiet
	@python bench/python/bench_$*.py $(BENCH_ARGS)

# One after the other, whatever -j says.
bench:
	@$(MAKE) --no-print-directory bench-kernels
	@$(MAKE) --no-print-directory bench-gradient
	@$(MAKE) --no-print-directory bench-svm
	@$(MAKE) --no-print-directory bench-online
	@$(MAKE) --no-print-directory bench-perceptron
	@$(MAKE) --no-print-directory bench-decomposition

# ---- Tests ----------------------------------------------------------------------------------

c_files = $(shell find src tests bench examples -name '*.[ch]' -o -name '*.inc')
c_options := -Dpython=disabled -Dtests=true -Dbench=true -Dwerror=true
sanitize := --buildtype=debugoptimized -Db_sanitize=address,undefined

# $(call step,commands[,detail]): one line where they pass, all they said where they fail; `detail`
# is a sed script that picks words for that line.  MAKEFLAGS would make ninja look for make's
# job server.
define step
	@mkdir -p build/log; unset MAKEFLAGS; start=$$(date +%s); \
	if ( $(1) ) > build/log/$@.log 2>&1; then word=ok; else word=FAILED; cat build/log/$@.log; fi; \
	printf '%-6s %4d s  %-12s  %s\n' $$word $$(($$(date +%s) - start)) $@ \
		"$$(sed -n $(or $(2),d) build/log/$@.log)"; \
	[ $$word = ok ]
endef

# $(call c_tests,build directory[,options of meson test]); running no test at all is a failure.
c_tests = $(call step,ninja -C $(1) --quiet && meson test -C $(1) --no-rebuild --print-errorlogs \
	$(2) && grep -q '^Ok: *[1-9]' build/log/$@.log,'s/^Ok: *\([0-9]*\).*/\1 programs/p')

build/release/build.ninja: | .venv/has-build
	@meson setup build/release $(c_options) > /dev/null

build/sanitize/build.ninja: | .venv/has-build
	@meson setup build/sanitize $(c_options) $(sanitize) > /dev/null

build/clang/build.ninja: | .venv/has-build
	@CC=$(clang) meson setup build/clang $(c_options) $(sanitize) -Db_lundef=false \
		-Dc_args=-fsanitize=float-divide-by-zero > /dev/null

build/thread/build.ninja: | .venv/has-build
	@meson setup build/thread $(c_options) --buildtype=debugoptimized -Db_sanitize=thread > /dev/null

test_steps := c-sanitize python c-release attack-minute layers lists sizes symbols clang-format ruff \
	cython-lint mypy stubtest
slow_steps := c-thread c-clang c-valgrind python-slow
.PHONY: test test-slow test-sklearn $(test_steps) $(slow_steps)

# Steps run side by side and go on past a failure; each one's output is kept together.
test: .venv/has-test .venv/has-kcore
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=target $(test_steps) \
		|| { echo "make test: FAILED, see above and build/log/"; exit 1; }
	@echo "make test: all passed"

test-slow: .venv/has-test .venv/has-kcore
	@$(MAKE) --no-print-directory --keep-going $(slow_steps)

# Fails where a test fails that tests/sklearn/differences.toml does not list, or a listed one passes.
test-sklearn: .venv/has-sklearn-suite .venv/has-kcore
	$(call step,PYTHONPATH=tests/sklearn pytest -q -c tests/sklearn/pytest.ini -p stand_in \
		--pyargs sklearn.svm.tests,'$$p')

# So that each can be made by itself.  The C tests need a compiler, meson and ninja only.
$(filter-out c-%,$(test_steps) $(slow_steps)): .venv/has-test

c-release: build/release/build.ninja
	$(call c_tests,build/release)

c-sanitize: build/sanitize/build.ninja
	$(call c_tests,build/sanitize)

c-thread: build/thread/build.ninja
	$(call c_tests,build/thread,--no-suite fork --timeout-multiplier 5)

# The other compiler: its warnings, and what its sanitizers see.  A number divided by 0.0 is found as
# well: where an infinity is meant, it is written.
clang := $(firstword $(foreach name,clang-19 clang,$(if $(shell command -v $(name)),$(name))))
ifeq ($(clang),)
c-clang:
	@echo "skipped          c-clang       clang is not installed"
else
c-clang: build/clang/build.ninja
	$(call c_tests,build/clang,--timeout-multiplier 5)
endif

# A part of the tests, for what the sanitizers do not see: memory that is read before it is written.
valgrind_tests := arena alloc call points packed rowwise growing labels lru \
	dual perceptron model
ifeq ($(shell command -v valgrind),)
c-valgrind:
	@echo "skipped          c-valgrind    valgrind is not installed"
else
c-valgrind: build/release/build.ninja
	$(call c_tests,build/release,--timeout-multiplier 20 \
		--wrapper 'valgrind --quiet --error-exitcode=9 --leak-check=full' $(valgrind_tests))
endif

# With the examples in the docstrings.
python: .venv/has-kcore
	$(call step,pytest -q --doctest-modules --pyargs tests/python kcore,'$$p')

python-slow: .venv/has-kcore
	$(call step,pytest -q -m slow --timeout=1800,'$$p')

# The first cases of what make attack does, a minute of them at the most, on one of the cores.
attack-minute: c-release .venv/has-kcore
	$(call step,python tests/attack/run.py --minutes 1 --cases 1000 --jobs 1 --seed $(ATTACK_SEED),'s/^attack: //p')

layers lists sizes:
	$(call step,python tests/style/check_$@.py)

symbols: c-release .venv/has-kcore
	$(call step,python tests/style/check_symbols.py build/release)

clang-format:
	$(call step,clang-format --dry-run -Werror $(c_files))

ruff:
	$(call step,ruff check --no-cache --quiet && ruff format --no-cache --check --quiet)

cython-lint:
	$(call step,cython-lint python)

mypy: .venv/has-kcore
	$(call step,mypy python/kcore tests/style tests/bits tests/sklearn examples)

stubtest: .venv/has-kcore
	$(call step,cd build && python -m mypy.stubtest kcore._core)

# ---- Attacks --------------------------------------------------------------------------------

# Random cases of every family in tests/attack/, reproducible by their seed; ATTACK_RECORD=1 writes
# the counts into docs/reliability.md.
ATTACK_MINUTES ?= 10
ATTACK_SEED ?= 1
ATTACK_FAMILIES ?=

.PHONY: attack
attack: .venv/has-test .venv/has-kcore build/release/build.ninja
	@unset MAKEFLAGS; ninja -C build/release --quiet tests/attack_refuse
	@python tests/attack/run.py --minutes $(ATTACK_MINUTES) --seed $(ATTACK_SEED) \
		$(if $(ATTACK_FAMILIES),--family $(ATTACK_FAMILIES)) $(if $(ATTACK_RECORD),--record)

# ---- Housekeeping ---------------------------------------------------------------------------

.PHONY: format clean distclean
format: .venv/has-test
	@clang-format -i $(c_files)
	@ruff check --quiet --fix; ruff format --quiet

clean:
	@rm -rf build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache
	@rm -f .venv/has-kcore

distclean: clean
	@rm -rf .venv
