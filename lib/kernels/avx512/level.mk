# How this folder is compiled: for x86-64 with AVX-512 F, BW, DQ and VL.
ifneq ($(filter x86_64 amd64,$(ARCH)),)
LEVELS += avx512
$(B)/lib/kernels/avx512/%.o: level_FLAGS = -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
# Products need VNNI too.
$(patsubst %.c,$(B)/%.o,$(wildcard $(addprefix lib/kernels/avx512/,rows*.c panel*.c packed.c))): \
	level_FLAGS += -mavx512vnni
$(B)/lib/kernels/avx512/thin_bits.o: level_FLAGS += -mavx512vbmi2
endif
