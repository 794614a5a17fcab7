# How this folder is compiled: for x86-64 with AVX2, FMA and F16C.
ifneq ($(filter x86_64 amd64,$(ARCH)),)
LEVELS += avx2
$(B)/lib/kernels/avx2/%.o: level_FLAGS = -mavx2 -mfma -mf16c

# Kernels in plain C are compiled once more for this level, so that their loops use AVX2.
PLAIN_SRC = $(sort $(wildcard lib/kernels/ref/type_*.c)) lib/kernels/ref/numbers.c lib/kernels/ref/mixing.c
PLAIN_OBJ += $(PLAIN_SRC:lib/kernels/ref/%.c=$(B)/lib/kernels/avx2/plain_%.o)
$(B)/lib/kernels/avx2/plain_%.o: OPT := $(OPT:-O2=-O3)
$(B)/lib/kernels/avx2/plain_%.o: lib/kernels/ref/%.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(FLAGS) $(pic_FLAGS) $(level_FLAGS) -D'KERNEL(type)=plain_avx2_##type' -MMD -MP -c -o $@ $<
endif
