#!/usr/bin/env bash
# Checks that includes point one way (ARCHITECTURE.md). A room of lib/ may include itself and
# the rooms after its name in the first table; bin/ may include any room. Only the files in
# the second table may include a library. Folders in a room are separate rooms to each other.
set -u
cd "$(dirname "$0")/.." || exit 1

rooms='
core
model core
wire core model
linear core
net core
hub core net crypto
stream core model wire
kernels core model
codecs core model wire
crypto core model
formats core model wire stream codecs
imports core model wire stream codecs formats predict
load core model formats arch lora quant tokenizer
arch core model
adapt core model wire arch kernels quant tokenizer
infer core model arch kernels
quant core model kernels
stats core model kernels
merge core model wire arch adapt kernels stats tokenizer
prune core model wire arch adapt kernels stats quant tokenizer merge linear
lowrank core model wire arch adapt kernels stats quant tokenizer merge linear
distill core model wire arch adapt kernels stats crypto quant load infer tokenizer generate merge prune train
tokenizer core model wire
check core model wire arch kernels stats crypto tokenizer
diff core model arch adapt kernels stats crypto tokenizer
lora core model arch kernels linear
train core model arch kernels
generate core model arch kernels quant infer tokenizer
quality core model kernels quant infer tokenizer generate crypto
api core model wire arch lora stream kernels codecs crypto formats load quant stats infer tokenizer generate check report stage predict
stage core model wire arch kernels crypto quant stats tokenizer check report
front core
bare core model kernels
predict core model wire kernels tokenizer
report core model wire arch kernels crypto quant stats infer tokenizer generate check diff quality
cli core model wire arch lora stream kernels crypto quant infer tokenizer generate check diff merge quality report stage net hub prune linear distill train
bin core model bare lowrank wire linear arch adapt lora stream kernels codecs crypto formats imports load quant stats infer tokenizer generate check diff merge quality report stage cli net hub front prune predict distill train
'
libraries='
jansson lib/core/json.h
pcre2 lib/core/pattern.c lib/core/wasm/pattern_tables.c
libdeflate lib/core/crc32.c
zlib lib/core/crc32.c lib/wire/zip.c lib/wire/hdf5_filter.c
lz4frame lib/codecs/lz4.c
lz4 lib/codecs/lz4_block.c
msgpack lib/formats/apr1/apr1_pack.c
zstd lib/codecs/zstd.c
zstd_errors lib/codecs/zstd.c
sodium lib/crypto/keys.c lib/crypto/secret.c lib/crypto/kdf.c lib/crypto/agree.c lib/crypto/portable/random.c
openssl lib/crypto/digest.c lib/crypto/aead.c lib/crypto/hkdf.c
bearssl lib/crypto/portable/digest.c lib/crypto/portable/aead.c lib/crypto/portable/hkdf.c
utf8proc lib/core/characters.c
yaml lib/wire/yaml.c
expat lib/wire/xml.c
curl lib/net/http.c
'

grep -H '^#[[:space:]]*include' lib/*/*.[ch] lib/*/*/*.[ch] bin/*.c |
awk -v rooms="$rooms" -v libraries="$libraries" '
function table(text, to,    line, word, n, i, k) {
  n = split(text, line, "\n")
  for (i = 1; i <= n; i++)
    if (split(line[i], word, " "))
      for (k = 1; k in word; k++)
        to[word[1], word[k]]
}
BEGIN {
  table(rooms, may)
  table(libraries, sits)
}
{
  file = substr($0, 1, index($0, ":") - 1)
  split(file, part, "/")
  room = part[1] == "bin" ? "bin" : part[2]
  name = $0
  sub(/^[^<"]*[<"]/, "", name)
  sub(/[>"].*/, "", name)
  split(name, dir, /[.\/]/)
  bad = 0
  if (!((room, room) in may)) {
    print "layers: " file ": " room " is no room" > "/dev/stderr"
    status = 1
  } else if ($0 ~ /"/) {
    bad = !((room, dir[1]) in may)
    # Headers that are installed side by side.
    if (name ~ /^aprml_?[a-z]*\.h$/)
      bad = file !~ /^lib\/api\/aprml_?[a-z]*\.h$/
    # A container may include the shared files, but no other container; the shared files
    # include no container.
    count = split(name, step, "/")
    if (room == "formats" && dir[1] == "formats" && count == 3)
      bad = part[3] != step[2]
  } else if ((dir[1], dir[1]) in sits) {
    bad = !((dir[1], file) in sits)
  }
  if (bad) {
    print "layers: " file " must not include " name > "/dev/stderr"
    status = 1
  }
}
END { exit status }'
status=$?

wrong() {
  echo "layers: $*" >&2
  status=1
}

# Prints the files outside lib/$1 that include it.
users() {
  grep -l "^#include \"$1\"" lib/*/*.[ch] lib/*/*/*.[ch] bin/*.c | grep -vx "lib/${1%.h}.c"
}

# lib/cli/ has code that at least two files need; code of one tool is in lib/cli/TOOL/.
for header in lib/cli/*.h; do
  [ "$(users "${header#lib/}" | wc -l)" -ge 2 ] || wrong "$header serves one file only"
done
for header in lib/cli/*/*.h; do
  folder=${header%/*}
  others=$(users "${header#lib/}" | grep -v -e "^$folder/" -e "^bin/apr-${folder##*/}\.c$")
  [ -z "$others" ] || wrong "$header serves more than one tool: ${others//$'\n'/ }"
done

# A report is bytes: it neither prints nor ends the process.
if grep -nE '\<(v?printf|puts|putchar|fputs|fputc|fwrite|_?exit)\(|\<std(out|err)\>' \
  lib/report/*.c >&2; then
  wrong "lib/report/ prints or exits"
fi
exit $status
