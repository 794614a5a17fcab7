#!/usr/bin/env bash
# wasm.sh [TYPE…]: CPU time of a token in WebAssembly, in node and in Chromium, by one thread, against the same kernels
# native on x86-64 with vectors of 128 bits (SSE4.2), by the same loop through the public functions: for a prompt that is
# fed at once, and for tokens fed one after the other. Types: q4_0 and q8_0.
#
# Needs "make wasm", the release build and libsimde-dev. PAIRS: runs of each in turn (3). PROMPT, COUNT: tokens (128
# and 128: the browser counts in steps of 10 ms). SHAPE: arguments of tests/gen/llama. BROWSER: the program; without it
# there is no Chromium. PEER: a command that does as feed.c with MODEL PROMPT COUNT TIMES, such as another program in
# WebAssembly. A line has the medians in microseconds, and those of each other one / WebAssembly in node, by turns.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
read -ra shape <<<"${SHAPE:-4 768 2048 4096 4}"
read -ra peer <<<"${PEER:-}"
counts=("${PROMPT:-128}" "${COUNT:-128}")
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

# once NAME: one measured run, after those that are not.
once() {
  local bench=$root/tests/bench/wasm
  case $1 in
  node) node "$bench/feed.mjs" "$root/build/wasm/aprml.wasm" model.gguf "${counts[@]}" 1 ;;
  native) "$root/build/sse42/feed" model.gguf "${counts[@]}" 1 ;;
  chromium) node "$bench/chromium.mjs" "$root/build/wasm" model.gguf "${counts[@]}" 1 ;;
  peer) "${peer[@]}" "$folder/model.gguf" "${counts[@]}" 1 ;;
  esac
}

all=(node native)
command -v "${BROWSER:-chromium}" >/dev/null && all+=(chromium)
[ ${#peer[@]} -eq 0 ] || all+=(peer)

for type in "${types[@]}"; do
  rm -f model.gguf
  APR_LOG_LEVEL=error apr-quant --fallback warn "$type" f16.gguf | apr-pack -t gguf --no-sync -o model.gguf
  for ((i = 0; i < ${PAIRS:-3}; i++)); do
    for name in "${all[@]}"; do
      once "$name" | tr '\n' ' ' # prompt and token
    done
    echo
  done >runs
  for what in prompt:1 token:2; do
    own=${what#*:}
    printf '%s %s: WebAssembly %s us' "$type" "${what%:*}" "$(cut -d' ' -f"$own" runs | median)"
    for ((i = 1; i < ${#all[@]}; i++)); do
      at=$((2 * i + own))
      printf ', %s %s us, ratio %s' "${all[i]}" "$(cut -d' ' -f$at runs | median)" "$(awk "{ print \$$at / \$$own }" runs | median)"
    done
    echo
  done
done
