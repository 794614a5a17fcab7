# How this folder is compiled: for any 64-bit ARM; *_sdot.c for one that sums four products
# of bytes, *_i8mm.c for one that multiplies matrices of bytes.
ifneq ($(filter aarch64 arm64,$(ARCH)),)
LEVELS += neon
$(B)/lib/kernels/neon/%_sdot.o: level_FLAGS = -march=armv8.2-a+dotprod
$(B)/lib/kernels/neon/%_i8mm.o: level_FLAGS = -march=armv8.2-a+dotprod+i8mm
endif
