# The apr tools. `make help` lists the targets.

include config.mk

# "make -j2 clean all", "make deps check": one goal after the other, each in a separate make
# that may use all jobs.
ifneq ($(and $(filter clean deps deps-cross,$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),)
.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
$(sort $(MAKECMDGOALS)):
	+@$(MAKE) $@
else

MODE = release
B = build/$(MODE)

# One folder per mode, so that sanitized and plain builds can exist side by side.
mode_release = ## the default
mode_san = $(both) ## address and undefined-behaviour sanitizers
mode_asan = -fsanitize=address -fno-omit-frame-pointer -O1 ## address sanitizer
mode_ubsan = -fsanitize=undefined -fno-sanitize-recover=all -O1 ## undefined-behaviour sanitizer
mode_tsan = -fsanitize=thread -O0 ## thread sanitizer, of the library alone: make MODE=tsan library
mode_clang = ## compiled by clang
mode_lint = ## of "make lint": gcc, warnings as errors
mode_cov = --coverage -O0 -DAPR_NO_SANDBOX ## line coverage by gcov
mode_fuzz = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -O1 $(unsafe) ## of "make fuzz": libFuzzer and sanitizers, clang
mode_fuzzcov = -fprofile-instr-generate -fcoverage-mapping -O1 $(unsafe) ## of "make fuzz-cov"
mode_replay = $(both) $(unsafe) ## sanitizers; parsers accept wrong checksums, as under the fuzzer
mode_neon = ## of "make neon": 64-bit ARM
mode_arm64 = ## of "make arm64": 64-bit ARM
mode_small = $(SMALL) ## of "make small"
# gcc takes twice as long if it also tracks variables through the code of sanitizers.
both = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	-fno-var-tracking -O1
unsafe = -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
ifneq ($(filter clang fuzz fuzzcov,$(MODE)),)
CC = clang
endif

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla -Wwrite-strings -Wpointer-arith
# No contraction: output must not depend on the compiler or the CPU.
FLAGS = -std=c11 -D_GNU_SOURCE -Ilib $(WARN) $(OPT) -ffp-contract=off \
	-ffile-prefix-map=$(CURDIR)=. $(mode_$(MODE)) $(PACKAGE_CFLAGS) $(CFLAGS)
PACKAGE_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
NET_LIBS := $(shell $(PKG_CONFIG) --libs libssl 2>/dev/null)
LIBS := -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -lpthread -lm

# $(call run,CC)COMMAND: prints one short line per file instead of the command; V=1 prints
# commands, -s neither.
ifneq ($(V),1)
ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
run = @
else
run = @printf '%-3s %s\n' $1 $(patsubst release/%,%,$(@:build/%=%)) &&
endif
endif

ARCH = $(shell uname -m)
# Levels of the CPU: each has a folder lib/kernels/LEVEL, whose level.mk adds it to LEVELS
# if it is one of ARCH, and sets the compiler flags of the folder.
LEVELS = ref
include $(sort $(wildcard lib/kernels/*/level.mk))
KERNEL_SRC = $(sort $(wildcard lib/kernels/*.c $(patsubst %,lib/kernels/%/*.c,common $(LEVELS))))
KERNEL_OBJ = $(KERNEL_SRC:%.c=$(B)/%.o) $(PLAIN_OBJ)
LIB_SRC = $(sort $(filter-out lib/kernels/% $(wasm_SRC) $(apart),$(wildcard lib/*/*.c lib/*/*/*.c)))
# The system and the ciphers of the WebAssembly module (web/module.mk).
wasm_SRC = lib/core/wasm/% lib/crypto/portable/%
# libaprml needs none of these rooms.
ifeq ($(MODE),tsan)
apart = lib/adapt/% lib/cli/% lib/distill/% lib/front/% lib/hub/% lib/lowrank/% lib/merge/% lib/net/% \
	lib/prune/% lib/quality/% lib/train/%
endif
LIB_OBJ = $(LIB_SRC:%.c=$(B)/%.o) $(KERNEL_OBJ)
TOOL_SRC = $(sort $(wildcard bin/*.c))
TOOLS = $(TOOL_SRC:%.c=$(B)/%)
UNIT_SRC = $(sort $(wildcard tests/unit/t_*.c))
UNITS = $(UNIT_SRC:%.c=$(B)/%)
GEN_SRC = $(sort $(wildcard tests/gen/*.c))
GENS = $(GEN_SRC:%.c=$(B)/%)

all: $(TOOLS) ## build the tools (the default)
ifeq ($(MODE),release)
all: $(TOOL_SRC:%.c=%)
bin/%: $(B)/bin/%
	@cp -f $< $@
endif

# Names by which other texts know words of the front.
LINKS = apr-qa apr-convert
all: $(LINKS:%=$(B)/bin/%)
$(LINKS:%=$(B)/bin/%): $(B)/bin/apr
	@ln -sf apr $@
ifeq ($(MODE),release)
all: $(LINKS:%=bin/%)
$(LINKS:%=bin/%): bin/apr
	@ln -sf apr $@
endif

$(B)/lib/libapr.a: $(LIB_OBJ)
	@rm -f $@
	$(call run,AR)$(AR) qcD $@ $(LIB_OBJ)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(FLAGS) $(pic_FLAGS) $(level_FLAGS) -MMD -MP -c -o $@ $<

# libaprml.a may become part of a shared object. Hidden names keep the code fast: they are
# called and inlined as in a program. Kernels do not have thread-local variables, so they are
# compiled as for a program.
$(B)/lib/%.o: pic_FLAGS = -fPIC -fvisibility=hidden
$(B)/lib/kernels/%.o: pic_FLAGS = -fPIE $(kernels_$(MODE))
$(B)/lib/predict/cuts.o $(B)/lib/predict/ranks_rows.o: level_FLAGS = -O3 -fno-tree-slp-vectorize
$(B)/lib/predict/doc_numbers.o: level_FLAGS = -O3

ifneq ($(filter x86_64 amd64,$(ARCH)),)
$(B)/lib/crypto/%_shani.o: level_FLAGS = -msse4.1 -mssse3 -msha
$(B)/lib/crypto/%_avx512.o: level_FLAGS = -mavx2 -mavx512f -mavx512vl
$(B)/lib/predict/%_avx2.o: level_FLAGS = -O3 -mavx2
$(B)/lib/predict/%_avx512.o: level_FLAGS = -O3 -mavx2 -mbmi -mpopcnt -mavx512f -mavx512bw -mavx512dq -mavx512vl
endif

$(B)/bin/%: $(B)/bin/%.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# apr-completions prints the files of completions/: one string per line.
COMPLETIONS = $(addprefix $(B)/completions/,apr-tools.bash.inc _apr-tools.inc apr-tools.fish.inc)
$(COMPLETIONS): $(B)/completions/%.inc: completions/%
	@mkdir -p $(@D)
	@sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' $< >$@
$(B)/bin/apr-completions.o: $(COMPLETIONS)
$(B)/bin/apr-completions.o: level_FLAGS = -I$(B)

# The ciphers of the WebAssembly module stand beside those of libcrypto in one test.
$(B)/tests/unit/t_portable: LIBS += -lbearssl

# Tables that are made for the WebAssembly module, in a test beside what they are made of.
MADE = $(B)/made/core/wasm/characters.inc
$(B)/made/characters: $(B)/web/tables/characters.o
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(MADE): $(B)/made/characters
	@mkdir -p $(@D)
	$(call run,GEN)$< >$@.new && mv $@.new $@
$(B)/tests/unit/t_characters.o: $(MADE)
$(B)/tests/unit/t_characters.o: level_FLAGS = -I$(B)/made

units: $(UNITS) ## build all unit tests

# Generators share nothing with lib/: a mistake there must not be repeated in them.
$(B)/tests/gen/%: $(B)/tests/gen/%.o
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

gen: $(GENS) ## build the generators of test files

# The server that tests of the network talk to shares nothing with lib/ either.
NET = $(B)/tests/net/server
$(NET): $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/net/*.c)))
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(NET_LIBS)
net: $(NET) ## build the server for tests of the network

BATS = $(wildcard tests/*/*.bats)
TEST = APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) \
	APR_FUZZ=$(abspath $(B)/tests/fuzz) APR_NET=$(abspath $(B)/tests/net) $(if $(sanitized),TAGS='!repeats') tests/run.sh

# The units that ONLY='WORD…' selects; t_sandbox is part of sandbox.bats.
chosen = $(if $(ONLY),$(foreach f,$1,$(if $(strip $(foreach w,$(ONLY),$(findstring $w,$f))),$f)),$1)
CHECK_UNITS = $(call chosen,$(UNITS)) \
	$(if $(findstring sandbox.bats,$(call chosen,$(BATS))),$(B)/tests/unit/t_sandbox)
# A mode with sanitizers leaves out what does not depend on the mode (texts, the installation),
# the corpus of the fuzzers, which "make check" replays under sanitizers in any mode, and tests
# that repeat the code of others with another input or output ("# bats test_tags=repeats").
sanitized = $(findstring -fsanitize,$(mode_$(MODE)))
CHECK_BATS = $(filter-out $(if $(sanitized), \
	$(patsubst %,tests/whole/%.bats,docs fuzz install library style wasm) tests/web/page.bats),$(BATS))
CHECK_REPLAY = $(if $(findstring fuzz.bats,$(call chosen,$(CHECK_BATS))),replays fuzz-replay)

check: all gen net $(if $(sanitized),,runtimes) $(sort $(CHECK_UNITS)) $(CHECK_REPLAY) ## run all tests; ONLY='WORD...' those with such names
	@$(TEST) $(UNITS) $(CHECK_BATS)

# Without the longest tests, and without those that need the replays.
SLOW = $(wildcard tests/formats/faults-*.bats $(patsubst %,tests/%.bats,formats/compression \
	formats/safetensors run/run-text run/tokenizers whole/fuzz whole/limit whole/memory \
	web/page whole/neon whole/reseal whole/tamper))
quick: all units gen net $(if $(sanitized),,runtimes) ## run the unit tests and most others, in about three minutes
	@$(TEST) $(UNITS) $(filter-out $(SLOW),$(BATS))

unit: $(T:%=$(B)/tests/unit/%) ## build and run unit tests alone: T='t_half t_out'
	@$(if $(T),$(TEST) $^,echo "unit: name them: make unit T=t_half" >&2; exit 2)

# The kernels and their tests for another CPU: they need only the C library.
BARE_SRC = lib/core/buf.c lib/core/err.c lib/core/half.c lib/core/text.c lib/model/dtype.c
BARE = $(addprefix $(B)/bare/,t_attend t_dot t_half t_kernels t_level t_panel t_training)
$(B)/bare/libkernels.a: $(BARE_SRC:%.c=$(B)/%.o) $(KERNEL_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call run,AR)$(AR) qcD $@ $^

# Libraries inside the library: the kernels alone, models in files, and models that compute. Each links
# with its rooms and packages only.
room_objects = $(foreach r,$1,$(filter $(B)/lib/$r/%,$(LIB_OBJ)))
CLOSED_MODELS = core model wire codecs stream formats imports kernels stats quant crypto predict tokenizer
CLOSED_RUN = core model wire codecs stream formats imports kernels quant arch linear lora load tokenizer \
	infer generate predict
CLOSED_IN = $(B)/closed
CLOSED = $(addprefix $(CLOSED_IN)/,kernels models run)
$(CLOSED_IN)/kernels: $(BARE_SRC:%.c=$(B)/%.o) $(KERNEL_OBJ)
$(CLOSED_IN)/models: $(call room_objects,$(CLOSED_MODELS))
$(CLOSED_IN)/models: closed = jansson libpcre2-8 libdeflate zlib liblz4 libzstd msgpack yaml-0.1 libutf8proc libsodium libcrypto expat
$(CLOSED_IN)/run: $(call room_objects,$(CLOSED_RUN))
$(CLOSED_IN)/run: closed = jansson libpcre2-8 libdeflate zlib liblz4 libzstd msgpack yaml-0.1 libutf8proc expat
$(CLOSED):
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -nostartfiles -Wl,-e,0 -o $@ $^ \
		$(if $(closed),$(shell $(PKG_CONFIG) --libs $(closed))) -lpthread -lm

closed: $(CLOSED) ## link kernels, models and inference, each without the rooms that it must not need

$(B)/bare/t_%: $(B)/tests/unit/t_%.o $(B)/bare/libkernels.a
	$(call run,LD)$(CC) -static $(FLAGS) $(LDFLAGS) -o $@ $^ -lm

# Of the sandbox, which has the system call numbers of each architecture, only the object.
bare: $(BARE) $(B)/lib/core/calls.o ## build the tests of the kernels, which need the C library alone

NEON_CC = aarch64-linux-gnu-gcc
NEON_AR = aarch64-linux-gnu-ar
NEON_RUN = qemu-aarch64
neon: ## build the kernels for 64-bit ARM with NEON_CC, and test them under NEON_RUN
	@$(MAKE) --no-print-directory MODE=neon ARCH=aarch64 CC=$(NEON_CC) AR=$(NEON_AR) PACKAGE_CFLAGS= bare
	$(NEON_RUN) build/neon/bare/t_attend
	$(NEON_RUN) build/neon/bare/t_half
	$(NEON_RUN) build/neon/bare/t_level
	$(NEON_RUN) build/neon/bare/t_kernels neon
	$(NEON_RUN) build/neon/bare/t_training
	$(NEON_RUN) -cpu cortex-a53 build/neon/bare/t_dot
	$(NEON_RUN) -cpu cortex-a53 build/neon/bare/t_panel
	$(NEON_RUN) -cpu max build/neon/bare/t_dot
	$(NEON_RUN) -cpu max build/neon/bare/t_panel

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

BENCHES = $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
benches: $(BENCHES) ## build the benchmarks of kernels

bench: all gen $(BENCHES) ## speed of kernels and pipes; of apr-quant against APR_PEER, apr-run against APR_PEER_RUN
	$(B)/tests/bench/kernels
	$(B)/tests/bench/dots
	$(B)/tests/bench/attention $$(nproc)
	$(B)/tests/bench/training
	$(B)/tests/bench/bytes
	$(B)/tests/bench/front $(abspath $(B)/bin)
	APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) tests/bench/pipes.sh
	APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) tests/bench/quantize.sh
	APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) \
	APR_BENCH=$(abspath $(B)/tests/bench) tests/bench/seal.sh
	APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) tests/bench/run.sh
	$(B)/tests/bench/expand
	APR_BIN=$(abspath $(B)/bin) APR_GEN=$(abspath $(B)/tests/gen) tests/bench/thin.sh
	APR_BIN=$(abspath $(B)/bin) tests/bench/prune.sh
	APR_BIN=$(abspath $(B)/bin) tests/bench/sizes.sh
	APR_BIN=$(abspath $(B)/bin) tests/bench/calibration.sh
	APR_BIN=$(abspath $(B)/bin) tests/bench/distill.sh
	$(B)/tests/bench/predict
	APR_BENCH=$(abspath $(B)/tests/bench) tests/bench/predict.sh

# Each target runs under a fuzzer (MODE=fuzz, clang), and over its corpus: in this mode, and
# in one whose parsers accept wrong checksums, like those of the fuzzer.
FUZZERS = $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
REPLAYS = $(FUZZERS:%=$(B)/tests/fuzz/replay_%)
STARVES = $(addprefix $(B)/tests/fuzz/starve_,gguf apr1 apr2 apr64 stream)
RUNS = 2000000
FUZZ = $(FUZZERS)

$(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/fuzz/replay_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Targets of containers, where each allocation in turn fails.
$(B)/tests/fuzz/starve_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/starve.o $(B)/lib/libapr.a
	$(call run,LD)$(CC) $(FLAGS) $(LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o $@ $^ $(LIBS)

fuzzers: $(FUZZERS:%=$(B)/tests/fuzz/fuzz_%)
replays: $(REPLAYS) $(STARVES)

fuzz: ## fuzz the parsers (clang): FUZZ=NAME… one after another, RUNS=N times each
	@$(MAKE) --no-print-directory MODE=fuzz fuzzers
	tests/fuzz/run.sh build/fuzz/tests/fuzz $(RUNS) $(FUZZ)

fuzz-replay: replays ## build what runs the fuzzers' corpus in "make check"
	@$(MAKE) --no-print-directory MODE=replay replays

fuzz-cov: ## line coverage of the parsers by the fuzzers' corpus (clang)
	@$(MAKE) --no-print-directory MODE=fuzzcov replays
	tests/fuzz/cov.sh build/fuzzcov/tests/fuzz $(FUZZERS)

# The list of sources must be there before the makefile is read.
wasm: ## build the library as a WebAssembly module, its glue and the page in build/wasm
	@$(MAKE) --no-print-directory -f web/module.mk sources
	@$(MAKE) --no-print-directory -f web/module.mk

deps: ## install what building and testing need (Debian 12, as root)
	@scripts/deps.sh

deps-cross: ## install what "make cortex" needs (900 MB; Debian 12, as root)
	@scripts/deps.sh cross

deps-wasm: ## install what "make wasm" and its tests need (Debian 12, as root)
	@scripts/deps.sh wasm

demo: ## build quietly, then unpack, quantize, sign, pack and verify a real model
	@echo 'demo: building the tools'
	@$(MAKE) -s --no-print-directory all
	@APR_BIN=$(CURDIR)/$(B)/bin tests/demo.sh

layers: ## check that includes point one way
	@scripts/layers.sh

# gcc and clang give different warnings.
lint: lint-gcc lint-clang lint-text ## compile with gcc and clang, warnings as errors; read scripts and man pages

lint-gcc:
	@$(MAKE) --no-print-directory MODE=lint CC=gcc CFLAGS=-Werror all units gen net replays benches

lint-clang:
	@$(MAKE) --no-print-directory MODE=clang CFLAGS=-Werror all units gen net replays benches

lint-text:
	shellcheck .ci/run scripts/*.sh tests/*.sh tests/bench/*.sh completions/*.bash tests/fuzz/*.sh
	mandoc -Tlint -Wwarning man/*.[1357]

help: ## list the targets and modes
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile install.mk static.mk | expand -t 12
	@echo
	@sed -n 's/^mode_\([a-z]*\) = .*## \(.*\)/MODE=\1\t\2/p' Makefile | expand -t 16
	@echo 'Each mode is built in build/MODE; the tools of MODE=release are copied to bin/.'
	@echo 'V=1 shows the commands, -s nothing.'

include static.mk
include install.mk

clean: ## remove what was built
	rm -rf build $(TOOL_SRC:%.c=%) $(LINKS:%=bin/%) $(RUNTIMES:%=bin/%.static)

.PHONY: bare closed bench benches neon fuzzers replays fuzz fuzz-replay fuzz-cov
.PHONY: all units unit gen net check quick clean deps deps-cross deps-wasm demo layers wasm lint lint-gcc lint-clang lint-text help
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)

endif
