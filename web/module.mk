# "make wasm": the library as WebAssembly modules in build/wasm:
#
#   aprml-look.wasm  looks into the containers that the tools write
#   aprml-core.wasm  also checks models
#   aprml-run.wasm   looks, runs models, verifies, signs and seals
#   aprml.wasm       does all that, and also writes containers and quantizes
#   aprml-full.wasm  also compresses, reads the files of other libraries, and has classical models
#
# Those that do not compress decompress by aprml-codecs.wasm, which JavaScript loads when that is needed.
# All are linked from the same objects; what no exported function reaches is left out. Objects with a table
# that reaches more are replaced: lists by web/few/, what needs keys by web/core/, what converts by web/run/, and
# tables with functions for other work by the same source with APR_READS or APR_FEW (core/only.h).
# lib/core/wasm/ has the system that they run on, lib/crypto/portable/ what OpenSSL is elsewhere, C of web/ what
# JavaScript needs besides the public functions. The libraries come from Debian's source packages.

include config.mk

W = build/wasm
WASM_CC = clang-19
WASM_O = -Oz
WASM_FAST = -O2 # of what computes

FEATURES = -mbulk-memory -msign-ext -mnontrapping-fptoint -mmutable-globals -msimd128
BASE = --target=wasm32-wasi $(FEATURES) -flto -ffunction-sections -fdata-sections -ffp-contract=off \
	-ffile-prefix-map=$(CURDIR)=.
S = $(W)/src

# What the objects are compiled with: all that stands here from the first line that is no comment to the modules.
# Written when it changes.
RULES = $(W)/rules
$(RULES): always
	@mkdir -p $(W)
	@sed '1,/^include/d; /^# ---- modules/,$$d' web/module.mk >$@.new
	@$(anew)
anew = if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

ifneq ($(V),1)
say = @printf '%-3s %s\n' $1 $(@:$(W)/%=wasm/%) &&
endif

# ---- libraries: sources, and flags ----

DEBS = jansson libzstd lz4 pcre2 libsodium zlib bearssl msgpack-c libyaml expat
jansson_SRC = $(S)/jansson/src/*.c
jansson_FLAGS = -I$(S)/jansson/android -I$(S)/jansson/src -DHAVE_STDINT_H
libzstd_SRC = $(S)/libzstd/lib/common/*.c $(S)/libzstd/lib/compress/*.c $(S)/libzstd/lib/decompress/*.c
libzstd_FLAGS = -I$(S)/libzstd/lib -DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -DZSTD_STRIP_ERROR_STRINGS=0 \
	-DHUF_FORCE_DECOMPRESS_X1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT
lz4_SRC = $(S)/lz4/lib/lz4.c $(S)/lz4/lib/lz4hc.c $(S)/lz4/lib/lz4frame.c $(S)/lz4/lib/xxhash.c
lz4_FLAGS = -I$(S)/lz4/lib -DLZ4_FORCE_INLINE=static
pcre2_SRC = $(filter-out %_jit_compile.c %_jit_match.c %_jit_misc.c %_jit_test.c %_dftables.c %_fuzzsupport.c \
	%_config.c %_convert.c %_dfa_match.c %_maketables.c %_serialize.c %_substitute.c %_substring.c %_ucd.c \
	%_printint.c %_ucptables.c %pcre2demo.c %pcre2grep.c %pcre2posix.c %pcre2posix_test.c %pcre2test.c, \
	$(wildcard $(S)/pcre2/src/*.c)) $(S)/pcre2/src/pcre2_jit_compile.c
pcre2_FLAGS = -I$(S)/pcre2/src -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC -DSUPPORT_PCRE2_8 \
	-DSUPPORT_UNICODE
# Options that no pattern can ask for and lib/core/pattern.c does not give; in the module they are 0.
pcre2_UNUSED = ALLOW_EMPTY_CLASS ALT_BSUX ALT_CIRCUMFLEX ALT_VERBNAMES AUTO_CALLOUT COPY_MATCHED_SUBJECT \
	DOLLAR_ENDONLY ENDANCHORED FIRSTLINE LITERAL MATCH_INVALID_UTF MATCH_UNSET_BACKREF NEVER_UCP NEVER_UTF \
	NOTBOL NOTEOL PARTIAL_HARD PARTIAL_SOFT USE_OFFSET_LIMIT EXTRA_[A-Z_0-9]*
pcre2_FLAGS += -Dpcre2_compile_8=pcre2_compile_filled_8 # lib/core/wasm/pattern_tables.c
libsodium_SRC = $(foreach d,crypto_auth/crypto_auth crypto_auth/hmacsha256/* crypto_core/ed25519/* \
	crypto_core/ed25519/ref10/* crypto_core/hchacha20/* crypto_core/salsa/ref/* crypto_generichash/crypto_generichash \
	crypto_generichash/blake2b/* crypto_generichash/blake2b/ref/* crypto_hash/* crypto_hash/*/* crypto_hash/*/cp/* \
	crypto_onetimeauth/* crypto_onetimeauth/*/* crypto_onetimeauth/*/*/* crypto_pwhash/* crypto_pwhash/*/* crypto_pwhash/*/*/* crypto_scalarmult/* \
	crypto_scalarmult/curve25519/* crypto_scalarmult/curve25519/ref10/* crypto_sign/* crypto_sign/ed25519/* \
	crypto_sign/ed25519/ref10/* crypto_stream/chacha20/* crypto_stream/chacha20/ref/* crypto_stream/salsa20/* \
	crypto_stream/salsa20/*/* crypto_verify/sodium/* randombytes/* sodium/*,$(S)/libsodium/src/libsodium/$d.c)
libsodium_FLAGS = -I$(S)/libsodium/src/libsodium/include -I$(S)/libsodium/src/libsodium/include/sodium \
	-DCONFIGURED=1 -DDEV_MODE=1 -DSODIUM_STATIC -DHAVE_WEAK_SYMBOLS -DHAVE_INLINE_ASM -DNATIVE_LITTLE_ENDIAN
zlib_SRC = $(addprefix $(S)/zlib/,crc32.c adler32.c inflate.c inffast.c inftrees.c zutil.c uncompr.c)
zlib_FLAGS = -I$(S)/zlib -DHAVE_UNISTD_H -DNO_GZIP -DDYNAMIC_CRC_TABLE
bearssl_SRC = $(addprefix $(S)/bearssl/src/,aead/gcm.c hash/ghash_ctmul64.c hash/sha1.c hash/sha2small.c \
	hash/dig_size.c kdf/hkdf.c mac/hmac.c symcipher/aes_ct.c symcipher/aes_ct64.c symcipher/aes_ct64_ctr.c symcipher/aes_ct64_enc.c \
	symcipher/aes_common.c codec/dec32be.c codec/dec32le.c codec/enc32le.c codec/enc32be.c codec/dec64be.c codec/enc64be.c codec/ccopy.c)
bearssl_FLAGS = -I$(S)/bearssl/inc -I$(S)/bearssl/src
simde_FLAGS = -I$(S)/simde # headers of libsimde-dev, apart from those of the system beside them
msgpack-c_SRC = $(S)/msgpack-c/src/*.c
msgpack-c_FLAGS = -I$(S)/msgpack-c/include
libyaml_SRC = $(S)/libyaml/src/*.c
libyaml_FLAGS = -I$(S)/libyaml/include -I$(S)/libyaml/src -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 \
	-DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"' -DYAML_DECLARE_STATIC
expat_SRC = $(addprefix $(S)/expat/expat/lib/,xmlparse.c xmlrole.c xmltok.c)
expat_FLAGS = -I$(S)/expat/expat/lib -DXML_STATIC -DXML_CONTEXT_BYTES=1024 -DXML_NS -DBYTEORDER=1234

$(foreach l,$(DEBS),$(eval $(l)_OBJ = $$(patsubst $(S)/%.c,$(W)/lib/%.o,$$(wildcard $$($(l)_SRC)))))
pcre2_OBJ += $(W)/lib/pcre2/small_ucd.o
DEBS_OBJ = $(foreach l,$(DEBS),$($(l)_OBJ))
DEBS_INCLUDE = $(sort $(foreach l,jansson libzstd lz4 pcre2 libsodium zlib bearssl msgpack-c libyaml expat simde,\
	$(filter -I%,$($(l)_FLAGS)))) -DSODIUM_STATIC -DPCRE2_STATIC -DHAVE_UNISTD_H

# Functions for each of the ways to search, written as templates, are one each here. Of levels 5 to 12 that
# takes a third of the speed, of those above a tenth.
$(W)/lib/libzstd/lib/compress/zstd_lazy.o: EXTRA = -DZSTD_NO_INLINE -Os
$(W)/lib/libzstd/lib/compress/zstd_opt.o: EXTRA = -DZSTD_NO_INLINE
# lib/crypto/portable/base.c has it, without a table of 30 KB.
$(W)/lib/libsodium/%/ed25519_ref10.o: EXTRA = -Dge25519_scalarmult_base=ge25519_by_table

$(W)/lib/%.o: $(S)/%.c $(RULES)
	@mkdir -p $(@D)
	$(call say,CC)$(WASM_CC) $(BASE) $(WASM_O) -w -DNDEBUG -Ilib/core/wasm/include $($(firstword $(subst /, ,$*))_FLAGS) $(EXTRA) -c -o $@ $<

# What configure would write into them.
$(S)/.ready: scripts/wasm-sources.sh scripts/wasm-edits.sh $(RULES)
	@scripts/wasm-sources.sh $(S) $(DEBS)
	@: >$(S)/jansson/src/jansson_private_config.h
	@cd $(S)/pcre2/src && cp config.h.generic config.h && cp pcre2.h.generic pcre2.h && \
		cp pcre2_chartables.c.dist pcre2_chartables.c && touch *.c
	@# Patterns are always UTF-8 and matched whole (lib/core/pattern.c).
	@cd $(S)/pcre2/src && sed -i -e 's/([a-z_.>-]*options & PCRE2_UTF) != 0/TRUE/' -e 's/mb->partial != 0/FALSE/' \
		-e 's/mb->partial > 1/FALSE/' -e 's/mb->partial == 0/TRUE/' pcre2_*.c && \
		sed -i $(foreach o,$(pcre2_UNUSED),-e 's/^\(.define PCRE2_$o\) .*/\1 0u/') pcre2.h
	@cp $(S)/libsodium/builds/msvc/version.h $(S)/libsodium/src/libsodium/include/sodium/version.h
	@cd $(S)/msgpack-c && for f in sysdep pack_template; do \
		sed 's/@MSGPACK_ENDIAN_BIG_BYTE@/0/; s/@MSGPACK_ENDIAN_LITTLE_BYTE@/1/' cmake/$$f.h.in \
		>include/msgpack/$$f.h || exit; done
	@# lib/wire/xml.c sets the salt itself.
	@printf '%s\n' '#include <stdlib.h>' '#define HAVE_ARC4RANDOM 1' '#define arc4random() 1u' '#define getenv(x) NULL' \
		>$(S)/expat/expat/lib/expat_config.h
	@# The compressor chooses its search by the vectors of the CPU, and so the bytes it writes: here those
	@# of x86-64 and of 64-bit ARM.
	@sed -i 's/int const kHasSIMD128 = 0;/int const kHasSIMD128 = 1;/' $(S)/libzstd/lib/compress/zstd_compress.c
	@scripts/wasm-edits.sh $(S)
	@mkdir -p $(S)/simde
	@ln -sfn /usr/include/simde $(S)/simde/simde
	@touch $@

# ---- the project ----

ABSENT = $(addprefix lib/core/,broker.c broker_serve.c calls.c characters.c descriptors.c dir.c embedded.c netbox.c opened.c part.c pipe.c \
	place.c place_stage.c program.c remote.c remote_talk.c remote_wire.c rewrite.c sandbox.c) \
	$(addprefix lib/crypto/,aead.c digest.c hkdf.c) lib/quant/plugin.c \
	$(addprefix lib/kernels/neon/,panel_i8_i8mm.c panel_i8_sdot.c rows_sdot.c type_float.c)
ROOMS = core core/wasm model wire codecs stream formats formats/* imports imports/* kernels kernels/ref \
	kernels/common kernels/neon quant stats check check/* crypto crypto/seal crypto/portable tokenizer infer infer/* \
	generate load arch arch/* adapt adapt/* lora linear predict predict/* stage report api
SRC = $(filter-out $(ABSENT),$(sort $(wildcard $(ROOMS:%=lib/%/*.c)))) $(wildcard web/*.c)
OBJ = $(SRC:%.c=$(W)/own/%.o)
FLAGS = -std=c11 -D_GNU_SOURCE -Ilib -Ilib/core/wasm/include $(DEBS_INCLUDE:-I%=-isystem %) \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wno-macro-redefined $(BASE) $(WASM_O) $(CFLAGS)
COMPUTE = $(filter lib/kernels/neon/% lib/kernels/ref/type_float.c lib/infer/cpu/%,$(SRC))
$(COMPUTE:%.c=$(W)/own/%.o): CFLAGS += $(WASM_FAST)

# Tables of Unicode, made by programs of this machine; the larger ones of PCRE2 are left out of its source.
MADE = $(W)/made/core/wasm
MADE_CC = $(CC) -std=c11 -O1 -w -Ilib -I$(W)/made -I$(S)/pcre2/src $(filter -DHAVE% -DPCRE2% -DSUPPORT%,$(pcre2_FLAGS))
MADE_OF = $(wildcard web/tables/* lib/core/wasm/*.h) lib/core/characters.c $(RULES)
$(MADE)/characters.inc: $(MADE_OF)
	@mkdir -p $(@D)
	$(call say,GEN)$(MADE_CC) -o $(W)/made/characters web/tables/characters.c -lutf8proc
	@$(W)/made/characters >$@
$(MADE)/patterns.inc: $(MADE_OF) $(MADE)/characters.inc lib/core/wasm/pattern_tables.c $(S)/.ready
	$(call say,GEN)$(MADE_CC) -o $(W)/made/patterns web/tables/patterns.c lib/core/characters.c \
		$(S)/pcre2/src/pcre2_ucd.c -lutf8proc
	@$(W)/made/patterns >$@
	@$(MADE_CC) -o $(W)/made/patterns_check web/tables/patterns_check.c lib/core/wasm/characters.c \
		$(S)/pcre2/src/pcre2_ucd.c && $(W)/made/patterns_check
GRIDS = $(W)/made/kernels/common/grids.inc
$(GRIDS): web/tables/grids.c lib/kernels/common/iq_grid.c $(RULES)
	@mkdir -p $(@D)
	$(call say,GEN)$(CC) -std=c11 -O1 -Ilib -o $(W)/made/grids $< && $(W)/made/grids >$@
$(W)/lib/pcre2/small_ucd.c: $(S)/.ready
	@mkdir -p $(@D)
	@sed '/PRIV(ucd_\(records\|stage[12]\))\[\] = { \/\*/,/^};/d' $(S)/pcre2/src/pcre2_ucd.c >$@
$(W)/lib/pcre2/small_ucd.o: $(W)/lib/pcre2/small_ucd.c $(RULES)
	$(call say,CC)$(WASM_CC) $(BASE) $(WASM_O) -w -Ilib/core/wasm/include $(pcre2_FLAGS) -c -o $@ $<
$(W)/own/lib/core/wasm/characters.o: $(MADE)/characters.inc
$(W)/own/lib/core/wasm/pattern_tables.o: $(MADE)/patterns.inc
$(W)/own/web/core/grids.o: $(GRIDS)
$(W)/own/lib/core/wasm/characters.o $(W)/own/lib/core/wasm/pattern_tables.o $(W)/own/web/core/grids.o: FLAGS += -I$(W)/made

# Functions of libc themselves.
$(W)/own/web/core/math.o: CFLAGS += -fno-builtin
$(W)/own/lib/crypto/portable/base.o: CFLAGS += -DCONFIGURED=1 # or headers inside libsodium warn

$(W)/own/%.o: %.c $(RULES)
	@mkdir -p $(@D)
	$(call say,CC)$(WASM_CC) $(FLAGS) -MMD -MP -c -o $@ $<

$(W)/reads/%.o: %.c $(RULES)
	@mkdir -p $(@D)
	$(call say,CC)$(WASM_CC) $(FLAGS) -Wno-unused -DAPR_READS -MMD -MP -c -o $@ $<

$(W)/few/%.o: %.c $(RULES)
	@mkdir -p $(@D)
	$(call say,CC)$(WASM_CC) $(FLAGS) -Wno-unused -DAPR_FEW -MMD -MP -c -o $@ $<

# ---- modules ----

READS := $(shell grep -lE 'ONLY_READS|ONLY_WRITES|LEVEL_ROW' $(SRC))
PACKS := $(shell grep -l ONLY_PACKS $(SRC))
ENCODES = lib/kernels/ref/type_float.c lib/kernels/ref/type_q8_0.c # what a model that runs keeps

# Of each module: its own objects, or else all; of these the sources compiled with APR_READS and with APR_FEW, those
# left out, and the folders of web/ that replace them.
MODULES = aprml-codecs aprml-look aprml-core aprml-run aprml aprml-full
aprml-codecs_OBJ = $(call own,web/codecs/frame.c $(addprefix lib/,codecs/frames.c \
	core/err.c core/mem.c core/text.c core/wasm/decimal.c core/wasm/print.c core/wasm/scan.c))
aprml-codecs_FEW = $(PACKS)
aprml-look_READS = $(READS)
aprml-look_LESS = lib/formats/list.c lib/kernels/common/iq_grid.c lib/stage/ring.c lib/wire/yaml.c lib/crypto/derivation.c \
	lib/crypto/seal/seal_source.c $(PACKS)
aprml-look_MORE = few core
aprml-look_LINK = -mllvm -inline-threshold=-1000
aprml-core_READS = $(aprml-look_READS)
aprml-core_LESS = $(aprml-look_LESS)
aprml-core_MORE = $(aprml-look_MORE)
aprml-run_READS = $(filter lib/formats/% lib/kernels/ref/type_%,$(filter-out lib/formats/apr2/% $(ENCODES),$(READS)))
aprml-run_LESS = lib/formats/list.c lib/kernels/ref/search.c lib/kernels/neon/search.c lib/api/make_options.c \
	lib/stage/conversion.c $(PACKS)
aprml-run_MORE = few run
aprml-run_LINK = $(aprml-look_LINK)
aprml_LESS = lib/formats/list.c $(PACKS)
aprml_MORE = few

own = $(patsubst %.c,$(W)/own/%.o,$1)
objects = $(filter-out $(call own,$($1_READS) $($1_FEW) $($1_LESS)),$(or $($1_OBJ),$(OBJ))) $($1_READS:%.c=$(W)/reads/%.o) \
	$($1_FEW:%.c=$(W)/few/%.o) $(call own,$(wildcard $($1_MORE:%=web/%/*.c)))

# What a module exports beside malloc and free: functions of its own list, what web/*.js names, all of it but
# the check, or all that the header declares.
NAMED := $(shell grep -oh '\b\(aprml\|js\)_[a-z0-9_]*' web/*.js | sort -u)
aprml-codecs_CALLS := $(shell grep -o '\bframe_[a-z]*' web/codecs/frame.h)
aprml-look_CALLS = $(addprefix aprml_,bytes close decode file file_count find floats integer item key key_count next open \
	open_origin read tensor tensor_count text value version) js_layout js_recipient
aprml-core_CALLS = $(aprml-look_CALLS) aprml_check $(filter aprml_report_%,$(NAMED))
aprml-run_CALLS = $(filter-out aprml_check aprml_report_%,$(NAMED))
aprml_CALLS = $(NAMED)
aprml-full_CALLS := $(shell grep -oh '\baprml_[a-z0-9_]*' lib/api/aprml*.h; grep -oh "^js_[a-z0-9_]*" web/*.c)
$(W)/%.exports: always
	@printf -- '--export-if-defined=%s\n' $(sort $($*_CALLS) malloc free) >$@.new
	@$(anew)

# The linker is called itself, as the driver of the compiler would run the optimizer only where it is
# installed. It optimizes all objects together. For modules whose work that does not slow down, it puts
# functions into others only where the compiler has done so in a source.
#
# Low memory is the far end of the stack (--stack-first). Told that it is unused, the optimizer puts additions
# of constants below 1024 into loads, which do not wrap around: a stack is then full 1 KB earlier, and traps.
SYSROOT = /usr/lib/wasm32-wasi
LINK = wasm-ld-19 -m wasm32 --entry _initialize --gc-sections --strip-all -O2 --lto-O2 -z stack-size=4194304 \
	--stack-first --max-memory=4294967296 -L$(SYSROOT) $(SYSROOT)/crt1-reactor.o
RUNTIME := $(shell $(WASM_CC) --target=wasm32-wasi -print-libgcc-file-name)
SHRINK = wasm-opt --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int \
	--enable-mutable-globals --enable-simd --low-memory-unused -Oz
define module
$(W)/$1.wasm: $(DEBS_OBJ) $(call objects,$1) $(W)/$1.exports web/module.mk
	$$(file >$(W)/$1.objects,$$(filter %.o,$$^))
	$$(call say,LD)$(LINK) $($1_LINK) @$(W)/$1.exports @$(W)/$1.objects -lc $(RUNTIME) -o $(W)/$1.linked && \
		$(SHRINK) $(W)/$1.linked -o $$@
endef
$(foreach m,$(MODULES),$(eval $(call module,$m)))

# The page takes everything from one folder.
GLUE = $(addprefix $(W)/,$(notdir $(wildcard web/*.js web/*.html web/*.css web/*.svg)))
$(filter $(W)/%,$(GLUE)): $(W)/%: web/%
	@mkdir -p $(@D)
	@cp $< $@

all: $(MODULES:%=$(W)/%.wasm) $(GLUE)
sources: $(S)/.ready
-include $(shell find $(W)/own $(W)/reads $(W)/few -name '*.d' 2>/dev/null)
.PHONY: all sources always
.DELETE_ON_ERROR:
.DEFAULT_GOAL = all
