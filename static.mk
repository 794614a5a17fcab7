# Programs without shared libraries: "make runtimes", "make static" and "make small".

# Debian's static archives; libcurl needs some that Debian does not have, so tools that use the
# network cannot be static.
STATIC_PACKAGES = $(filter-out libcurl,$(PACKAGES))
STATIC_LIBS = $(patsubst -lmsgpack%,-lmsgpackc,$(shell $(PKG_CONFIG) --libs $(STATIC_PACKAGES) 2>/dev/null)) \
	-lpthread -lm
# libcrypto can load modules and find hosts, which nothing here asks of it; the linker would warn of
# both for each tool.
STATIC_LINK = -Wl,--no-warnings
STATIC_TOOLS = $(filter-out apr-pull apr-push,$(TOOL_SRC:bin/%.c=%))

# Only this object asks the linker for libraries at run time, which a static program cannot load.
$(B)/static/plugin.o: lib/quant/plugin.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(FLAGS) -fPIC -DAPR_STATIC -MMD -MP -c -o $@ $<

$(B)/static/%: $(B)/bin/%.o $(B)/lib/libapr.a
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(FLAGS) -static-pie $(STATIC_LINK) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS)
$(B)/static/apr-quant: $(B)/static/plugin.o

# The programs that apr-embed puts models behind, beside it.
RUNTIMES = apr-run apr-predict
$(B)/bin/%.static: $(B)/static/%
	$(call run,CP)$(STRIP) -o $@ $<
runtimes: $(RUNTIMES:%=$(B)/bin/%.static) ## build the static programs of apr-embed
ifeq ($(MODE),release)
runtimes: $(RUNTIMES:%=bin/%.static)
bin/%.static: $(B)/bin/%.static
	@cp -f $< $@
endif

static: runtimes $(STATIC_TOOLS:%=$(B)/static/%) ## build all tools but apr-pull and apr-push static, in build/MODE/static

# Small programs, in build/small/bin. Kernels stay as fast as they are. tests/bench/small.sh shows
# what each part of SMALL is worth.
SMALL = $(SMALL_SECTIONS) $(SMALL_SIZE) $(SMALL_UNWIND) $(SMALL_LTO)
SMALL_SECTIONS = -ffunction-sections -fdata-sections -Wl,--gc-sections
SMALL_SIZE = -Os
SMALL_UNWIND = -fno-asynchronous-unwind-tables -fno-unwind-tables
SMALL_LTO = -flto=auto -Wno-maybe-uninitialized
kernels_small = -O2 -fno-lto
small: ## build small static programs of apr-embed, in build/small/bin
	@$(MAKE) --no-print-directory MODE=small AR=gcc-ar runtimes

# Programs for 64-bit ARM, with Debian's libraries for it.
ARM64 = build/arm64/debian
ARM64_CC = aarch64-linux-gnu-gcc
ARM64_AR = aarch64-linux-gnu-ar
ARM64_STRIP = aarch64-linux-gnu-strip
arm64: ## build the static programs of apr-embed for 64-bit ARM Linux (fetches libraries from Debian)
	@scripts/cross.sh arm64 $(ARM64)
	@$(MAKE) --no-print-directory MODE=arm64 ARCH=aarch64 CC=$(ARM64_CC) AR=$(ARM64_AR) \
		STRIP=$(ARM64_STRIP) PACKAGE_CFLAGS='-I$(ARM64)/usr/include \
		-I$(ARM64)/usr/include/aarch64-linux-gnu' LDFLAGS=-L$(ARM64)/usr/lib/aarch64-linux-gnu runtimes

# The core for microcontrollers.
cortex: $(B)/lib/libapr.a $(B)/tests/gen/mkmodel ## build the core for Cortex-M (gcc-arm-none-eabi)
	@$(MAKE) --no-print-directory -f tests/bare/bare.mk cortex
darwin: ## compile that core for macOS, without linking it (clang and the headers of newlib)
	@$(MAKE) --no-print-directory -f tests/bare/bare.mk darwin
ports: $(B)/tests/gen/mkmodel ## what would break arm64, cortex and darwin, in half a minute and with "make deps" alone
	@$(MAKE) --no-print-directory -f tests/bare/bare.mk ports

.PHONY: runtimes static small arm64 cortex darwin ports
