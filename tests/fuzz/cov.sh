#!/bin/sh
# cov.sh FOLDER NAME…: shows the lines of the parsers that the committed corpora reach.
set -eu

here=$(dirname "$0")
folder=$1
shift
objects='' profiles=''
for name; do
  [ -d "$here/corpus/$name" ] || continue
  profile=$folder/$name.profraw
  LLVM_PROFILE_FILE=$profile "$folder/replay_$name" "$here/corpus/$name" >/dev/null
  profiles="$profiles $profile"
  objects="$objects${objects:+ -object }$folder/replay_$name"
done
# Words are split on purpose: no name contains a space.
# shellcheck disable=SC2086
llvm-profdata merge -sparse -o "$folder/all.profdata" $profiles
# shellcheck disable=SC2086
llvm-cov report $objects -instr-profile="$folder/all.profdata" |
  awk '$1 ~ /^lib\/(core\/(reader|json|spool|text)|model|stream|formats|codecs|crypto\/(keys|signature))/ {
    printf "%-28s %5d lines, %4d not reached: %s\n", $1, $8, $9, $10 }'
# shellcheck disable=SC2086
llvm-cov show $objects -instr-profile="$folder/all.profdata" -output-dir="$folder/lines" \
  -path-equivalence=.,"$PWD" >/dev/null
echo "lines with their counts: $folder/lines"
