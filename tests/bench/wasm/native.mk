# build/sse42/feed: the level neon for x86-64 with vectors of 128 bits, for wasm.sh alone. The rest is the library
# of build/release.
include config.mk
N = build/sse42
NATIVE_CC = clang-19
KEPT = $(filter-out %_i8mm.c %_sdot.c %/type_float.c,$(wildcard lib/kernels/neon/*.c))
SRC = $(sort $(wildcard lib/kernels/*.c lib/kernels/common/*.c lib/kernels/ref/*.c) $(KEPT)) tests/bench/wasm/feed.c
OBJ = $(SRC:%.c=$(N)/%.o)
FLAGS = -std=c11 -D_GNU_SOURCE -Ilib -Itests/bench/wasm -w -O2 -msse4.2 \
	-ffp-contract=off '-DLEVELS(X)=X(ref) X(neon)' $(CFLAGS)

$(N)/feed: $(OBJ) build/release/lib/libapr.a
	$(NATIVE_CC) -o $@ $^ $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lpthread -lm
$(N)/%.o: %.c
	@mkdir -p $(@D)
	$(NATIVE_CC) $(FLAGS) -MMD -MP -c -o $@ $<
-include $(OBJ:.o=.d)
.DEFAULT_GOAL = $(N)/feed
