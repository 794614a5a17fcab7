#!/usr/bin/env bash
# pipes.sh: compares whole commands that read, pass on, hash and write with cp, cat and
# openssl speed. The model has LLaMA's shape, 1.1 billion parameters in F16 (2.2 GB).
#
# PAIRS: runs of each, in turn (5). JOBS: threads of each (all CPUs). BENCH_DIR: the folder
# of the model and its copies, 7 GB; use a tmpfs, so that no disk is measured. A line shows
# medians, and the lowest and highest ratio of a pair: under other load, only ratios are
# reliable. The last number of a name is the maximum wanted, as a ratio or an amount.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
pairs=${PAIRS:-5} jobs=${JOBS:-$(nproc)}
export APR_LOG_LEVEL=error

exec 3>&2
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$gen/llama" 22 2048 5632 32000 4 >model.gguf
bytes=$(stat -c %s model.gguf)
gb=$(awk -v b="$bytes" 'BEGIN { print b / 1e9 }')
apr-keygen -W -o key >/dev/null

# Wall time of a command in seconds.
wall() {
  local TIMEFORMAT=%R
  { time "$@" >/dev/null 2>log || { cat log >&3; exit 1; }; } 2>&1
}

# CPU seconds per GB of a filter that gets FILE as a stream, without its neighbours.
cpu() {
  local TIMEFORMAT='%U %S' file=$1
  shift
  apr-unpack "$file" | { time "$@" 2>log || { cat log >&3; exit 1; }; } 2>took | cat >/dev/null
  awk -v gb="$gb" '{ print ($1 + $2) / gb }' took
}

# The same for hashing alone.
hashing() {
  local TIMEFORMAT=%U
  { time apr-sum -j "$jobs" "$1" >/dev/null; } 2>&1 | awk -v gb="$gb" '{ print $1 / gb }'
}

# The same for a filter that hashes, minus the cost of hashing.
beyond() {
  local all hash
  all=$(cpu "$@")
  hash=$(hashing "$1")
  awk -v a="$all" -v b="$hash" 'BEGIN { print a - b }'
}

# CPU seconds of a command.
both() {
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>log || { cat log >&3; exit 1; }; } 2>&1 | awk '{ print $1 + $2 }'
}

copy() { rm -f copy.gguf && cp model.gguf copy.gguf; }
repack() { rm -f copy.gguf && apr-unpack model.gguf | apr-pack -t gguf --no-sync -o copy.gguf; }
repack_apr2() { rm -f copy.apr && apr-unpack model.gguf | apr-pack --no-sync -o copy.apr; }
copy_pt() { rm -f copy.pt && cp pytorch_model.bin copy.pt; }
repack_pt() {
  rm -f copy.pt && apr-unpack pytorch_model.bin | apr-pack -t safetensors --no-sync -o copy.pt
}
adapt() { rm -f copy.gguf && apr-adapt gguf hf/ | apr-pack -t gguf --no-sync -o copy.gguf; }
adapt_pipe() {
  rm -f copy.gguf && apr-unpack hf/ | apr-adapt gguf | apr-pack -t gguf --no-sync -o copy.gguf
}
read_it() { cat model.gguf; }
headers() { for _ in 1 2 3 4 5 6 7 8 9 10; do apr-header model.gguf; done; }
through() { apr-unpack model.gguf | apr-sum -j "$jobs"; }

# Seconds to hash the model at the speed of openssl speed on all threads.
sha256() {
  openssl speed -seconds 1 -multi "$jobs" -evp sha256 -bytes 16384 2>/dev/null |
    awk -v bytes="$bytes" '/^sha256/ { sub(/k$/, "", $2); print bytes / ($2 * 1000) }'
}

column() {
  sort -n "$1" | awk '{ v[NR] = $1 } END { print v[1], v[int((NR + 1) / 2)], v[NR] }'
}

# NAME UNIT A B: the medians of A and B, and of A / B. B may be a number, the limit for A.
row() {
  local i a b low middle high
  : >a
  : >b
  : >ratio
  for ((i = 0; i <= pairs; i++)); do
    a=$($3)
    b=$4
    [[ $b == [0-9]* ]] || b=$($4)
    [ "$i" -gt 0 ] || continue # the first fills caches
    echo "$a" >>a
    echo "$b" >>b
    awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f\n", a / b }' >>ratio
  done
  read -r low middle high < <(column ratio)
  printf '%-36s %8.3f %8.3f %-6s %6.2f  (%s to %s)\n' "$1" \
    "$(column a | cut -d ' ' -f 2)" "$(column b | cut -d ' ' -f 2)" "$2" "$middle" "$low" "$high"
}

w_copy() { wall copy; }
w_repack() { wall repack; }
w_copy_pt() { wall copy_pt; }
w_repack_pt() { wall repack_pt; }
w_repack_apr2() { wall repack_apr2; }
w_adapt() { wall adapt; }
w_adapt_pipe() { wall adapt_pipe; }
w_read() { wall read_it; }
w_sum() { wall apr-sum -j "$jobs" model.gguf; }
w_through() { wall through; }
w_verify() { wall apr-verify -q -j "$jobs" key.pub signed.gguf; }
w_stats() { wall apr-stats -j "$jobs" model.gguf; }
# The same, and user and system time, of one thread.
w_one_stats() { wall apr-stats -j 1 model.gguf; }
w_one_check() { wall apr-check -j 1 model.gguf; }
c_one_stats() { both apr-stats -j 1 model.gguf; }
c_one_check() { both apr-check -j 1 model.gguf; }
# Tensors that all differ: each value is decoded.
diff_all() { apr-diff -q -j "$jobs" model.gguf other.gguf || [ $? = 1 ]; }
read_both() { cat model.gguf other.gguf; }
w_diff() { wall diff_all; }
w_read_both() { wall read_both; }
c_diff() { both diff_all; }
c_read_both() { both read_both; }
w_headers() { wall headers; }
c_pass() { cpu model.gguf apr-quant f16; }
c_sign() { beyond model.gguf apr-sign -j "$jobs" key; }
c_verify() { beyond signed.gguf apr-verify -j "$jobs" key.pub; }

printf '%-36s %8s %8s %-6s %6s  (%d threads, %d pairs, %s bytes)\n' this '' that '' ratio \
  "$jobs" "$pairs" "$bytes"
row 'unpack | pack -t gguf, cp, 2.5' s w_repack w_copy
rm -f copy.gguf
row 'unpack | pack, cp' s w_repack_apr2 w_copy
rm -f copy.gguf copy.apr
apr-adapt hf model.gguf | apr-pack -t safetensors --no-sync -o hf/
"$gen/torch_from" hf/model.safetensors . 0
row 'unpack .pt | pack, cp, 2' s w_repack_pt w_copy_pt
rm -f copy.pt pytorch_model.bin
row 'adapt folder | pack, cp, 1.5' s w_adapt w_copy
row 'unpack folder | adapt | pack, cp, 1.5' s w_adapt_pipe w_copy
rm -rf copy.gguf hf
row 'a filter that changes nothing, 0.4' s/GB c_pass 0.4
row 'apr-sign beyond hashing, 0.4' s/GB c_sign 0.4
row 'apr-header ten times, 0.1' s w_headers 0.1
row 'apr-sum, openssl speed, 1.25' s w_sum sha256
row 'unpack | apr-sum, openssl speed' s w_through sha256
row 'apr-stats, cat, 2' s w_stats w_read
row 'apr-check -j 1, apr-stats, 1.3' s w_one_check w_one_stats
row 'the same, CPU time, 1.3' s c_one_check c_one_stats
apr-unpack model.gguf | apr-quant q8_0 | apr-pack -t gguf --no-sync -o other.gguf
row 'apr-diff F16 Q8_0, cat both, 1.5' s w_diff w_read_both
row 'the same, CPU time' s c_diff c_read_both
rm other.gguf
apr-sign key model.gguf | apr-pack -t gguf --no-sync -o signed.gguf
rm model.gguf
row 'apr-verify beyond hashing, 0.4' s/GB c_verify 0.4
row 'apr-verify -q, openssl speed, 1.25' s w_verify sha256
