# peakd: a new machine needs only `make demo` and `make check`; `make help` lists the other targets.
# The .c files of all folders in ROOMS go into one archive; a new file needs no change here.
# Targets that people type first install missing packages (deps) and then call make again: the flags below come from
# these packages, which may be missing when make first reads this file.

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
           core/context core/record core/workers core/measure core/knowledge core/advise core/judge core/selftest core/search core/tune core/transform core/optimize core/problems core/jobs \
           mcp daemon daemon/verbs daemon/tools
SRC     := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*.cc))
OBJ     := $(patsubst %,$(BUILD)/%.o,$(SRC))
MAIN    := $(patsubst %,$(BUILD)/%.o,$(wildcard daemon/main.c))
LIB     := $(BUILD)/libpeakd.a
# mcp/ does not depend on kernels: the tests in tests/mcp link only mcp/ and base/, which proves it.
LIB_MCP := $(BUILD)/libmcp.a
PEAKD   := $(if $(MAIN),$(BUILD)/peakd)

TEST_C   := $(sort $(shell find tests -name '*.c' 2>/dev/null))
FUZZ_SRC := $(filter tests/fuzz/fuzz_%.c,$(TEST_C))
UNIT_SRC := $(filter-out $(FUZZ_SRC),$(foreach f,$(TEST_C),$(if $(filter test_%,$(notdir $(f))),$(f))))
# Programs that tests start: all other .c files in tests/ that have a main.
HELP_SRC := $(filter-out $(FUZZ_SRC) $(UNIT_SRC),$(if $(TEST_C),$(shell grep -l '^int main\>' $(TEST_C))))
TESTS    := $(UNIT_SRC:%.c=$(BUILD)/%)
HELPERS  := $(HELP_SRC:%.c=$(BUILD)/%)
FUZZERS  := $(FUZZ_SRC:%.c=$(BUILD)/%)
# The emulation of AMD's runtime: a library that tests name in PEAKD_HIP_RUNTIME.
EMULATED_SRC := $(wildcard tests/backends/hip/emulated/*.c)
EMULATED := $(BUILD)/tests/backends/hip/emulated.so
BLACKBOX := $(sort $(shell find tests -name '*.t' 2>/dev/null))

# A hanging test is killed and fails; files that guard against it themselves do so a little earlier. Environment variables tell tests
# where the build is.
export TEST_SECONDS ?= 600
PROVE = PEAKD='$(abspath $(BUILD)/peakd)' BUILD='$(abspath $(BUILD))' \
        prove -j$(JOBS) --timer --failures --comments -e 'timeout -k 5 $(TEST_SECONDS)'
AGAIN = +@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

# Quiet by default: one short line per step; V=1 shows the commands.
Q       := $(if $(V),,@)
say      = $(if $(V),,@echo "  $1 $(patsubst $(BUILD)/%,%,$2)")

.PHONY: all help
#: make                       builds build/peakd
all: $(if $(MAIN),$(PEAKD),$(LIB))

#: make help                  this list; every target takes V=1 (show commands), JOBS=N and BUILD=FOLDER
help:
	@sed -n 's/^#: //p' Makefile

# --- packages -----------------------------------------------------------------------------------------------------------
DEPS    ?= yes
.PHONY: deps
#: make deps                  installs missing Debian packages (DEPS=no: assumes that all are installed)
deps: $(BUILD)/deps.stamp
$(BUILD)/deps-demo.stamp: GROUPS := build run
$(BUILD)/deps.stamp: GROUPS := build run tests
$(BUILD)/deps.stamp $(BUILD)/deps-demo.stamp: tests/source/packages.sh
	@mkdir -p $(@D)
	@$(if $(filter no,$(DEPS)),:,sh tests/source/packages.sh install $(BUILD)/deps.log $(GROUPS) && touch $@)

# --- files that are compiled in: each becomes a C string (base/embedded.h) ----------------------------------------------
EMBEDDED := $(sort $(wildcard schema/*.sql schema/*.json) $(wildcard daemon/page/* daemon/*/*.md $(addprefix core/*/,*.md *.cu *.hlsl *.py */*.md */*.in)) \
	$(wildcard backends/*/ceiling_* backends/*/*.ptx backends/*/scrub.hlsl))
$(BUILD)/gen/embedded_files.h: $(EMBEDDED) tests/source/embed.sh
	@mkdir -p $(@D)
	$(Q)sh tests/source/embed.sh $(EMBEDDED) > $@.tmp && mv $@.tmp $@
$(BUILD)/base/embedded.c.o: $(BUILD)/gen/embedded_files.h

# The judge's CUDA kernels are text in the binary; a compile worker compiles them when a device first needs them.
# Without #include lines: the files of values come first, with the few names of C that they need (judge_prelude.cu).
JUDGE_TEXT := $(addprefix backends/,gpu/judge_prelude.cu wire/dtype.h wire/plan_buffer.h wire/dtype_element.h wire/bound_element.h values/stream.h \
	values/special.h values/special_rows.h gpu/judge_calls.cu values/stream.c values/special.c values/special_integers.c \
	values/special_patterns.c values/special_natural.c gpu/judge_kernels.cu)
$(BUILD)/gen/judge_kernels.h: $(JUDGE_TEXT) tests/source/embed.sh
	@mkdir -p $(@D)
	$(Q)sed '/^#include/d' $(JUDGE_TEXT) > $(@D)/judge.cu && sh tests/source/embed.sh $(@D)/judge.cu > $@.tmp && mv $@.tmp $@
$(BUILD)/backends/gpu/judge.c.o: $(BUILD)/gen/judge_kernels.h

# --- objects ----------------------------------------------------------------------------------------------------------
$(BUILD)/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC  ,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX ,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

# q appends without replacing: files in different folders may have the same name.
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
# Exports only marked symbols and none of the archive's; -O3 and LTO make the interpreter fast.
$(EMULATED): $(EMULATED_SRC) tests/backends/hip/emulated/emulated.h $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(if $(SAN),,-O3 -flto=auto) -fno-math-errno -fvisibility=hidden -shared -o $@ $(EMULATED_SRC) $(LIB) \
		-Wl,--exclude-libs,ALL -Wl,-Bsymbolic $(LDFLAGS) -lnettle -lz -ldl -lm
# private: the archive that the fuzzers link is built without this flag.
$(FUZZERS): private override SAN += -fsanitize=fuzzer

# Programs that measure peakd itself and write JSON; bench/results/ keeps their output.
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c))
$(BUILD)/bench/%: bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK_TEST) $(LIB) $(LDFLAGS) $(LIBS)

-include $(BENCHES:=.d) $(OBJ:.o=.d) $(TESTS:=.d) $(HELPERS:=.d) $(FUZZERS:=.d) $(wildcard $(BUILD)/bench/mcp/*.d)

# --- the two commands of the README -------------------------------------------------------------------------------------
.PHONY: demo run-demo check run-check unit
#: make demo                  installs packages, builds, and runs a whole optimisation
demo: export DEMO_BEGAN := $(shell date +%s)
demo: $(BUILD)/deps-demo.stamp
	$(AGAIN) run-demo
run-demo: all
	sh examples/demo.sh $(BUILD)/peakd

#: make check                 installs packages, builds, and runs all tests: C tests, and *.t scripts against the binary
check: deps
	$(AGAIN) run-check
run-check: all $(TESTS) $(HELPERS) $(EMULATED) $(BENCHES) bundle
	@$(PROVE) $(BLACKBOX) $(TESTS)

#: make unit T=core/context   runs only the C tests whose path in tests/ begins with T
T ?=
unit: all $(if $(T),$(filter $(BUILD)/tests/$(T)%,$(TESTS)),$(TESTS)) $(HELPERS) $(EMULATED)
	@$(if $(filter $(TESTS),$^),$(PROVE) $(filter $(TESTS),$^),echo "no tests/$(T)*/test_*.c"; exit 1)

#: make bench                 builds the programs in bench/
.PHONY: bench
bench: all $(BENCHES)

#: make conformance           runs the official MCP conformance suite on mcp/ alone and on peakd (npm, network once)
#: make clients               runs real MCP clients on mcp/ alone, then a whole workflow with peakd, then the page in Chromium (network once)
.PHONY: conformance clients
conformance clients: $(BUILD)/tests/mcp/conformance_server $(PEAKD)
conformance:
	@BUILD='$(BUILD)' tests/mcp/conformance.sh
clients:
	@BUILD='$(BUILD)' tests/mcp/clients.sh
	@BUILD='$(BUILD)' tests/daemon/clients.sh
	@. tests/mcp/npm.sh && npm_need litestream @flydotio/litestream-linux-x64@1.0.1 && \
		LITESTREAM="$$NPM_DIR/node_modules/@flydotio/litestream-linux-x64/litestream" PEAKD='$(abspath $(PEAKD))' prove tests/daemon/litestream.t
	@sh tests/source/packages.sh install '$(BUILD)/deps-browser.log' browser
	@PEAKD='$(abspath $(PEAKD))' BUILD='$(abspath $(BUILD))' prove --comments tests/daemon/page.t

#: make bench-mcp             compares mcp/ with the TypeScript SDK: calls/s, latency, memory, start (npm, wrk, minutes)
.PHONY: bench-mcp
bench-mcp: $(BUILD)/bench/mcp/server $(BUILD)/bench/mcp/floor $(BUILD)/bench/mcp/stdio_load $(PEAKD)
	@BUILD='$(BUILD)' bench/mcp/run.sh

# --- sanitizers, fuzzing, coverage, source checks -----------------------------------------------------------------------
.PHONY: check-source check-asan check-tsan check-clang run-clang fuzz fuzz-brief run-fuzz cover
#: make check-source          checks house rules: layers, prefixes, globals, lengths (tests/source/check-source.py)
check-source: deps
	$(AGAIN) all
	@python3 tests/source/check-source.py --objects $(BUILD) .

#: make check-asan            runs C tests under AddressSanitizer, LeakSanitizer and UBSan
check-asan: export ASAN_OPTIONS := detect_stack_use_after_return=1:strict_string_checks=1
check-asan: export LSAN_OPTIONS := suppressions=$(CURDIR)/tests/source/lsan.supp:print_suppressions=0
check-asan: export UBSAN_OPTIONS := print_stacktrace=1
check-asan: deps
	$(AGAIN) BUILD=build-asan OPT='-O1 -g -fno-omit-frame-pointer' \
		SAN='-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -Wno-format-truncation' unit T='$(T)'

#: make check-tsan            runs C tests under ThreadSanitizer (with address randomisation off, as it requires)
check-tsan: export TSAN_OPTIONS := suppressions=$(CURDIR)/tests/source/tsan.supp:halt_on_error=1 second_deadlock_stack=1
check-tsan: deps
	+@setarch -R $(MAKE) --no-print-directory -j$(JOBS) BUILD=build-tsan OPT='-O1 -g' SAN='-fsanitize=thread -Wno-format-truncation' unit T='$(T)'

#: make check-clang           reads everything, including tests, with clang and the same warnings; make fuzz builds with it
check-clang: deps
	$(AGAIN) CC=clang CXX=clang++ run-clang
CLANG_SRC := $(sort $(SRC) $(TEST_C) $(wildcard bench/*.c bench/*/*.c))
run-clang: $(BUILD)/gen/embedded_files.h $(BUILD)/gen/judge_kernels.h
	$(Q)printf '%s\n' $(filter %.c,$(CLANG_SRC)) | xargs -P $(JOBS) -n 16 $(CC) $(CPPFLAGS) $(CFLAGS) -Itests -fsyntax-only
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -fsyntax-only $(filter %.cc,$(CLANG_SRC))

#: make check-fresh           runs demo and check on a minimal Debian 12 in a chroot (root, debootstrap, network, minutes)
.PHONY: check-fresh
check-fresh:
	sh tests/install/fresh-debian.sh demo check

#: make fuzz FUZZ_SECONDS=30  runs each tests/fuzz/fuzz_*.c that long, from the seeds in tests/fuzz/corpus/NAME
FUZZ_SECONDS ?= 30
fuzz: deps
	$(AGAIN) BUILD=build-fuzz CC=clang CXX=clang++ OPT='-O1 -g' SAN='-fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize=vptr -fno-sanitize-recover=all' run-fuzz
#: make fuzz-brief            the same for 4 seconds each, from a fixed seed, as CI does on every push
FUZZ_SEED ?= 0
fuzz-brief:
	+@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=4 FUZZ_SEED=1
FUZZ_RUNS := $(FUZZERS:$(BUILD)/tests/fuzz/%=run-%)
.PHONY: $(FUZZ_RUNS)
run-fuzz: $(FUZZ_RUNS)
$(FUZZ_RUNS): run-fuzz_%: $(BUILD)/tests/fuzz/fuzz_%
	@found=$(BUILD)/corpus/fuzz_$*; mkdir -p $$found; \
	$< -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz_$*- $$found $(wildcard tests/fuzz/corpus/$*) >$(BUILD)/fuzz_$*.log 2>&1; failed=$$?; \
	echo "fuzz: fuzz_$* for $(FUZZ_SECONDS) s"; cat $(BUILD)/fuzz_$*.log; exit $$failed

#: make cover                 shows which share of each folder's lines the C tests cover
cover: deps
	@if [ -d build-cover ]; then find build-cover -name '*.gcda' -delete; fi
	$(AGAIN) BUILD=build-cover OPT='-O0 -g' SAN='--coverage -fprofile-update=atomic' unit T='$(T)'
	@sh tests/source/cover.sh build-cover

# --- tools for development ----------------------------------------------------------------------------------------------
.PHONY: compdb fmt fmt-check tidy
OURS := $(sort $(foreach d,$(ROOMS) tests,$(shell find $(d) -maxdepth $(if $(filter tests,$(d)),9,1) \
        -name '*.[ch]' -o -name '*.cc' 2>/dev/null)))
#: make compdb                writes compile_commands.json for clangd and clang-tidy
compdb: compile_commands.json
compile_commands.json: Makefile $(BUILD)/gen/embedded_files.h $(SRC) $(TEST_C)
	@{ echo '['; comma=; for f in $(filter %.c,$(SRC)) $(TEST_C); do \
		printf '%s{"directory":"%s","file":"%s","command":"%s"}\n' "$$comma" '$(CURDIR)' "$$f" \
			"$$(printf '%s' '$(CC) $(subst ','\'',$(CPPFLAGS)) $(CFLAGS) -Itests -c' | sed 's/[\\"]/\\&/g') $$f"; \
		comma=,; \
	done; echo ']'; } >$@.tmp && mv $@.tmp $@

#: make fmt                   formats all C files; fmt-check only lists those that differ
fmt:
	clang-format -i $(OURS)
fmt-check:
	@clang-format --dry-run $(OURS) 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format-violations.*/\1/p' | uniq -c

#: make tidy                  runs clang-tidy on the sources (on tests/ with T=tests)
TIDY = clang-tidy --quiet --warnings-as-errors='*'
tidy: compile_commands.json
	@$(TIDY) base/err.c 2>/dev/null
	@printf '%s\n' $(filter-out base/err.c,$(if $(filter tests,$(T)),$(TEST_C),$(filter $(T)%,$(filter %.c,$(SRC))))) | \
		xargs -P $(JOBS) -n 4 $(TIDY) --extra-arg-before=-include --extra-arg-before=tests/source/analyzer.h 2>/dev/null

# --- installation -------------------------------------------------------------------------------------------------------
.PHONY: install uninstall clean
SHARE  = $(DESTDIR)$(PREFIX)/share/peakd
DOC    = $(DESTDIR)$(PREFIX)/share/doc/peakd
UNITS  = $(DESTDIR)$(PREFIX)/lib/systemd/system
ETC    = $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
CONF   = $(DESTDIR)$(ETC)/peakd/peakd.conf
ZSHDIR = $(PREFIX)/share/zsh/site-functions
DATA   = $(shell find transforms examples tests/adversary -type f 2>/dev/null)
DOCS   = $(wildcard README.md docs/*.md)
# What is written from peakd's own help, and where it goes.
PAGES  = peakd.1:$(PREFIX)/share/man/man1/peakd.1 peakd.conf.5:$(PREFIX)/share/man/man5/peakd.conf.5 zsh:$(ZSHDIR)/_peakd \
         bash:$(PREFIX)/share/bash-completion/completions/peakd fish:$(PREFIX)/share/fish/vendor_completions.d/peakd.fish
#: make install               installs binary, data, docs, man pages, completion and service (PREFIX, DESTDIR); also uninstall
install: all pages bundle
	install -D -m 755 $(BUILD)/peakd $(DESTDIR)$(PREFIX)/bin/peakd
	install -D -m 644 $(BUILD)/bundle.tar.gz $(DESTDIR)$(PREFIX)/lib/peakd/bundle.tar.gz
	@for f in $(DATA); do install -D -m "$$([ -x $$f ] && echo 755 || echo 644)" $$f "$(SHARE)/$$f" || exit 1; done
	@for f in $(DOCS); do install -D -m 644 $$f "$(DOC)/$${f#docs/}" || exit 1; done
	@for f in $(PAGES); do install -D -m 644 $(BUILD)/pages/$${f%%:*} "$(DESTDIR)$${f#*:}" || exit 1; done
	@for f in gpu counters; do install -D -m 644 systemd/$$f.conf "$(DOC)/$$f.conf" || exit 1; done
	@mkdir -p $(UNITS)
	sed 's|/usr/local|$(PREFIX)|g; s|/etc/peakd|$(ETC)/peakd|g' systemd/peakd.service >$(UNITS)/peakd.service
	@chmod 644 $(UNITS)/peakd.service
	install -m 644 systemd/peakd.socket $(UNITS)/peakd.socket
	install -D -m 644 systemd/peakd.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/peakd.conf
	@[ -e $(CONF) ] || install -D -m 644 systemd/peakd.conf $(CONF)
# Settings stay, as long as somebody changed them.
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/bin/peakd $(DESTDIR)$(PREFIX)/lib/peakd $(SHARE) $(DOC) $(UNITS)/peakd.service $(UNITS)/peakd.socket \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/peakd.conf $(foreach f,$(PAGES),$(DESTDIR)$(word 2,$(subst :, ,$(f))))
	@! cmp -s systemd/peakd.conf $(CONF) || rm $(CONF)

#: make pages                 build/pages: man pages and completion for bash, zsh and fish, from the texts of `peakd help`
.PHONY: pages
pages: $(BUILD)/pages/fish
$(BUILD)/pages/fish: $(BUILD)/peakd packaging/pages.sh packaging/pages.awk
	@sh packaging/pages.sh $(BUILD)/peakd $(@D)

#: make deb                   build/peakd_VERSION_ARCH.deb, checked by lintian (Debian packages: debhelper, lintian)
.PHONY: deb
deb: all pages bundle
	@sh tests/source/packages.sh install $(BUILD)/deps.log deb
	@sh packaging/deb.sh $(BUILD) $(VERSION)

#: make dist                  build/dist: source archive, bundle, .deb, .mcpb, server.json, container image (IMAGE=no: without), checksums
# RELEASE is where the files will be published.
.PHONY: dist
RELEASE ?= https://github.com/peakd/peakd/releases/download/v$(VERSION)
dist: bundle deb
	@rm -f $(BUILD)/image.tar
	@$(if $(filter no,$(IMAGE)),:,sh packaging/image.sh $(BUILD)/peakd_$(VERSION)_*.deb $(BUILD)/image.tar)
	@python3 packaging/dist.py $(BUILD) $(VERSION) $(RELEASE)

#: make bundle                build/bundle: a relocatable folder for a machine without root or packages (a GPU node); build/bundle.tar.gz travels (docs/remote.md)
.PHONY: bundle
# The C++ library is linked statically: a copy in the bundle would shadow the one that the machine's drivers need.
BUNDLE_LINK := -static-libgcc -Wl,-Bsymbolic -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib'
bundle: all $(BUILD)/peakd-bundle
	@sh tests/source/bundle.sh $(BUILD)/peakd-bundle $(BUILD)/bundle
	$(Q)tar -C $(BUILD)/bundle --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - peakd bin lib | gzip -n >$(BUILD)/bundle.tar.gz
$(BUILD)/peakd-bundle: $(MAIN) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(MAIN) $(LIB) $(LDFLAGS) $(BUNDLE_LINK) $(LIBS:-lstdc++=-Wl,-Bstatic -lstdc++ -Wl,-Bdynamic)

#: make clean                 removes all build folders
clean:
	rm -rf build build-asan build-tsan build-fuzz build-cover compile_commands.json
