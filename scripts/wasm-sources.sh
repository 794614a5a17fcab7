#!/usr/bin/env bash
# Unpacks Debian's source packages of the libraries that the WebAssembly module contains:
# wasm-sources.sh FOLDER PACKAGE... Each becomes FOLDER/PACKAGE. apt checks the signatures; the
# list of sources is derived from the one of this machine, which stays as it is.
set -eu

folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
apt=$folder/.apt
mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"

# Sources of Debian alone, in both forms that apt reads.
for file in /etc/apt/sources.list.d/*.sources; do
  if grep -q 'debian-archive-keyring' "$file" 2>/dev/null; then
    sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
  fi
done
if [ -s /etc/apt/sources.list ]; then
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$apt/parts/list.list"
fi
options=(-q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
  -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# unpack PACKAGE: the newest version, or the one of the release if a mirror lacks that.
unpack() {
  local work=$folder/.work
  rm -rf "$work" "${folder:?}/$1"
  mkdir "$work"
  (cd "$work" && { apt-get "${options[@]}" source "$1" || apt-get "${options[@]}" source "$1/$codename"; }) >>"$apt/log" 2>&1 &&
    mv "$work/$1"-*/ "$folder/$1" && cp "$work"/*.dsc "$folder/$1/" && rm -rf "$work"
}

apt-get "${options[@]}" update >"$apt/log" 2>&1 || {
  tail -n 5 "$apt/log" >&2
  echo "wasm-sources: the lists of Debian's source packages cannot be had" >&2
  exit 1
}
for package in "$@"; do
  [ -e "$folder/$package" ] || unpack "$package" || {
    tail -n 5 "$apt/log" >&2
    echo "wasm-sources: the source package $package cannot be had" >&2
    exit 1
  }
done
