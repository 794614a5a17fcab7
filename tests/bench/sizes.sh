#!/usr/bin/env bash
# sizes.sh: the sizes of the shakespeare model after what makes a model smaller, as the table in
# apr-quant(1) has them: MiB, the share of F32, perplexity on text that it was not trained on if
# $APR_TEST_DATA (../shared/data) has it, and the conversion.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
text=${APR_TEST_DATA:-$root/../shared/data}/models/shakespeare/validation.txt
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export APR_LOG_LEVEL=error
apr-unpack "$root/tests/data/shakespeare-BF16.gguf" >model

first=
# row NAME PACKING COMMAND…: the command reads the model and writes a stream.
row() {
  local name=$1 packing=$2 bytes p=-
  shift 2
  "$@" <model >form
  # shellcheck disable=SC2086
  bytes=$(apr-pack $packing <form | wc -c)
  apr-lowrank merge <form >whole 2>log || mv form whole
  [ ! -e "$text" ] || [ -n "${SIZES_ONLY:-}" ] ||
    p=$(apr-run --perplexity "$text" -c 256 whole 2>log | sed -n 's/^perplexity \([0-9]*\.[0-9][0-9]\).*/\1/p')
  first=${first:-$bytes}
  awk -v n="$name" -v b="$bytes" -v f="$first" -v p="$p" \
    'BEGIN { printf "%-28s %5.2f MiB %6.1f %%  %s\n", n, b / 1048576, 100 * b / f, p }'
}

pruned() {
  apr-prune --sparsity 0.5 | apr-quant --fallback warn "$1"
}

row 'f32' '' apr-quant f32
row 'f16' '' apr-quant f16
row 'q8_0' '' apr-quant --fallback warn q8_0
row 'q4_0' '' apr-quant --fallback warn q4_0
row 'f16, zstd' '-z zstd:19' apr-quant f16
row 'q8_0, zstd' '-z zstd:19' apr-quant --fallback warn q8_0
row 'q4_0, zstd' '-z zstd:19' apr-quant --fallback warn q4_0
row 'q8_0, half zero, zstd' '-z zstd:19' pruned q8_0
row 'q4_0, half zero, zstd' '-z zstd:19' pruned q4_0
row 'f16, rank 64, zstd' '-z zstd:19' bash -c 'apr-lowrank svd --rank 64 | apr-quant f16'
