#!/usr/bin/env bash
# seal.sh: compares the sealing kernel with openssl speed of the same cipher, and a pipe
# with apr-encrypt or apr-decrypt with the same pipe without it, in turn, on a model of
# SEAL_MB MB (1000).
#
# PAIRS: runs of each (5). BENCH_DIR: the folder for the files (a temporary one). A line
# shows the median, and the lowest and highest ratio of a pair.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
pairs=${PAIRS:-5} mb=${SEAL_MB:-1000}
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
me=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj

median() {
  sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

report() {
  printf '%-44s %8s %8s %7s  (%s to %s)\n' "$1" "$(median <a)" "$(median <b)" \
    "$(median <ratio)" "$(sort -n ratio | head -n 1)" "$(sort -n ratio | tail -n 1)"
}

# pairs_of LABEL A B: each is a function that prints a number; the ratio is A / B.
pairs_of() {
  local i a b
  : >a
  : >b
  : >ratio
  for ((i = 0; i < pairs; i++)); do
    a=$("$2")
    b=$("$3")
    echo "$a" >>a
    echo "$b" >>b
    awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f\n", a / b }' >>ratio
  done
  report "$1"
}

# GB per second of CPU time.
kernel() {
  "${APR_BENCH:-$root/build/release/tests/bench}/seal"
}

openssl_speed() {
  openssl speed -seconds 1 -bytes 1048576 -evp aes-256-gcm 2>/dev/null |
    awk '/^AES-256-GCM/ { sub("k", "", $2); printf "%.2f\n", $2 * 1000 / 1e9 }'
}

seconds() {
  local TIMEFORMAT=%R
  { time "$@" >/dev/null 2>&1; } 2>&1
}

plain_pipe() {
  apr-unpack model.gguf | apr-pack --no-sync -f -o out.apr
}

sealed_pipe() {
  apr-unpack model.gguf | apr-encrypt -r $me | apr-pack --no-sync -f -o out.apr
}

opened_pipe() {
  apr-unpack sealed.apr | apr-decrypt -i me.key | apr-pack --no-sync -f -o out.apr
}

without() { seconds plain_pipe; }
with_encrypt() { seconds sealed_pipe; }
with_decrypt() { seconds opened_pipe; }

echo AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX >me.key
for ((i = 0; i < mb / 100; i++)); do
  echo "tensor blk.$i.weight I8 100x1000000 ramp"
done | "${APR_GEN:-$root/build/release/tests/gen}/mkmodel" >model.gguf

printf '%-44s %8s %8s %7s  (%d pairs)\n' what a b a/b "$pairs"
pairs_of 'sealing, GB/s: ours (a), openssl speed (b)' kernel openssl_speed
pairs_of "$mb MB, s: with apr-encrypt (a), without (b)" with_encrypt without
apr-encrypt -r $me model.gguf | apr-pack --no-sync -o sealed.apr
pairs_of "$mb MB, s: with apr-decrypt (a), without (b)" with_decrypt without
