#!/usr/bin/env bash
# cross.sh ARCH FOLDER: puts Debian's development packages for another architecture into FOLDER,
# for "make arm64". Nothing is installed, and the lists of the system's apt do not change.
set -eu

arch=$1 folder=$2
packages=(libjansson-dev libsodium-dev libssl-dev libdeflate-dev zlib1g-dev libpcre2-dev liblz4-dev
  libzstd-dev libutf8proc-dev libmsgpack-dev libyaml-dev libexpat1-dev libcurl4-openssl-dev)

if [ -e "$folder/complete" ]; then
  exit 0
fi
echo "cross: fetching ${#packages[@]} packages for $arch from Debian"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs"
folder=$(cd "$folder" && pwd)
options=(-q -q -o "APT::Architectures::=$(dpkg --print-architecture)" -o "APT::Architectures::=$arch"
  -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache"
  -o Acquire::Languages=none -o APT::Sandbox::User=)
apt-get "${options[@]}" update
(cd "$folder/debs" && apt-get "${options[@]}" download "${packages[@]/%/:$arch}")
for deb in "$folder"/debs/*.deb; do
  dpkg-deb -x "$deb" "$folder"
done
rm -rf "$folder/apt" "$folder/debs"
: >"$folder/complete"
