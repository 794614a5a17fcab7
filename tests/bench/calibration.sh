#!/usr/bin/env bash
# calibration.sh: the perplexity of the shakespeare model in some types, by the method of calibration, as
# the table in apr-quant(1).
#
# Reads $APR_TEST_DATA (../shared/data): the beginning of text/tinyshakespeare.txt, and
# models/shakespeare/validation.txt, which is not a part of it.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
data=${APR_TEST_DATA:-$root/../shared/data}
model=$root/tests/data/shakespeare-BF16.gguf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export APR_LOG_LEVEL=error

head -c 40000 "$data/text/tinyshakespeare.txt" >text

# perplexity: of the model on standard input.
perplexity() {
  apr-run --perplexity "$data/models/shakespeare/validation.txt" -c 256 - 2>log |
    sed -n 's/^perplexity \([0-9]*\.[0-9]*\).*/\1/p'
}

printf '%-8s %8s %8s %10s %8s\n' type none minmax percentile mse
for type in q8_0 q4_0 mxfp4 iq4_nl q4_k_m q3_k_s q2_k; do
  printf '%-8s %8s' "$type" "$(apr-quant "$type" "$model" | perplexity)"
  for method in minmax percentile mse; do
    printf ' %8s' "$(apr-quant --calibration text --calibration-method "$method" "$type" \
      "$model" | perplexity)"
  done
  printf '\n'
done
