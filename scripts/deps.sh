#!/usr/bin/env bash
# deps.sh [cross|wasm]: installs the packages for building and testing on Debian 12, all from Debian;
# with "cross" those of "make cortex", with "wasm" those of "make wasm" and its tests. If all of them
# are installed, nothing is downloaded.
set -eu

packages=(
  gcc libc6-dev make pkg-config
  libjansson-dev libsodium-dev libssl-dev libdeflate-dev zlib1g-dev libpcre2-dev
  liblz4-dev libzstd-dev libutf8proc-dev libmsgpack-dev libyaml-dev libexpat1-dev libcurl4-openssl-dev
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libnewlib-dev
  bats curl procps zsh lz4 zstd mandoc bsdextrautils bsdutils minisign age libbearssl-dev shellcheck clang libclang-rt-14-dev
)
if [ "${1-}" = cross ]; then
  packages=(gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)
elif [ "${1-}" = wasm ]; then
  # A compiler, the sources of libraries, what runs the module, and a browser.
  packages=(clang-19 lld-19 binaryen libclang-rt-19-dev-wasm32 wasi-libc libsimde-dev dpkg-dev patch bzip2 xz-utils nodejs chromium)
fi

has_all() {
  local p
  for p in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^.i' || return 1
  done
}

if has_all; then
  echo "deps: all ${#packages[@]} packages are installed"
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "deps: these packages are needed; as root: apt-get install ${packages[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# quiet COMMAND...: shows the output only if the command fails.
quiet() {
  "$@" >"$log" 2>&1 </dev/null || {
    echo "deps: failed: $*" >&2
    tail -n 40 "$log" >&2
    exit 1
  }
}

echo "deps: installing ${#packages[@]} packages from Debian; this takes some minutes"
quiet apt-get update -q
quiet apt-get install -q -y --no-install-recommends "${packages[@]}"
echo "deps: installed"
