#!/usr/bin/env bash
# prune.sh: the perplexity of the shakespeare model after pruning, as in apr-prune(1).
#
# Reads $APR_TEST_DATA (../shared/data): models/shakespeare/validation.txt, which is not a part of
# what the model was trained on, and text/tinyshakespeare.txt, whose first 400,000 bytes are, for the
# importance matrix. Prints a line for each form: options, parameters that stay, zeros of the pruned
# matrices, perplexity, its rise, and the size after quantizing and zstd.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
data=${APR_TEST_DATA:-$root/../shared/data}
model=$root/tests/data/shakespeare-BF16.gguf
[ -e "$data/models/shakespeare/validation.txt" ] || {
  echo "no reference data: APR_TEST_DATA"
  exit 0
}

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export APR_LOG_LEVEL=error
head -c 400000 "$data/text/tinyshakespeare.txt" >train.txt
apr-imatrix --text train.txt --context 256 --chunks 64 -o imatrix "$model"

# perplexity FILE
perplexity() {
  apr-run --perplexity "$data/models/shakespeare/validation.txt" -c 256 "$1" 2>log |
    sed -n 's/^perplexity \([0-9.]*\).*/\1/p'
}

text=(--text train.txt --tokens 8192)
first=
# row TYPE OPTION…: prune by the options, give the result the type ("": none).
row() {
  local type=$1 p bytes
  shift
  if [ $# -eq 0 ]; then
    apr-unpack "$model" >pruned
  else
    apr-prune -f "$@" -o pruned "$model"
  fi
  if [ -n "$type" ]; then
    apr-quant -f --fallback warn "$type" -o form <pruned
  else
    mv pruned form
  fi
  p=$(perplexity form)
  bytes=$(apr-pack -z zstd:19 <form | wc -c)
  first=${first:-$p}
  awk -v o="$*" -v t="${type:-bf16}" -v p="$p" -v f="$first" -v b="$bytes" \
    'BEGIN { printf "%-52s %-7s %9.2f %+9.2f %6.2f MiB\n", o, t, p, p - f, b / 1048576 }'
}

row ''
for s in 0.1 0.2 0.3 0.4 0.5; do
  row '' --sparsity $s
  row '' --sparsity $s --imatrix imatrix
  row '' --sparsity $s --by sparsegpt "${text[@]}"
done
row '' --nm 2:4
row '' --nm 2:4 --imatrix imatrix
row '' --nm 2:4 --by sparsegpt "${text[@]}"
for n in 2 4; do
  row '' --heads $n --imatrix imatrix
done
for n in 64 128 256; do
  row '' --neurons $n --imatrix imatrix
done
row '' --drop 1 "${text[@]}"
row '' --drop 2 "${text[@]}"
for type in q8_0 q4_k_m; do
  row $type
  row $type --sparsity 0.5
  row $type --sparsity 0.5 --imatrix imatrix
  row $type --sparsity 0.5 --by sparsegpt "${text[@]}"
  row $type --nm 2:4 --imatrix imatrix
  row $type --nm 2:4 --by sparsegpt "${text[@]}"
  row $type --neurons 256 --imatrix imatrix
done
