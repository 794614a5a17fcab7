# "make cortex": the core for Cortex-M (lib/bare/, kernels in plain C, trees), by
# gcc-arm-none-eabi and newlib; and the same program for this machine.

include config.mk

C = build/cortex
CORTEX_CC = arm-none-eabi-gcc
CORTEX = -mcpu=cortex-m3 -mthumb
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-format
FLAGS = -std=c11 -D_GNU_SOURCE -Ilib $(WARN) -ffunction-sections -fdata-sections -ffp-contract=off \
	-ffile-prefix-map=$(CURDIR)=. $(CFLAGS)

# What the linker does not need, it leaves out.
SRC = $(wildcard lib/bare/*.c lib/kernels/*.c lib/kernels/ref/*.c lib/predict/ranks*.c lib/predict/step_n*.c \
	lib/predict/step_s*.c) $(addprefix lib/core/,buf.c err.c half.c text.c mem.c near.c) lib/model/dtype.c \
	$(addprefix lib/predict/,predict.c forest.c walk.c lightgbm.c decimal.c chain.c contrib.c near.c cuts.c step.c) \
	tests/bare/main.c
OBJ = $(SRC:%.c=$(C)/%.o) $(addprefix $(C)/tests/bare/,newlib.o data.o vectors.o)

all: $(C)/bare.elf $(C)/native

$(C)/model.gguf: tests/bare/model.txt build/release/tests/gen/mkmodel
	@mkdir -p $(@D)
	build/release/tests/gen/mkmodel <$< >$@

$(C)/trees.txt: tests/bare/trees.txt
	@mkdir -p $(@D)
	@cp $< $@

$(C)/%.o: %.c
	@mkdir -p $(@D)
	$(CORTEX_CC) $(CORTEX) -Os $(FLAGS) -isystem lib/bare/include -MMD -MP -c -o $@ $<

$(C)/tests/bare/%.o: tests/bare/%.S $(C)/model.gguf $(C)/trees.txt
	@mkdir -p $(@D)
	$(CORTEX_CC) $(CORTEX) -Wa,-I,$(C) -c -o $@ $<

$(C)/bare.elf: $(OBJ)
	$(CORTEX_CC) $(CORTEX) --specs=rdimon.specs -Wl,-z,noexecstack,--gc-sections,--undefined=vectors,--section-start=.vectors=0 \
		-o $@ $^ -lm

$(C)/native: tests/bare/main.c tests/bare/data.S build/release/lib/libapr.a $(C)/model.gguf $(C)/trees.txt
	$(CC) -O2 $(FLAGS) -Wa,-I,$(C) -o $@ tests/bare/main.c tests/bare/data.S build/release/lib/libapr.a \
		$(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lpthread -lm

.PHONY: all
-include $(shell find $(C) -name '*.d' 2>/dev/null)
