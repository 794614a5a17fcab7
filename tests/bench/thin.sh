#!/usr/bin/env bash
# thin.sh [ASKED…]: the time that apr-run takes for a token on a model with zeros, dense and in its sparse
# form, and how many times faster the form is: medians of PAIRS (5) runs in turn, on one thread.
#
# ASKED are options of apr-prune. The model has LLaMA's shape and 380 MB of F16, which no cache
# holds: SHAPE are arguments of tests/gen/llama. A run generates COUNT (64) tokens.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
pairs=${PAIRS:-5} count=${COUNT:-64}
asked=("$@")
[ $# -gt 0 ] || asked=('--nm 2:4' '--sparsity 0.9')

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# FILE: milliseconds of a token, on one thread.
token() {
  APR_LOG_LEVEL=error apr-run --bench --bench-prompt 1 -n "$count" -t 1 --json "$1" |
    awk -F'"decode_rate":' '{ print 1000 / ($2 + 0) }'
}

median() {
  sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# shellcheck disable=SC2086 # options and sizes are words
"$gen/llama" ${SHAPE:-4 2048 5632 8000 4} >f16.gguf
printf '%-16s %8s %8s %9s %9s %6s\n' asked 'MB' 'MB' 'dense ms' 'form ms' times
for a in "${asked[@]}"; do
  # shellcheck disable=SC2086
  APR_LOG_LEVEL=error apr-prune $a f16.gguf | apr-pack --no-sync -f -o dense.apr
  APR_LOG_LEVEL=error apr-sparse bitmap dense.apr | apr-pack --no-sync -f -o form.apr
  rm -f dense form ratio
  for ((i = 0; i < pairs; i++)); do
    d=$(token dense.apr) f=$(token form.apr)
    echo "$d" >>dense
    echo "$f" >>form
    awk -v d="$d" -v f="$f" 'BEGIN { print d / f }' >>ratio
  done
  printf '%-16s %8d %8d %9.1f %9.1f %6.2f\n' "$a" $(($(stat -c %s dense.apr) / 1000000)) \
    $(($(stat -c %s form.apr) / 1000000)) "$(median <dense)" "$(median <form)" "$(median <ratio)"
done
