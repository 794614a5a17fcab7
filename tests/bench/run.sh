#!/usr/bin/env bash
# run.sh [TYPE…]: tokens a second of a prompt and of decoding after it, ours and the
# peer's in turn, on a LLaMA-shaped model of 1.1 billion parameters, and their ratios.
#
# APR_PEER_RUN: the peer's llama-bench; without it only our figures are shown.
# PAIRS: runs of each (3). JOBS: threads of each (all CPUs). PROMPT, COUNT: tokens (128
# and 32). OPTIONS: more for apr-run (--repack). MODELS: a folder with TYPE.gguf of
# earlier; without it they are made.
#
# A line shows medians, and what part of the speed of memory decoding reaches: each token
# reads all weights. On a machine that does other things as well, only ratios last.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
pairs=${PAIRS:-3} jobs=${JOBS:-$(nproc)} prompt=${PROMPT:-128} count=${COUNT:-32}
types=("$@")
[ $# -gt 0 ] || types=(q4_k_m q8_0 q4_0 q6_k f16)

models=${MODELS:-}
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
peer=${APR_PEER_RUN:-}
[ -n "$peer" ] || echo "no peer: set APR_PEER_RUN to a llama-bench"

# TYPE: the path of its model.
model() {
  if [ -n "$models" ]; then
    echo "$models/$1.gguf"
    return
  fi
  case $1 in
  iq[123]*) # which apr-quant does not write
    [ -e "$1.gguf" ] || "$gen/llama" 22 2048 5632 32000 4 "${1^^}" >"$1.gguf"
    echo "$folder/$1.gguf"
    return
    ;;
  esac
  [ -e f16.gguf ] || "$gen/llama" 22 2048 5632 32000 4 >f16.gguf
  [ -e "$1.gguf" ] ||
    apr-quant -j "$jobs" --fallback warn "$1" f16.gguf | apr-pack -t gguf --no-sync -o "$1.gguf"
  echo "$folder/$1.gguf"
}

# FILE: "prompt decode fraction".
ours() {
  # shellcheck disable=SC2086 # options are words
  APR_LOG_LEVEL=error apr-run ${OPTIONS:-} --bench --bench-prompt "$prompt" -n "$count" -t "$jobs" \
    --json "$1" |
    sed 's/.*"prompt_rate": *\([0-9.]*\).*"decode_rate": *\([0-9.]*\).*"read_fraction": *\([0-9.]*\).*/\1 \2 \3/'
}

# FILE: "prompt decode".
theirs() {
  "$peer" -m "$1" -p "$prompt" -n "$count" -t "$jobs" -r 1 -o json 2>log |
    sed -n 's/.*"avg_ts": *\([0-9.]*\).*/\1/p' | paste -sd' '
}

# COLUMN FILE
median() {
  awk -v c="$1" '{ print $c }' "$2" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

printf '%-8s %9s %9s %7s %9s %9s %7s %7s  (prompt %d, %d threads, %d pairs)\n' type prompt peer ratio \
  decode peer ratio memory "$prompt" "$jobs" "$pairs"
for type in "${types[@]}"; do
  file=$(model "$type")
  : >a
  : >b
  for ((i = 0; i <= pairs; i++)); do
    a=$(ours "$file")
    b=$a
    [ -z "$peer" ] || b=$(theirs "$file")
    [ "$i" -gt 0 ] || continue # the first fills caches
    echo "$a" >>a
    echo "$b" >>b
  done
  paste -d' ' a b | awk '{ print $1 / $4, $2 / $5 }' >ratio
  [ -n "$peer" ] || echo "- -" >b
  [ -n "$peer" ] || echo "- -" >ratio
  printf '%-8s %9s %9s %7.4s %9s %9s %7.4s %6.0f%%\n' "$type" "$(median 1 a)" "$(median 1 b)" \
    "$(median 1 ratio)" "$(median 2 a)" "$(median 2 b)" "$(median 2 ratio)" \
    "$(median 3 a | awk '{ print $1 * 100 }')"
  [ -n "$models" ] || [ "$type" = f16 ] || rm -f "$file"
done
