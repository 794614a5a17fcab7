#!/usr/bin/env bash
# distill.sh [STEPS]: what a student of one layer reaches, as in apr-distill(1), and the tokens per second
# of CPU time of training.
#
# Reads $APR_TEST_DATA (../shared/data): text/tinyshakespeare.txt without its end, which is
# models/shakespeare/validation.txt. Prints a line for each student: the perplexity of that text, and
# the CPU time of the training in seconds.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
data=${APR_TEST_DATA:-$root/../shared/data}
model=$root/tests/data/shakespeare-BF16.gguf
valid=$data/models/shakespeare/validation.txt
steps=${1:-600}
[ -e "$valid" ] || {
  echo "no reference data: APR_TEST_DATA"
  exit 0
}

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export APR_LOG_LEVEL=error TIMEFORMAT='%U %S'
head -c -"$(wc -c <"$valid")" "$data/text/tinyshakespeare.txt" >train.txt

# train OPTION…: the student s.gguf; the seconds of CPU time are in the file seconds.
train() {
  { time apr-distill --data train.txt --held-out 0 "$@" -f -o s.gguf "$model" 2>log; } 2>seconds
}

# row NAME: of s.gguf.
row() {
  printf '%-36s %9s %9s\n' "$1" "$(apr-run --perplexity "$valid" -c 256 s.gguf 2>log |
    sed -n 's/^perplexity \([0-9.]*\).*/\1/p')" "$(awk '{ print $1 + $2 }' seconds)"
}

printf '%-36s %9s %9s\n' student perplexity seconds
echo 0 0 >seconds
cp "$model" s.gguf
row 'the teacher, 3 layers'
apr-prune --layers 1,2 "$model" | apr-pack -f -t gguf -o s.gguf
row 'layer 0 alone'
train --layers 1 --alpha 0 --steps "$steps"
row "trained alone, $steps steps"
train --layers 1 --steps "$steps"
row "with a teacher, $steps steps"
train --layers 1 --alpha 0.9 --steps "$steps"
row "with a teacher, alpha 0.9"

# The difference of two trainings: reading and writing are left out.
for n in 4 24; do
  train --layers 3 --alpha 0 --steps $n
  mv seconds "seconds$n"
done
awk '{ t[NR] = $1 + $2 } END { printf "3 layers: %.0f tokens per second of CPU time\n",
  20 * 2048 / (t[2] - t[1]) }' seconds4 seconds24
