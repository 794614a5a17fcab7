#!/bin/sh
# run.sh FOLDER RUNS NAME…: fuzzes each target RUNS times, one after another, from its
# committed corpus. New inputs are stored in build/corpus/NAME and used again; a finding is
# stored in build/findings and ends the run.
set -eu

here=$(dirname "$0")
folder=$1 runs=$2
shift 2

# The maximum length of an input: each kind of case fits into it.
max_len() {
  case $1 in
  keys) echo 4200 ;;
  signature | value) echo 2048 ;;
  plan) echo 8192 ;;
  *) echo 32768 ;;
  esac
}

dictionary() {
  case $1 in
  apr2 | plan) echo stream ;;
  *) echo "$1" ;;
  esac
}

export ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=0:${ASAN_OPTIONS:-}"
mkdir -p build/findings
for name; do
  mkdir -p "build/corpus/$name" "$here/corpus/$name"
  set -- -runs="$runs" -max_len="$(max_len "$name")" -timeout=10 \
    -rss_limit_mb=512 -malloc_limit_mb=8 -print_final_stats=1 \
    -artifact_prefix="build/findings/$name-"
  dict=$here/$(dictionary "$name").dict
  [ ! -e "$dict" ] || set -- "$@" -dict="$dict"
  echo "$name:"
  "$folder/fuzz_$name" "$@" "build/corpus/$name" "$here/corpus/$name" \
    2>"build/findings/$name.log" || {
    tail -n 40 "build/findings/$name.log"
    exit 1
  }
  grep -E '^#[0-9]+.(INITED|DONE)|number_of_executed|peak_rss' "build/findings/$name.log"
done
