#!/usr/bin/env bash
# calibration.sh [BYTES [TYPE...]]: the perplexity of the shakespeare model in some types, by the method of
# calibration, as the table in apr-quant(1). Prints a line for each type.
#
# Reads $APR_TEST_DATA (../shared/data): the first BYTES (40000) of text/tinyshakespeare.txt, and
# models/shakespeare/validation.txt, which is not a part of them.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
data=${APR_TEST_DATA:-$root/../shared/data}
model=$root/tests/data/shakespeare-BF16.gguf
bytes=${1:-40000}
types=(q8_0 q4_0 mxfp4 iq4_nl q4_k_m q3_k_s q2_k)
[ $# -lt 2 ] || types=("${@:2}")
[ -e "$data/models/shakespeare/validation.txt" ] || {
  echo "no reference data: APR_TEST_DATA"
  exit 0
}

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export APR_LOG_LEVEL=error
head -c "$bytes" "$data/text/tinyshakespeare.txt" >text

# perplexity: of the model on standard input.
perplexity() {
  apr-run --perplexity "$data/models/shakespeare/validation.txt" -c 256 - 2>log |
    awk '$1 == "perplexity" { printf "%.2f\n", $2 }'
}

printf '%-8s %8s %8s %10s %8s\n' type none minmax percentile mse
for type in "${types[@]}"; do
  printf '%-8s %8s' "$type" "$(apr-quant "$type" "$model" | perplexity)"
  for method in minmax percentile mse; do
    wide=8
    [ $method != percentile ] || wide=10
    printf " %${wide}s" "$(apr-quant --calibration text --calibration-method "$method" "$type" \
      "$model" | perplexity)"
  done
  printf '\n'
done
