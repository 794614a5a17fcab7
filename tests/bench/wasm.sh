#!/usr/bin/env bash
# wasm.sh [TYPE…]: CPU time of a token in WebAssembly (node, one thread) against the same kernels native on x86-64
# with vectors of 128 bits (SSE4.2), by the same loop through the public functions: for a prompt that is
# fed at once, and for tokens fed one after the other. Types: q4_0 and q8_0.
#
# Needs "make wasm", the release build and libsimde-dev. PAIRS: runs of each in turn (3). PROMPT, COUNT: tokens (32
# and 16). SHAPE: arguments of tests/gen/llama. A line has the medians in microseconds and the median of
# native / WebAssembly of each pair.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
read -ra shape <<<"${SHAPE:-4 768 2048 4096 4}"
counts=("${PROMPT:-32}" "${COUNT:-16}")
types=("$@")
[ $# -gt 0 ] || types=(q4_0 q8_0)

make -s -C "$root" -f tests/bench/wasm/native.mk
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$gen/llama" "${shape[@]}" >f16.gguf

median() {
  sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

for type in "${types[@]}"; do
  rm -f model.gguf
  APR_LOG_LEVEL=error apr-quant --fallback warn "$type" f16.gguf | apr-pack -t gguf --no-sync -o model.gguf
  for ((i = 0; i < ${PAIRS:-3}; i++)); do
    native=$("$root/build/sse42/feed" model.gguf "${counts[@]}" 1)
    wasm=$(node "$root/tests/bench/wasm/feed.mjs" "$root/build/wasm/aprml.wasm" model.gguf "${counts[@]}" 1)
    echo "$native $wasm" # prompt and token of each
  done >pairs
  for what in prompt:1:3 token:2:4; do
    IFS=: read -r name a b <<<"$what"
    printf '%s %s: native %s us, WebAssembly %s us, ratio %s\n' "$type" "$name" "$(cut -d' ' -f"$a" pairs | median)" \
      "$(cut -d' ' -f"$b" pairs | median)" "$(awk "{ print \$$a / \$$b }" pairs | median)"
  done
done
