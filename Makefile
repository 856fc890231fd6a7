# The front door. Each target does everything that it needs; running it again is fast.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup runtime build wasm demo serve test bench fuzz soak sanitize format format-check tidy install clean distclean

BUILD := build
WASM := build-wasm
PREFIX ?= /usr/local
DESTDIR ?=

help:
	@echo "make demo      install what is missing, build, run one program in a sandbox, and one through the gateway"
	@echo "make serve     the task API, and with LLM_API_BASE=http://HOST:PORT the gateway (ARGS=…)"
	@echo "make test      everything that this machine can test; the last line counts"
	@echo "make build     the program, at $(BUILD)/mayfly"
	@echo "make runtime   the Python runtime of the sandboxes, at $(BUILD)/runtime"
	@echo "make wasm      the program with the wasm provider too, at $(WASM)/mayfly"
	@echo "make bench     measure, beside other ways to run Python"
	@echo "make fuzz      fuzz each parser (SECONDS_EACH=600)"
	@echo "make soak      the long tests"
	@echo "make sanitize  the unit tests under ASan+UBSan and TSan"
	@echo "make format    clang-format; make tidy: clang-tidy"
	@echo "make install   to PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make clean     remove what was built; distclean: the runtime and fetched sources too"

setup:
	@scripts/setup

runtime: setup
	@scripts/setup-runtime --out $(BUILD)/runtime --quiet

$(BUILD)/build.ninja:
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) --libdir=lib >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

build: setup | $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

# A build folder of its own: the default program has no WebAssembly in it. MAYFLY_WASM_RUNTIME names a runtime that is there.
# The local provider is in it too, and uses the runtime of $(BUILD) where there is one.
WASM_NAMED = $(if $(MAYFLY_WASM_RUNTIME),$(shell realpath -m "$(MAYFLY_WASM_RUNTIME)"))
wasm:
	@scripts/setup $(if $(MAYFLY_WASM_RUNTIME),,--wasm)
	@$(if $(MAYFLY_WASM_RUNTIME),,scripts/setup-wasm-runtime --out $(WASM)/wasm --quiet)
	@[ ! -f $(BUILD)/runtime/manifest.json ] || [ -f $(WASM)/runtime/manifest.json ] || { mkdir -p $(WASM)/runtime && \
	  ln -srf -t $(WASM)/runtime $(BUILD)/runtime/rootfs $(BUILD)/runtime/manifest.json; }
	@mkdir -p $(WASM); echo "$(WASM_NAMED)" | cmp -s - $(WASM)/runtime.named || \
	  { meson setup $(WASM) $$([ ! -f $(WASM)/build.ninja ] || echo --reconfigure) --libdir=lib \
	      -Dembedded_code_interpreter=enabled -Dwasm_runtime="$(WASM_NAMED)" >$(WASM)/configure.log 2>&1 && \
	    echo "$(WASM_NAMED)" >$(WASM)/runtime.named; } || { cat $(WASM)/configure.log; exit 1; }
	@ninja -C $(WASM) --quiet

# The runtime comes first: the zygote module is compiled with the headers of the Python it was made from.
demo: runtime build
	@scripts/demo

serve: runtime build
	@$(BUILD)/mayfly serve --code-interpreter $(ARGS)

test:
	@scripts/setup --tests
	@scripts/setup-sdk --out $(BUILD)/sdk --quiet
	@scripts/setup-runtime --out $(BUILD)/runtime --quiet
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory wasm || echo "make test: no program with the wasm provider, as said above; its tests count as skipped"
	@scripts/test

bench:
	@scripts/setup --bench
	@scripts/setup-runtime --out $(BUILD)/runtime --quiet
	@$(MAKE) --no-print-directory build
	@bench/run
	@bench/gateway
	@bench/tasks

SECONDS_EACH ?= 600
fuzz:
	@scripts/setup --tests
	@scripts/fuzz $(SECONDS_EACH)

soak:
	@scripts/setup --tests
	@scripts/setup-sdk --out $(BUILD)/sdk --quiet
	@scripts/setup-runtime --out $(BUILD)/runtime --quiet
	@$(MAKE) --no-print-directory build
	@scripts/soak

sanitize:
	@scripts/setup --tests
	@scripts/test --only sanitizers

format:
	@scripts/lint --fix

format-check:
	@scripts/lint --format

tidy: build
	@scripts/lint --tidy

# Under sudo nothing is made anew: root may find another Python, and its files in $(BUILD) would be in the user's way.
install: $(if $(SUDO_UID),,runtime build)
	@scripts/install "$(DESTDIR)" "$(PREFIX)" $(BUILD)

clean:
	@[ ! -f $(BUILD)/build.ninja ] || ninja -C $(BUILD) -t clean
	@rm -rf $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz

distclean:
	@rm -rf $(BUILD) $(WASM) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz deps
