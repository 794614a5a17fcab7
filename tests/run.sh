#!/usr/bin/env bash
# run.sh PROGRAM…: the given unit tests and every tests/*/*.bats, as many at a time as
# there are CPUs. Shows what failed and why something was skipped; the last line is
# "N passed, N failed, N skipped", and the exit status 0 if nothing failed.
# ONLY=WORD… runs the files whose names contain one of the words; a word with a slash
# is looked for in the whole path (ONLY=formats/).
set -u
cd "$(dirname "$0")/.." || exit 1
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
# What hangs is a failure. (bats stops a test, timeout whatever is left.)
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-600} logs

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

# One file's tests; its TAP and its exit status are kept.
run_one() {
  local name=${1##*/} began=$SECONDS command=("$1")
  [[ $1 != *.bats ]] || command=(bats --formatter tap "$1")
  { timeout 1800 "${command[@]}" >"$logs/$name.tap" 2>&1 </dev/null; } 2>/dev/null
  echo $? >"$logs/$name.status"
  printf '%-28s %4d s\n' "$name" $((SECONDS - began))
}
export -f run_one

# The long ones first, so that no CPU waits for a late one: those that are known to
# be, then by size.
list() {
  local file
  for file in tests/whole/{memory,tamper}.bats tests/formats/safetensors.bats \
    $(find tests -maxdepth 2 -name '*.bats' ! -name memory.bats ! -name tamper.bats \
      ! -name safetensors.bats -printf '%s %p\n' | sort -rn | cut -d' ' -f2) "$@"; do
    ! wanted "$file" || printf '%s\0' "$file"
  done
}

# shellcheck disable=SC2016 # the inner shell expands it
list "$@" | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'run_one "$1"' -

# TAP to "passed failed skipped"; a plan that was not kept is a failure.
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

passed=0 failed=0 skipped=0
for status in "$logs"/*.status; do
  [ -e "$status" ] || continue
  tap=${status%.status}.tap
  name=$(basename "$tap" .tap)
  read -r ok bad skip < <(count "$tap")
  if [ "$bad" -eq 0 ] && [ "$(cat "$status")" -ne 0 ]; then
    bad=1
  fi
  if [ "$bad" -ne 0 ]; then
    printf '\n%s: exit status %s\n' "$name" "$(cat "$status")"
    grep -Ev '^ok |^1\.\.' "$tap"
  fi
  sed -n 's/^ok [0-9]* -\{0,1\} *\(.*\)# [Ss][Kk][Ii][Pp] *\(.*\)/\1(\2)/p' "$tap" |
    sed "s/^/skipped: $name: /"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
