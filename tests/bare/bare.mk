# The core without a system: lib/bare/, kernels in plain C, trees.
#
# "make cortex": for Cortex-M, by gcc-arm-none-eabi and newlib; and the same program for this machine.
# "make darwin": its objects for macOS, by clang with newlib's headers. They are not linked.
# "make ports": what breaks them, without a compiler or libraries for ARM: each source is read as for
# Cortex-M, by clang with newlib's headers, and as for macOS; and a program of these sources alone is
# linked for 64-bit ARM, and run by qemu-user. All other sources are read as for 64-bit ARM.

include config.mk

C = build/cortex
D = build/darwin
CORTEX_CC = arm-none-eabi-gcc
# newlib's <inttypes.h> has PRIu64 only if this name is defined, and gcc's <stdint.h> does not define it.
CORTEX = -mcpu=cortex-m3 -mthumb -D__int64_t_defined=1
NEWLIB = /usr/include/newlib
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-format
FLAGS = -std=c11 -D_GNU_SOURCE -Ilib $(WARN) -ffunction-sections -fdata-sections -ffp-contract=off \
	-ffile-prefix-map=$(CURDIR)=. $(CFLAGS)

ifneq ($(V),1)
run = @printf '%-3s %s\n' $1 $(@:build/%=%) &&
endif

# What the linker does not need, it leaves out. Texts need tokenizers, and so a system.
SRC = $(wildcard lib/bare/*.c lib/kernels/*.c lib/kernels/ref/*.c lib/predict/ranks*.c) \
	$(filter-out lib/predict/step_text.c,$(wildcard lib/predict/step*.c)) lib/model/dtype.c \
	$(addprefix lib/core/,buf.c err.c half.c text.c mem.c near.c) \
	$(addprefix lib/predict/,predict.c forest.c forest_lines.c forest_order.c walk.c boost/lightgbm.c decimal.c chain.c contrib.c near.c \
	cuts.c rows/rows_numbers.c) tests/bare/main.c
OBJ = $(SRC:%.c=$(C)/%.o) $(addprefix $(C)/tests/bare/,newlib.o data.o vectors.o)
TARGETS = arm64-apple-macos11 x86_64-apple-macos11

cortex: $(C)/bare.elf $(C)/native

$(C)/model.gguf: tests/bare/model.txt build/release/tests/gen/mkmodel
	@mkdir -p $(@D)
	@build/release/tests/gen/mkmodel <$< >$@

$(C)/trees.txt: tests/bare/trees.txt
	@mkdir -p $(@D)
	@cp $< $@

$(C)/%.o: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(CORTEX_CC) $(CORTEX) -Os $(FLAGS) -isystem lib/bare/include -MMD -MP -c -o $@ $<

$(C)/tests/bare/%.o: tests/bare/%.S $(C)/model.gguf $(C)/trees.txt
	@mkdir -p $(@D)
	$(call run,AS)$(CORTEX_CC) $(CORTEX) -Wa,-I,$(C) -c -o $@ $<

$(C)/bare.elf: $(OBJ)
	$(call run,LD)$(CORTEX_CC) $(CORTEX) --specs=rdimon.specs \
		-Wl,-z,noexecstack,--gc-sections,--undefined=vectors,--section-start=.vectors=0 -o $@ $^ -lm

$(C)/native: tests/bare/main.c tests/bare/data.S build/release/lib/libapr.a $(C)/model.gguf $(C)/trees.txt
	$(call run,LD)$(CC) -O2 $(FLAGS) -Wa,-I,$(C) -o $@ tests/bare/main.c tests/bare/data.S \
		build/release/lib/libapr.a $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lpthread -lm

# A rule for each target, since a pattern has one %.
define darwin_rule
$(D)/$1/%.o: %.c
	@mkdir -p $$(@D)
	$$(call run,CC)clang --target=$1 -nostdlibinc -isystem lib/bare/include -isystem $(NEWLIB) -O1 $(FLAGS) \
		-MMD -MP -c -o $$@ $$<
endef
$(foreach t,$(TARGETS),$(eval $(call darwin_rule,$t)))
darwin: $(foreach t,$(TARGETS),$(SRC:%.c=$(D)/$t/%.o))

P = build/ports
THUMB = clang --target=thumbv7m-none-eabi -mcpu=cortex-m3 -D__int64_t_defined=1
MAC = clang --target=arm64-apple-macos11 -nostdlibinc
ARM64_CC = aarch64-linux-gnu-gcc
ARM64_RUN = qemu-aarch64
$(P)/%.read: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(THUMB) -Os $(FLAGS) -Werror -isystem lib/bare/include -isystem $(NEWLIB) -fsyntax-only $<
	@$(MAC) -O1 $(FLAGS) -Werror -isystem lib/bare/include -isystem $(NEWLIB) -fsyntax-only $<
	@touch $@

$(P)/%.o: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(ARM64_CC) -O1 $(FLAGS) -Werror -MMD -MP -c -o $@ $<

$(P)/bare: $(SRC:%.c=$(P)/%.o) tests/bare/data.S $(C)/model.gguf $(C)/trees.txt
	$(call run,LD)$(ARM64_CC) -static -Wa,-I,$(C) -Wl,--gc-sections -o $@ $(filter %.o %.S,$^) -lm

# The library and the tools, with headers of this machine's libraries behind those of ARM's C library.
WHOLE = $(filter-out lib/core/wasm/% lib/crypto/portable/% lib/kernels/avx% bin/apr-completions.c, \
	$(wildcard lib/*/*.c lib/*/*/*.c bin/*.c))
read-arm64: $(P)/bare
	$(file >$(P)/whole,$(WHOLE))
	@xargs -n 48 -P $$(nproc) $(ARM64_CC) -std=c11 -D_GNU_SOURCE -Ilib -Wall -Wextra -Wpedantic -Wshadow \
		-Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wpointer-arith -Werror -fsyntax-only \
		-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu <$(P)/whole

ports: $(SRC:%.c=$(P)/%.read) $(P)/bare read-arm64
	$(ARM64_RUN) $(P)/bare | tail -n 1 | grep -qx done

.PHONY: cortex darwin ports read-arm64
-include $(shell find $(C) $(D) $(P) -name '*.d' 2>/dev/null)
