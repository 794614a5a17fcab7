#!/usr/bin/env bash
# make demo: runs the two pipes of README.md on the small real model and prints a table of the
# results. The first step that fails ends the demo with its status.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp "$root/tests/data/shakespeare-BF16.gguf" m.gguf

# Shows a command, then runs it.
step() {
  printf '$ %s\n' "$1"
  eval "$1"
}

# Prints a member of a JSON object that is a word or a number.
member() {
  sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

row() {
  printf '%-28s %s\n' "$1" "$2"
}

size() {
  local bytes whole
  bytes=$(stat -c %s "$1")
  whole=$(stat -c %s m.gguf)
  row "$1" "$(printf '%8d bytes  %5.1f %%   %s' "$bytes" \
    "$(awk -v a="$bytes" -v b="$whole" 'BEGIN { print 100 * a / b }')" \
    "$(apr-header "$1" | sed -n 's/^types *//p')")"
}

step 'apr-keygen -W -o key'
step 'apr-unpack m.gguf | apr-quant q4_0 | apr-sign key | apr-pack > m.apr'
step 'apr-unpack m.apr | apr-verify key.pub | apr-pack -t gguf -o back.gguf'
step 'apr-verify -q --json key.pub back.gguf | tee answer'
step 'APR_LOG_LEVEL=error apr-quant --check --json q4_0 m.gguf 2>&1 >/dev/null | tail -n 1 | tee error'
step 'apr-unpack m.gguf | apr-pack -t gguf -o same.gguf'
step 'apr-unpack back.gguf | apr-pack -o again.apr'
[ "$(member verified <answer)" = true ]

# Changes one byte of one weight: GGUF has no checksum to detect that, a signature does.
step 'cp back.gguf changed.gguf'
step 'printf "\1" | dd of=changed.gguf bs=1 seek=1000000 conv=notrunc status=none'
step 'apr-verify -q key.pub changed.gguf 2>refused && exit 1 || cat refused'
grep -q E006 refused
cmp -s m.gguf same.gguf
cmp -s m.apr again.apr

printf '\nWhat happened\n\n'
size m.gguf
size m.apr
size back.gguf
row 'signature' "verified: key $(member key <answer), root $(member root <answer | head -c 16)..."
row 'changed.gguf, one byte' "$(sed -n '1s/^apr-verify: /refused: /p' refused)"
row 'error of the weights' "relative RMSE $(member relative <error), cosine $(member cosine <error)"
row 'm.gguf, packed again' 'the same bytes'
row 'm.apr, by way of back.gguf' 'the same bytes, signature included'

# The text that the packed model generates.
echo
step 'echo ROMEO: | apr-run -n 64 m.apr | tee text'
printf '\n'
[ -s text ]
