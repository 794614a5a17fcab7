#!/usr/bin/env bash
# run.sh FILE…: runs unit tests and .bats files, as many at a time as there are CPUs. It
# prints the time of each file as it ends, then why tests were skipped, then the names and
# the output of the tests that failed (at most 200 lines). The last line is
# "N passed, N failed, N skipped"; the exit status is 0 if nothing failed.
# ONLY=WORD… runs the files whose names contain one of the words; a word with a slash is
# searched in the whole path (ONLY=formats/). TAGS=LIST selects tests by bats' tags.
set -u
cd "$(dirname "$0")/.." || exit 1
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
export logs HANG=${HANG:-600}

wanted() {
  local word
  [ -n "${ONLY:-}" ] || return 0
  for word in $ONLY; do
    case $word in
    */*) [[ $1 != *"$word"* ]] || return 0 ;;
    *) [[ ${1##*/} != *"$word"* ]] || return 0 ;;
    esac
  done
  return 1
}

# Runs one file; keeps its TAP and its exit status. A file that adds no line to its TAP for
# $HANG seconds is stopped, and so is one that takes half an hour. (BATS_TEST_TIMEOUT is not
# used: if a test ends at once, its sleep may remain, and bats waits for that.)
run_one() {
  local name=${1##*/} began=$SECONDS command=("$1") pid nap
  [[ $1 != *.bats ]] || command=(bats --formatter tap ${TAGS:+--filter-tags "$TAGS"} "$1")
  timeout 1800 "${command[@]}" >"$logs/$name.tap" 2>&1 </dev/null &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    sleep $((HANG / 10 + 1)) &
    nap=$!
    wait -n $pid $nap
    kill $nap 2>/dev/null
    [ $(($(date +%s) - $(stat -c %Y "$logs/$name.tap"))) -lt "$HANG" ] || kill $pid
  done
  wait $pid
  echo $? >"$logs/$name.status"
  printf '%-28s %4d s\n' "$name" $((SECONDS - began))
} 2>/dev/null
export -f run_one

# Long files start first, so that no CPU waits for a late one at the end: those known to be
# long, then .bats files by size, then programs.
in_order() {
  local file long='fuzz|memory|tamper|safetensors|compression|tokenizers'
  for file in "$@"; do
    if [[ $file =~ /($long)\.bats$ ]]; then
      echo "9999999 $file"
    elif [[ $file == *.bats ]]; then
      echo "$(stat -c %s "$file") $file"
    else
      echo "0 $file"
    fi
  done | sort -s -rn -k 1,1 | cut -d' ' -f2-
}

list() {
  local file
  in_order "$@" | while IFS= read -r file; do
    ! wanted "$file" || printf '%s\0' "$file"
  done
}

# shellcheck disable=SC2016 # the inner shell expands it
list "$@" | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'run_one "$1"' -

# Turns TAP into "passed failed skipped"; a plan that was not fulfilled is a failure.
count() {
  awk '
    /^ok .*# [Ss][Kk][Ii][Pp]/ { skipped++; next }
    /^ok / { passed++; next }
    /^not ok / { failed++; next }
    /^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
    END {
      if (!planned || plan != passed + failed + skipped)
        failed++
      print passed + 0, failed + 0, skipped + 0
    }' "$1"
}

# first N FILE: prints its first N lines, and the number of further lines.
first() {
  local lines
  lines=$(wc -l <"$2")
  head -n "$1" "$2"
  [ "$lines" -le "$1" ] || echo "... and $((lines - $1)) more lines"
}

passed=0 failed=0 skipped=0
: >"$logs/names"
: >"$logs/output"
for status in "$logs"/*.status; do
  [ -e "$status" ] || continue
  tap=${status%.status}.tap
  name=$(basename "$tap" .tap)
  read -r ok bad skip < <(count "$tap")
  if [ "$bad" -eq 0 ] && [ "$(cat "$status")" -ne 0 ]; then
    bad=1
  fi
  if [ "$bad" -ne 0 ]; then
    printf 'failed: %s: exit status %s\n' "$name" "$(cat "$status")" >>"$logs/names"
    sed -n "s/^not ok [0-9]* -\{0,1\} */failed: $name: /p" "$tap" >>"$logs/names"
    grep -Ev '^ok |^1\.\.' "$tap" >"$logs/one"
    { echo "-- $name" && first 50 "$logs/one"; } >>"$logs/output"
  fi
  sed -n 's/^ok [0-9]* -\{0,1\} *\(.*\)# [Ss][Kk][Ii][Pp] *\(.*\)/\1(\2)/p' "$tap" |
    sed "s/^/skipped: $name: /"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
done

# .ci/run repeats the lines between "failed: " and the last line.
if [ -s "$logs/names" ]; then
  echo
  first 60 "$logs/names"
  first 138 "$logs/output"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
