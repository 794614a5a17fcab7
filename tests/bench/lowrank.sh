#!/usr/bin/env bash
# lowrank.sh MODEL IMATRIX TEXT: the table of apr-lowrank(1): bytes of the matrices in layers, their
# mean error and the perplexity of TEXT, for ranks and energies, without and with IMATRIX.
set -euo pipefail

bin=${APR_BIN:-$(dirname "$0")/../../bin}
model=$1 imatrix=$2 text=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

perplexity() {
  "$bin/apr-run" --perplexity "$text" -c 256 "$1" 2>/dev/null | sed -n 's/^perplexity *//p'
}

printf '%-14s %-9s %s\n' asked bytes perplexity
printf '%-14s %-9s %s\n' - - "$(perplexity "$model")"
for asked in '--rank 16' '--rank 32' '--rank 64' '--energy 0.8' '--energy 0.9'; do
  for with in '' "--imatrix $imatrix"; do
    # shellcheck disable=SC2086
    "$bin/apr-lowrank" svd $asked $with "$model" 2>"$work/notes" |
      "$bin/apr-lowrank" merge 2>/dev/null | "$bin/apr-pack" -f -t gguf -o "$work/m.gguf"
    printf '%-14s %-9s %s\n' "$asked${with:+ w}" \
      "$(sed -n 's/.*-> \([0-9]*\) bytes.*/\1/p' "$work/notes")" "$(perplexity "$work/m.gguf")"
  done
done
