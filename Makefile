# peakd: `make demo` and `make check` are all that a new machine needs; `make help` lists the rest.
# Every room is a folder of .c files that becomes one archive; adding a file needs no change here.

BUILD   ?= build
CC      ?= gcc
CXX     ?= g++
OPT     ?= -O2 -g
PREFIX  ?= /usr/local
PKGS    := libmicrohttpd jansson libcurl sqlite3 lua5.4 nettle libseccomp libsystemd
WARN    := -Wall -Wextra -Wpedantic -Werror
SAN     ?=
CFLAGS  += -std=c17 -D_GNU_SOURCE $(OPT) $(WARN) -fno-strict-aliasing -pthread -fPIC -I. -I$(BUILD)/gen $(SAN) \
           $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CXXFLAGS += -std=c++17 $(OPT) -Wall -Wextra -fPIC -I. $(SAN)
LIBS    := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -ldl -lm -lpthread \
           -lglslang -lMachineIndependent -lOSDependent -lHLSL -lOGLCompiler -lGenericCodeGen -lSPIRV \
           -lglslang-default-resource-limits -lSPIRV-Tools-opt -lSPIRV-Tools -lstdc++

ROOMS   := base backends backends/cuda backends/hip backends/hlsl \
           core core/context core/record core/eval core/eval/search core/eval/advice core/transform core/optimize \
           mcp daemon daemon/tools
SRC     := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*.cc))
OBJ     := $(patsubst %,$(BUILD)/%.o,$(SRC))
MAIN    := $(BUILD)/daemon/main.c.o
LIB     := $(BUILD)/libpeakd.a
TESTS   := $(patsubst %.c,$(BUILD)/%,$(shell find tests -name 'test_*.c' 2>/dev/null | sort))

.PHONY: all help
all: $(BUILD)/peakd

help:
	@sed -n 's/^#: //p' Makefile

# --- schema/ is compiled in: every file becomes a C string ------------------------------------------------------------
SCHEMA  := $(sort $(wildcard schema/*.sql schema/*.json))
$(BUILD)/gen/schema_files.h: $(SCHEMA) tests/source/embed.sh
	@mkdir -p $(@D)
	sh tests/source/embed.sh $(SCHEMA) > $@.tmp && mv $@.tmp $@

# --- objects ----------------------------------------------------------------------------------------------------------
$(BUILD)/%.c.o: %.c $(BUILD)/gen/schema_files.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(LIB): $(filter-out $(MAIN),$(OBJ))
	@rm -f $@
	ar cqs $@ $^

$(BUILD)/peakd: $(MAIN) $(LIB)
	$(CC) $(CFLAGS) -o $@ $(MAIN) $(LIB) $(LIBS) $(LDFLAGS)

$(BUILD)/tests/%: tests/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Itests -MMD -MP -o $@ $< $(LIB) $(LIBS) $(LDFLAGS)

-include $(OBJ:.o=.d) $(TESTS:=.d)

# --- tests ------------------------------------------------------------------------------------------------------------
#: make unit T=core/context   the C tests below tests/ whose path contains T
T ?=
.PHONY: unit
unit: $(if $(T),$(filter $(BUILD)/tests/$(T)%,$(TESTS)),$(TESTS))
	prove -j2 $^
