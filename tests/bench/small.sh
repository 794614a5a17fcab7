#!/usr/bin/env bash
# small.sh: what each part of "make small" is worth: the bytes of the programs of apr-embed, stripped, one
# more part in each line, and the CPU time of a perplexity. It compiles everything five times, in
# build/small-N; arguments are passed on to make.
set -eu
cd "$(dirname "$0")/../.."

model=tests/data/shakespeare-BF16.gguf
TIMEFORMAT='%U %S'

# measure N NAME PARTS [MAKE-ARGUMENT...]: builds with these parts of SMALL.
measure() {
  local n=$1 name=$2 parts=$3 times=''
  shift 3
  make -s --no-print-directory "-j$(nproc)" MODE=small AR=gcc-ar "B=build/small-$n" "SMALL=$parts" "$@" \
    runtimes >&2
  for _ in 1 2 3 4 5; do
    times+=$({ time "build/small-$n/bin/apr-run.static" -t 1 --perplexity README.md "$model" >/dev/null 2>&1; } 2>&1)$'\n'
  done
  printf '%-28s %10d %10d %10s\n' "$name" "$(stat -c %s "build/small-$n/bin/apr-run.static")" \
    "$(stat -c %s "build/small-$n/bin/apr-predict.static")" \
    "$(awk 'NF { t = $1 + $2; if (!n++ || t < best) best = t } END { printf "%.2f s", best }' <<<"$times")"
}

printf '%-28s %10s %10s %10s\n' 'parts' apr-run apr-predict perplexity
measure 0 'none' '' "$@"
measure 1 '+ sections collected' "\$(SMALL_SECTIONS)" "$@"
measure 2 '+ -Os except kernels' "\$(SMALL_SECTIONS) \$(SMALL_SIZE)" "$@"
measure 3 '+ no tables to unwind' "\$(SMALL_SECTIONS) \$(SMALL_SIZE) \$(SMALL_UNWIND)" "$@"
measure 4 '+ optimized as a whole' "\$(SMALL_SECTIONS) \$(SMALL_SIZE) \$(SMALL_UNWIND) \$(SMALL_LTO)" "$@"
