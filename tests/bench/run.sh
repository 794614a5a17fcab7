#!/usr/bin/env bash
# run.sh [TYPE…]: tokens per second of a prompt, and of decoding after it: ours, those of
# each peer in turn, and their ratios, on a model of LLaMA's shape with 1.1 billion
# parameters.
#
# APR_PEER_RUN: llama-bench programs, separated by spaces; without them, only our figures
# are shown. PAIRS: runs of each (3). JOBS: threads of each (all CPUs). PROMPT, COUNT: number
# of tokens (128 and 32). OPTIONS: additional options of apr-run (--repack). MODELS: a folder
# with TYPE.gguf of an earlier run; without it, the models are made.
#
# A line shows medians: our speed, then for each peer its speed and the ratio of ours to it.
# A ratio is the median over runs in turn. With several peers, the last ratio is to the
# faster peer of each run. "memory" is the fraction of memory bandwidth that decoding
# reaches, where each token reads all weights. Under other load, only ratios are reliable.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${APR_BIN:-$root/bin}:$PATH
gen=${APR_GEN:-$root/build/release/tests/gen}
pairs=${PAIRS:-3} jobs=${JOBS:-$(nproc)} prompt=${PROMPT:-128} count=${COUNT:-32}
types=("$@")
[ $# -gt 0 ] || types=(q4_k_m q8_0 q4_0 q6_k f16)

models=${MODELS:-}
folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
read -ra peers <<<"${APR_PEER_RUN:-}"
[ ${#peers[@]} -gt 0 ] || echo "no peer: set APR_PEER_RUN to one llama-bench or more"
for peer in "${peers[@]}"; do
  command -v "$peer" >log || { echo "run.sh: $peer is not a program" >&2; exit 3; }
done

# TYPE: the path of its model.
model() {
  if [ -n "$models" ]; then
    echo "$models/$1.gguf"
    return
  fi
  case $1 in
  iq[123]*) # apr-quant does not write these
    [ -e "$1.gguf" ] || "$gen/llama" 22 2048 5632 32000 4 "${1^^}" >"$1.gguf"
    echo "$folder/$1.gguf"
    return
    ;;
  esac
  [ -e f16.gguf ] || "$gen/llama" 22 2048 5632 32000 4 >f16.gguf
  [ -e "$1.gguf" ] ||
    apr-quant -j "$jobs" --fallback warn "$1" f16.gguf | apr-pack -t gguf --no-sync -o "$1.gguf"
  echo "$folder/$1.gguf"
}

# FILE: "prompt decode fraction".
ours() {
  # shellcheck disable=SC2086 # options are words
  APR_LOG_LEVEL=error apr-run ${OPTIONS:-} --bench --bench-prompt "$prompt" -n "$count" -t "$jobs" \
    --json "$1" |
    sed 's/.*"prompt_rate": *\([0-9.]*\).*"decode_rate": *\([0-9.]*\).*"read_fraction": *\([0-9.]*\).*/\1 \2 \3/'
}

# PEER FILE: "prompt decode".
theirs() {
  "$1" -m "$2" -p "$prompt" -n "$count" -t "$jobs" -r 1 -o json 2>log |
    sed -n 's/.*"avg_ts": *\([0-9.]*\).*/\1/p' | paste -sd' '
}

# COLUMN FILE
median() {
  awk -v c="$1" '{ print $c }' "$2" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# PHASE COLUMN: our median, then the median of each peer and the ratio to it, then the ratio
# to the faster one. Run k is line k of "ours" and of peer.0, peer.1 and so on.
phase() {
  local k lines
  printf '%-8s %-7s %9.1f' "$type" "$1" "$(median "$2" ours)"
  lines=(ours)
  for k in "${!peers[@]}"; do
    paste -d' ' ours "peer.$k" | awk -v c="$2" '{ print $c / $(3 + c) }' >ratio
    printf ' %9.1f %6.2f' "$(median "$2" "peer.$k")" "$(median 1 ratio)"
    lines+=("peer.$k")
  done
  if [ ${#peers[@]} -gt 1 ]; then
    paste -d' ' "${lines[@]}" | awk -v c="$2" '{ most = 0
      for (i = 3 + c; i <= NF; i += 2) most = $i > most ? $i : most
      print $c / most }' >ratio
    printf ' %6.2f' "$(median 1 ratio)"
  fi
}

printf '%-8s %-7s %9s' type phase ours
for k in "${!peers[@]}"; do
  printf ' %9s %6s' "peer $((k + 1))" ratio
done
[ ${#peers[@]} -le 1 ] || printf ' %6s' better
printf ' %7s  (prompt %d, %d after it, %d threads, %d runs)\n' memory "$prompt" "$count" "$jobs" "$pairs"
for k in "${!peers[@]}"; do
  echo "peer $((k + 1)): ${peers[k]}"
done
for type in "${types[@]}"; do
  file=$(model "$type")
  rm -f ours peer.*
  for ((i = 0; i <= pairs; i++)); do
    ours "$file" >run.ours
    for k in "${!peers[@]}"; do
      theirs "${peers[k]}" "$file" >"run.peer.$k"
    done
    [ "$i" -gt 0 ] || continue # the first fills caches
    for result in run.*; do
      cat "$result" >>"${result#run.}"
    done
  done
  phase prompt 1
  echo
  phase decode 2
  printf ' %6.0f%%\n' "$(median 3 ours | awk '{ print $1 * 100 }')"
  [ -n "$models" ] || [ "$type" = f16 ] || rm -f "$file"
done
