#!/usr/bin/env bash
# quantize.sh [TYPE…]: wall times of whole commands, ours and the peer's in turn, and their
# ratio, on an F16 model of LLaMA's shape with 1.1 billion parameters.
#
# APR_PEER: the peer's llama-quantize; without it, only our times are shown.
# PAIRS: runs of each (5). JOBS: threads of each (all CPUs). LEVELS: values of APR_CPU, or
# best, each measured separately (best).
#
# Both read the model from one folder and write a GGUF file there (BENCH_DIR; a temporary
# one), without syncing. A line shows medians, and the lowest and highest ratio of a pair:
# under other load, only ratios are reliable.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
pairs=${PAIRS:-5} jobs=${JOBS:-$(nproc)}
types=("$@")
[ $# -gt 0 ] || types=(q4_k_m q6_k iq4_xs q4_0 q8_0)

exec 3>&2
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$gen/llama" 22 2048 5632 32000 4 >model.gguf
peer=${APR_PEER:-}
[ -n "$peer" ] || echo "no peer: set APR_PEER to a llama-quantize"

# Seconds of a command.
seconds() {
  local TIMEFORMAT=%R
  { time "$@" >/dev/null 2>log || { cat log >&3; exit 1; }; } 2>&1
}

ours() {
  apr-quant -j "$jobs" --fallback warn "$1" model.gguf | apr-pack -t gguf --no-sync -f -o ours.gguf
}

theirs() {
  rm -f theirs.gguf
  "$peer" model.gguf theirs.gguf "$1" "$jobs"
}

median() {
  sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# TYPE: one line, at the level of APR_CPU.
row() {
  local i a b
  : >a
  : >b
  : >ratio
  for ((i = 0; i <= pairs; i++)); do
    a=$(seconds ours "$1")
    b=$a
    [ -z "$peer" ] || b=$(seconds theirs "${1^^}")
    [ "$i" -gt 0 ] || continue # the first fills caches
    echo "$a" >>a
    echo "$b" >>b
    awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f\n", b / a }' >>ratio
  done
  if [ -n "$peer" ]; then
    printf '%-8s %-7s %8.1f s %8.1f s %7.2f  (%s to %s)\n' "$1" "${APR_CPU:-best}" \
      "$(median <a)" "$(median <b)" "$(median <ratio)" \
      "$(sort -n ratio | head -n 1)" "$(sort -n ratio | tail -n 1)"
  else
    printf '%-8s %-7s %8.1f s\n' "$1" "${APR_CPU:-best}" "$(median <a)"
  fi
}

printf '%-8s %-7s %10s %10s %7s  (%d threads, %d pairs)\n' type level ours peer ratio "$jobs" "$pairs"
for type in "${types[@]}"; do
  for level in ${LEVELS:-best}; do
    unset APR_CPU
    [ "$level" = best ] || export APR_CPU=$level
    row "$type"
  done
done
