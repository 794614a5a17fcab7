#!/usr/bin/env bash
# wasm-edits.sh FOLDER: takes out of the sources in FOLDER what the WebAssembly module never calls, though its
# functions name it, so that the linker can leave it out. What is written and read stays the same. Made once
# or again, the edits give the same sources.
set -eu
cd "$1"

# Zstandard: dictionaries, long distances, sequences found by others, and blocks of a wanted size. All of them
# are asked for by parameters that lib/codecs/zstd.c does not set.
sed -i -e 's/ZSTD_compressBlock_[A-Za-z0-9]*_\(dictMatchState\|dedicatedDictSearch\)\(_row\)\?/NULL/' \
  -e 's/[A-Za-z>.-]*ldmParams\(->\|\.\)enableLdm == ZSTD_ps_enable/0/g' \
  -e 's/zc->externSeqStore.pos < zc->externSeqStore.size/0/' \
  -e 's/if (zc->appliedParams.useSequenceProducer) {/if (0) {/' \
  -e 's/if (ZSTD_useTargetCBlockSize(.*)) {/if (0) {/' \
  -e 's/(dict==NULL) || (dictSize<8)/1/' -e 's/if ( (cdict)$/if ( 0/' -e 's/if (dl->dict == NULL)/if (1)/' \
  libzstd/lib/compress/zstd_compress.c
sed -i 's/ZSTD_BT_GET_ALL_MATCHES_ARRAY(dictMatchState)/{ 0 }/' libzstd/lib/compress/zstd_opt.c

# LZ4: lib/codecs/lz4.c compresses at the level of its fast search.
sed -i -e 's/\(cctxPtr->prefs\.compressionLevel\|level\) < LZ4HC_CLEVEL_MIN/1/' \
  -e 's/preferencesPtr->compressionLevel >= LZ4HC_CLEVEL_MIN/0/' lz4/lib/lz4frame.c

# BLAKE2b's twelve rounds are a loop: it hashes only what keys and passphrases begin with.
sed -i -e '/ROUND([1-9]/d' -e 's/ROUND(0);/for (i = 0; i < 12; i++)\n        ROUND(i);/' \
  libsodium/src/libsodium/crypto_generichash/blake2b/ref/blake2b-compress-ref.c
