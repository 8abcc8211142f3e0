# peakd: `make demo` and `make check` are all that a new machine needs; `make help` lists the rest.
# Every room is a folder of .c files that becomes part of one archive; adding a file needs no change here.
# The targets that people type install what is missing first (deps) and then call make again, because the flags below
# come from packages that may not have been there when this file was read.

BUILD   ?= build
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX     := $(if $(filter default,$(origin CXX)),g++,$(CXX))
OPT     ?= -O2 -g
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc)
VERSION := 0.1.0
PKGS    := libmicrohttpd jansson libcurl sqlite3 lua5.4 nettle libseccomp libsystemd zlib
WARN    := -Wall -Wextra -Wpedantic -Werror
SAN     ?=
CPPFLAGS += -D_GNU_SOURCE -DPEAKD_VERSION='"$(VERSION)"' -I. -I$(BUILD)/gen
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
CFLAGS  += -std=c17 $(OPT) $(WARN) -fno-strict-aliasing -pthread -fPIC $(SAN) $(PKG_CFLAGS)
CXXFLAGS += -std=c++17 $(OPT) -Wall -Wextra -fPIC $(SAN)
LDFLAGS += -Wl,--as-needed
LIBS    := $(PKG_LIBS) -ldl -lpthread \
           -lglslang -lMachineIndependent -lOSDependent -lHLSL -lOGLCompiler -lGenericCodeGen -lSPIRV \
           -lglslang-default-resource-limits -lSPIRV-Tools-opt -lSPIRV-Tools -lstdc++ -lm

ROOMS   := base backends/wire backends/sandbox backends/values backends/timing backends/worker backends/gpu backends/cuda backends/hip backends/hlsl \
           core/context core/record core/workers core/measure core/judge core/search core/tune core/transform core/problems core/jobs \
           mcp daemon daemon/verbs daemon/tools
SRC     := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*.cc))
OBJ     := $(patsubst %,$(BUILD)/%.o,$(SRC))
MAIN    := $(patsubst %,$(BUILD)/%.o,$(wildcard daemon/main.c))
LIB     := $(BUILD)/libpeakd.a
# mcp/ knows nothing of kernels: what is below tests/mcp links it and base alone, which proves that.
LIB_MCP := $(BUILD)/libmcp.a
PEAKD   := $(if $(MAIN),$(BUILD)/peakd)

TEST_C   := $(sort $(shell find tests -name '*.c' 2>/dev/null))
FUZZ_SRC := $(filter tests/fuzz/fuzz_%.c,$(TEST_C))
UNIT_SRC := $(filter-out $(FUZZ_SRC),$(foreach f,$(TEST_C),$(if $(filter test_%,$(notdir $(f))),$(f))))
# Programs that tests start: every other .c file below tests/ that has a main.
HELP_SRC := $(filter-out $(FUZZ_SRC) $(UNIT_SRC),$(if $(TEST_C),$(shell grep -l '^int main\>' $(TEST_C))))
TESTS    := $(UNIT_SRC:%.c=$(BUILD)/%)
HELPERS  := $(HELP_SRC:%.c=$(BUILD)/%)
FUZZERS  := $(FUZZ_SRC:%.c=$(BUILD)/%)
# The stand-in for AMD's runtime: a library that tests name in PEAKD_HIP_RUNTIME.
EMULATED_SRC := $(wildcard tests/backends/hip/emulated/*.c)
EMULATED := $(BUILD)/tests/backends/hip/emulated.so
BLACKBOX := $(sort $(shell find tests -name '*.t' 2>/dev/null))

# A test that hangs is killed and fails. Tests find what they need in the environment.
TEST_SECONDS ?= 300
PROVE = PEAKD='$(abspath $(BUILD)/peakd)' BUILD='$(abspath $(BUILD))' \
        prove -j$(JOBS) --timer -e 'timeout -k 5 $(TEST_SECONDS)'
AGAIN = +@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

# Quiet by default: one short line a step; V=1 shows the commands.
Q       := $(if $(V),,@)
say      = $(if $(V),,@echo "  $1 $(patsubst $(BUILD)/%,%,$2)")

.PHONY: all help
#: make                       builds build/peakd
all: $(if $(MAIN),$(PEAKD),$(LIB))

#: make help                  this list; with any target: V=1 shows commands, JOBS=N, BUILD=FOLDER
help:
	@sed -n 's/^#: //p' Makefile

# --- what the machine must have -----------------------------------------------------------------------------------------
DEPS    ?= yes
.PHONY: deps
#: make deps                  installs the Debian packages that are missing (DEPS=no: believes that all is there)
deps: $(BUILD)/deps.stamp
$(BUILD)/deps-demo.stamp: GROUPS := build run
$(BUILD)/deps.stamp: GROUPS := build run tests
$(BUILD)/deps.stamp $(BUILD)/deps-demo.stamp: tests/source/packages.sh
	@mkdir -p $(@D)
	@$(if $(filter no,$(DEPS)),:,sh tests/source/packages.sh install $(BUILD)/deps.log $(GROUPS) && touch $@)

# --- schema/ is compiled in: every file becomes a C string ------------------------------------------------------------
SCHEMA  := $(sort $(wildcard schema/*.sql schema/*.json))
$(BUILD)/gen/schema_files.h: $(SCHEMA) tests/source/embed.sh
	@mkdir -p $(@D)
	$(Q)sh tests/source/embed.sh $(SCHEMA) > $@.tmp && mv $@.tmp $@

# --- objects ----------------------------------------------------------------------------------------------------------
$(BUILD)/%.c.o: %.c $(BUILD)/gen/schema_files.h
	@mkdir -p $(@D)
	$(call say,CC  ,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX ,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

# q: the rooms share file names, and an archive keeps members of the same name apart only when it never replaces.
$(LIB): $(filter-out $(MAIN),$(OBJ))
$(LIB_MCP): $(filter $(BUILD)/base/% $(BUILD)/mcp/%,$(OBJ))
$(LIB) $(LIB_MCP):
	@rm -f $@
	$(call say,AR  ,$@)
	$(Q)ar cqs $@ $^

$(BUILD)/peakd: $(MAIN) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(MAIN) $(LIB) $(LDFLAGS) $(LIBS)

LINK_TEST = $(CC) $(CPPFLAGS) $(CFLAGS) -Itests -MMD -MP -MF $@.d -MT $@ -o $@ $<
$(BUILD)/tests/mcp/%: tests/mcp/%.c $(LIB_MCP)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(LINK_TEST) $(LIB_MCP) $(LDFLAGS) $(LIBS)
$(BUILD)/bench/mcp/%: bench/mcp/%.c $(LIB_MCP)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)
	$(Q)$(LINK_TEST) $(LIB_MCP) $(LDFLAGS) $(LIBS)
$(BUILD)/tests/%: tests/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(LINK_TEST) $(LIB) $(LDFLAGS) $(LIBS)
# Exports what is marked and nothing of the archive; the interpreter's loops want the optimiser.
$(EMULATED): $(EMULATED_SRC) tests/backends/hip/emulated/emulated.h $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(if $(SAN),,-O3) -fno-math-errno -fvisibility=hidden -shared -o $@ $(EMULATED_SRC) $(LIB) \
		-Wl,--exclude-libs,ALL -Wl,-Bsymbolic $(LDFLAGS) -lnettle -ldl -lm
# private: the archive that they need is built without.
$(FUZZERS): private override SAN += -fsanitize=fuzzer

# What measures peakd itself: programs that write JSON. bench/results/ keeps what they said.
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c))
$(BUILD)/bench/%: bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK_TEST) $(LIB) $(LDFLAGS) $(LIBS)

-include $(BENCHES:=.d) $(OBJ:.o=.d) $(TESTS:=.d) $(HELPERS:=.d) $(FUZZERS:=.d) $(wildcard $(BUILD)/bench/mcp/*.d)

# --- the two commands of the README -------------------------------------------------------------------------------------
.PHONY: demo run-demo check run-check unit
#: make demo                  installs, builds, and runs the main job from end to end
demo: export DEMO_BEGAN := $(shell date +%s)
demo: $(BUILD)/deps-demo.stamp
	$(AGAIN) run-demo
run-demo: all
	sh examples/demo.sh $(BUILD)/peakd

#: make check                 installs, builds, and runs every test: C tests, then *.t scripts against the binary
check: deps
	$(AGAIN) run-check
run-check: all $(TESTS) $(HELPERS) $(EMULATED) $(BENCHES) bundle
	@$(PROVE) $(BLACKBOX) $(TESTS)

#: make unit T=core/context   only the C tests whose path below tests/ begins with T
T ?=
unit: all $(if $(T),$(filter $(BUILD)/tests/$(T)%,$(TESTS)),$(TESTS)) $(HELPERS) $(EMULATED)
	@$(if $(filter $(TESTS),$^),$(PROVE) $(filter $(TESTS),$^),echo "no tests/$(T)*/test_*.c"; exit 1)

#: make bench                 the programs of bench/, built
.PHONY: bench
bench: all $(BENCHES)

#: make conformance           the official MCP conformance suite, on mcp/ alone and on peakd itself (npm, network once)
#: make clients               real MCP clients: on mcp/ alone, then through a whole workflow with peakd (npm, network once)
.PHONY: conformance clients
conformance clients: $(BUILD)/tests/mcp/conformance_server $(PEAKD)
conformance:
	@BUILD='$(BUILD)' tests/mcp/conformance.sh
clients:
	@BUILD='$(BUILD)' tests/mcp/clients.sh
	@BUILD='$(BUILD)' tests/daemon/clients.sh

#: make bench-mcp             mcp/ beside the TypeScript SDK's server: calls/s, latency, memory, start (npm, wrk, minutes)
.PHONY: bench-mcp
bench-mcp: $(BUILD)/bench/mcp/server $(BUILD)/bench/mcp/floor $(BUILD)/bench/mcp/stdio_load $(PEAKD)
	@BUILD='$(BUILD)' bench/mcp/run.sh

# --- the same code, watched ---------------------------------------------------------------------------------------------
.PHONY: check-source check-asan check-tsan check-clang run-clang fuzz fuzz-brief run-fuzz cover
#: make check-source          house rules: layers, prefixes, globals, lengths (tests/source/check-source.py)
check-source: deps
	$(AGAIN) all
	@python3 tests/source/check-source.py --objects $(BUILD) .

#: make check-asan            C tests under AddressSanitizer, LeakSanitizer and UBSan
check-asan: export ASAN_OPTIONS := detect_stack_use_after_return=1:strict_string_checks=1
check-asan: export LSAN_OPTIONS := suppressions=$(CURDIR)/tests/source/lsan.supp:print_suppressions=0
check-asan: export UBSAN_OPTIONS := print_stacktrace=1
check-asan: deps
	$(AGAIN) BUILD=build-asan OPT='-O1 -g -fno-omit-frame-pointer' \
		SAN='-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -Wno-format-truncation' unit T='$(T)'

#: make check-tsan            C tests under ThreadSanitizer (without address randomisation, which it cannot stand)
check-tsan: export TSAN_OPTIONS := suppressions=$(CURDIR)/tests/source/tsan.supp:halt_on_error=1 second_deadlock_stack=1
check-tsan: deps
	+@setarch -R $(MAKE) --no-print-directory -j$(JOBS) BUILD=build-tsan OPT='-O1 -g' SAN='-fsanitize=thread' unit T='$(T)'

#: make check-clang           builds all, tests too, with clang and the same warnings
check-clang: deps
	$(AGAIN) BUILD=build-clang CC=clang CXX=clang++ OPT=-O1 run-clang
run-clang: all $(TESTS) $(HELPERS) $(EMULATED) $(BENCHES)

#: make check-fresh           demo and check on a minimal Debian 12 in a chroot (root, debootstrap, network, minutes)
.PHONY: check-fresh
check-fresh:
	sh tests/install/fresh-debian.sh demo check

#: make fuzz FUZZ_SECONDS=30  every tests/fuzz/fuzz_*.c for so many seconds, from tests/fuzz/corpus/NAME
FUZZ_SECONDS ?= 30
fuzz: deps
	$(AGAIN) BUILD=build-fuzz CC=clang CXX=clang++ OPT='-O1 -g' SAN='-fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize=vptr -fno-sanitize-recover=all' run-fuzz
#: make fuzz-brief            the same for 4 seconds each, from a fixed seed: what CI does on every push
FUZZ_SEED ?= 0
fuzz-brief:
	+@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=4 FUZZ_SEED=1
run-fuzz: $(FUZZERS)
	@set -e; $(if $(FUZZERS),,echo "no tests/fuzz/fuzz_*.c";) \
	 for f in $(FUZZERS); do \
		name=$${f##*/}; found=$(BUILD)/corpus/$$name; seeds=tests/fuzz/corpus/$${name#fuzz_}; mkdir -p $$found; \
		[ -d $$seeds ] || seeds=; echo "fuzz: $$name for $(FUZZ_SECONDS) s"; \
		$$f -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=$(BUILD)/$$name- $$found $$seeds; \
	done

#: make cover                 which share of the lines of each room the C tests run
cover: deps
	@if [ -d build-cover ]; then find build-cover -name '*.gcda' -delete; fi
	$(AGAIN) BUILD=build-cover OPT='-O0 -g' SAN='--coverage -fprofile-update=atomic' unit T='$(T)'
	@sh tests/source/cover.sh build-cover

# --- tools for those who write ------------------------------------------------------------------------------------------
.PHONY: compdb fmt fmt-check tidy
OURS := $(sort $(foreach d,$(ROOMS) tests,$(shell find $(d) -maxdepth $(if $(filter tests,$(d)),9,1) \
        -name '*.[ch]' -o -name '*.cc' 2>/dev/null)))
#: make compdb                compile_commands.json, for clangd and clang-tidy
compdb: compile_commands.json
compile_commands.json: Makefile $(BUILD)/gen/schema_files.h $(SRC) $(TEST_C)
	@{ echo '['; comma=; for f in $(filter %.c,$(SRC)) $(TEST_C); do \
		printf '%s{"directory":"%s","file":"%s","command":"%s"}\n' "$$comma" '$(CURDIR)' "$$f" \
			"$$(printf '%s' '$(CC) $(subst ','\'',$(CPPFLAGS)) $(CFLAGS) -Itests -c' | sed 's/[\\"]/\\&/g') $$f"; \
		comma=,; \
	done; echo ']'; } >$@.tmp && mv $@.tmp $@

#: make fmt                   rewrites every C file in the house style; fmt-check only names those that differ
fmt:
	clang-format -i $(OURS)
fmt-check:
	@clang-format --dry-run $(OURS) 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format-violations.*/\1/p' | uniq -c

#: make tidy                  clang-tidy over the rooms (tests/ too, with T=tests)
TIDY = clang-tidy --quiet --warnings-as-errors='*'
tidy: compile_commands.json
	@$(TIDY) base/err.c 2>/dev/null
	@printf '%s\n' $(filter-out base/err.c,$(if $(filter tests,$(T)),$(TEST_C),$(filter $(T)%,$(filter %.c,$(SRC))))) | \
		xargs -P $(JOBS) -n 4 $(TIDY) --extra-arg-before=-include --extra-arg-before=tests/source/analyzer.h 2>/dev/null

# --- into the system ----------------------------------------------------------------------------------------------------
.PHONY: install uninstall clean
SHARE  = $(DESTDIR)$(PREFIX)/share/peakd
UNIT   = $(DESTDIR)$(PREFIX)/lib/systemd/system/peakd.service
DATA   = $(shell find transforms examples tests/adversary -type f 2>/dev/null)
DOCS   = $(wildcard README.md docs/*.md)
#: make install               binary, transforms, examples, docs and systemd unit below DESTDIR and PREFIX; uninstall too
install: all
	install -D -m 755 $(BUILD)/peakd $(DESTDIR)$(PREFIX)/bin/peakd
	@for f in $(DATA); do install -D -m "$$([ -x $$f ] && echo 755 || echo 644)" $$f "$(SHARE)/$$f" || exit 1; done
	@for f in $(DOCS); do install -D -m 644 $$f "$(DESTDIR)$(PREFIX)/share/doc/peakd/$${f#docs/}" || exit 1; done
	@mkdir -p $(dir $(UNIT))
	sed 's|/usr/local|$(PREFIX)|g' systemd/peakd.service >$(UNIT) && chmod 644 $(UNIT)
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/bin/peakd $(SHARE) $(DESTDIR)$(PREFIX)/share/doc/peakd $(UNIT)

#: make bundle                build/bundle: one relocatable folder for a machine without root or packages (a GPU node)
.PHONY: bundle
# The C++ library goes into the program: a copy beside it would come before the one that the machine's drivers were built for.
BUNDLE_LINK := -static-libgcc -Wl,-Bsymbolic -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib'
bundle: all $(BUILD)/peakd-bundle
	@sh tests/source/bundle.sh $(BUILD)/peakd-bundle $(BUILD)/bundle
$(BUILD)/peakd-bundle: $(MAIN) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(MAIN) $(LIB) $(LDFLAGS) $(BUNDLE_LINK) $(LIBS:-lstdc++=-Wl,-Bstatic -lstdc++ -Wl,-Bdynamic)

#: make clean                 removes every build folder
clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz build-cover compile_commands.json
