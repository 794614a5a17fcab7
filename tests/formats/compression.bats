# apr-pack -z: smaller files, the same models.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

no_limits() {
	! grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-pack" ||
		skip 'a sanitizer has memory of its own'
}

# Into APR2 and back: the same file. $1: METHOD, $2: GGUF file.
there_and_back() {
	APR_LOG_LEVEL=error apr-pack -f -z "$1" -o z.apr "$2"
	apr-pack -t gguf z.apr | cmp - "$2" || fail "$1 $2"
	cat z.apr | apr-unpack | apr-pack -t gguf | cmp - "$2" || fail "$1 $2, by pipes"
}

@test "-z: a small model comes back by every method, and is smaller" {
	local method
	for method in lz4 zstd zstd:1 zstd:6 zstd:12 zstd:15 zstd:16 zstd:19; do
		there_and_back $method "$model"
		[ "$(wc -c <z.apr)" -lt "$(wc -c <"$model")" ]
		[ $method = lz4 ] || [ "$(($(wc -c <z.apr) * 10))" -lt "$(($(wc -c <"$model") * 8))" ]
	done
}

# bats test_tags=repeats
@test "-z: every reference GGUF file comes back" {
	local f n=0
	need_data
	while IFS= read -r f; do
		there_and_back lz4 "$f"
		there_and_back zstd "$f"
		n=$((n + 1))
	done < <(find "$APR_TEST_DATA" -name '*.gguf')
	[ $n -gt 30 ]
	for f in "$APR_TEST_DATA"/models/stories260K/*.gguf; do
		there_and_back zstd:19 "$f"
	done
}

@test "-z: the same bytes into a file, standard output and a pipe" {
	local method
	for method in lz4 zstd; do
		apr-pack -f -z $method -o named "$model"
		apr-pack -z $method "$model" >plain
		cmp named plain
		apr-pack -z $method "$model" | cmp - named
		apr-unpack "$model" | apr-pack -z $method | cat | cmp - named
		printf 'mine' >longer
		apr-pack -z $method "$model" >>longer
		tail -c +5 longer | cmp - named
		# Packed again, plain in between or not.
		apr-pack -z $method named | cmp - named
		apr-pack named | apr-unpack | apr-pack -z $method | cmp - named
		apr-pack named | cmp - <(apr-pack "$model")
		rm plain
	done
}

@test "-z to a pipe waits in TMPDIR, and leaves nothing there" {
	mkdir wait
	TMPDIR=$PWD/wait apr-pack -z zstd "$model" | apr-unpack >/dev/null
	[ -z "$(ls -A wait)" ]
	try_pipe "TMPDIR=$PWD/nowhere apr-pack -z zstd '$model' | cat"
	said 3 'nowhere: a spool file cannot be created'
	# A file needs none.
	TMPDIR=$PWD/nowhere apr-pack -z zstd -o made "$model"
}

@test "-z: a signature holds, whatever the compression" {
	local method
	apr-keygen -W -o key >key.id
	apr-sign key "$model" >signed 2>said
	for method in lz4 zstd zstd:19; do
		APR_LOG_LEVEL=error apr-pack -f -z $method -o z.apr <signed
		apr-verify key.pub z.apr | apr-pack -z zstd | apr-unpack | cmp - signed
		apr-unpack z.apr | apr-verify key.pub | apr-pack -f -t gguf -o back.gguf
		apr-verify key.pub back.gguf | apr-pack -f -z lz4 -o again.apr
		apr-verify key.pub again.apr | cmp - signed
	done 2>>said
	# Content that changes does not keep it.
	apr-quant --pure q8_0 z.apr 2>>said | apr-pack -z zstd -o other.apr
	try apr-verify key.pub other.apr
	said 1
}

# bats test_tags=repeats
@test "-z: one byte changed, none passes" {
	local size n
	apr-pack -z zstd -o z.apr "$model"
	size=$(wc -c <z.apr)
	for ((n = 8; n < size; n += 90007)); do
		cp z.apr bad
		printf "\\x$(printf %x $(($(od -An -tu1 -j $n -N 1 z.apr) ^ 16)))" |
			dd of=bad bs=1 seek=$n conv=notrunc status=none
		try apr-unpack -o out bad
		said 4
		[ ! -e out ]
	done
}

# bats test_tags=repeats
@test "-z: cut short, none passes" {
	local size n
	apr-pack -z zstd -o z.apr "$model"
	size=$(wc -c <z.apr)
	for ((n = 0; n < size; n += 90007)); do
		head -c $n z.apr >cut
		try apr-unpack -o out cut
		said 4
		try apr-unpack -o out < <(cat cut)
		said 4
		[ ! -e out ]
	done
}

@test "-z: what does not get shorter is stored as it is, and that is told" {
	head -c 3000000 /dev/urandom | lz4 -q | apr2_wrap 1 3000000 >in.apr
	try apr-pack -z zstd -o noise.apr in.apr
	said 0 'no tensor gets shorter by zstd: all are stored as they are'
	apr-pack in.apr | cmp - noise.apr
	[ "$(apr-header --json noise.apr | grep -c COMPRESSED)" -eq 0 ]
}

@test "-z: apr-pack passes the exam with it" {
	exam sink apr-pack -z zstd
}

@test "-z: usage" {
	try apr-pack -z lz4 -t gguf "$model"
	said 2 'gguf has no compression'
	try apr-pack -z gzip "$model"
	said 2 'no compression gzip; there are lz4 and zstd'
	try apr-pack -z lz4:1 "$model"
	said 2 'lz4 has no levels'
	try apr-pack -z zstd:20 "$model"
	said 2 'zstd has levels from 1 to 19, not 20'
	try apr-pack -z "$(printf 'zstd:\033[31m')" "$model"
	said 2 'not \x1b[31m'
	[ ! -s "$out" ]
	try apr-unpack --max-memory 12 "$model"
	said 2 '--max-memory needs 1024 to'
	try apr-unpack --max-memory 1q "$model"
	said 2 'such as 2G, 2GiB or 2GB, not 1q'
	try apr-unpack --max-memory 20000000T "$model"
	said 2
}

@test "-z: apr-header tells it" {
	apr-pack -z zstd -o z.apr "$model"
	apr-header z.apr | grep -x 'flags  *COMPRESSED ALIGNED_64 STREAMING GGUF_SRC'
	apr-header z.apr | grep -x 'compression  *zstd 30'
	apr-header -l z.apr | awk '$6 != "zstd" || $7 >= $5 { exit 1 }'
	apr-header -l --json z.apr | head -n 1 |
		grep -q '"bytes":524288,"stored_bytes":[0-9]*,"compression":"zstd"}$'
	# A plain file does not mention compression.
	apr-pack -o plain.apr "$model"
	run ! grep -q compress <(apr-header --json plain.apr; apr-header -l --json plain.apr)
}

# ---- frames of other programs ----

wrapped() {
	apr2_wrap "$1" "$(wc -c <plain)" >z.apr
	[ "$(apr-sum --sha256 z.apr | cut -d ' ' -f 1)" = "$(sha256sum <plain | cut -d ' ' -f 1)" ]
}

@test "-z: frames that zstd and lz4 made are read, with their own blocks and checksums" {
	{ cat "$model"; head -c 3000000 /dev/zero; cat "$model"; } >plain
	zstd -q -c plain | wrapped 2
	zstd -q -19 --long=24 -c <plain | wrapped 2
	zstd -q -1 --no-check -c <plain | wrapped 2
	zstd -q --fast=5 -c plain | wrapped 2
	lz4 -q -c plain | wrapped 1
	lz4 -q -9 -B7 -BD --content-size -c plain | wrapped 1
	lz4 -q -B4 -BX -c plain | wrapped 1
	lz4 -q --no-frame-crc -c <plain | wrapped 1
}

@test "-z: a wrong checksum in a frame is E004" {
	cp "$model" plain
	zstd -q --check -c plain >f
	printf 'xxxx' | dd of=f bs=1 seek=$(($(wc -c <f) - 4)) conv=notrunc status=none
	apr2_wrap 2 "$(wc -c <plain)" <f >z.apr
	try apr-unpack z.apr
	said 4 't: its zstd frame is damaged'
	grep -q '(E004)' "$err"
	lz4 -q -c plain >f
	printf 'xxxx' | dd of=f bs=1 seek=$(($(wc -c <f) - 4)) conv=notrunc status=none
	apr2_wrap 1 "$(wc -c <plain)" <f >z.apr
	try apr-unpack z.apr
	said 4 't: its lz4 frame is damaged'
	grep -q '(E004)' "$err"
}

@test "-z: a window that is too wide is refused, unless it is allowed" {
	no_limits
	head -c 1000000 "$model" >plain
	zstd -q -19 --long=26 -c <plain >f
	apr2_wrap 2 1000000 <f >z.apr
	limit_memory 65536
	try apr-unpack z.apr
	said 1 't: its zstd frame needs a window of 64.0 MiB, over the limit of 32.0 MiB (E008)'
	grep -qx 'hint: apr-unpack --max-memory raises it' "$err"
	try apr-sum z.apr
	said 1 'needs a window of 64.0 MiB'
	limit=
	apr-unpack --max-memory 64M z.apr | apr-sum --sha256 | cut -d ' ' -f 1 |
		grep -qxf - <(sha256sum <plain | cut -d ' ' -f 1)
	try apr-unpack --max-memory 67108863 z.apr
	said 1 'needs a window of 64.0 MiB'
}

@test "-z: bombs end at the size that was announced" {
	head -c 200000000 /dev/zero >zeros
	for n in 1 1000 199999999; do
		zstd -q -19 -c <zeros | apr2_wrap 2 $n >z.apr
		try apr-unpack -o out z.apr
		[ "$status" -eq 4 ]
		said 4 "t: its zstd frame holds more than $n bytes (E002)"
		lz4 -q -c <zeros | apr2_wrap 1 $n >z.apr
		try apr-unpack -o out z.apr
		said 4 "t: its lz4 frame holds more than $n bytes (E002)"
		[ ! -e out ]
	done
	# Announced larger than the frame's bytes can become: not one is read.
	zstd -q -c <zeros | apr2_wrap 2 999999999999 >z.apr
	try apr-header z.apr
	said 4 'bytes of zstd cannot stand for 999999999999'
	# And larger than they do become.
	zstd -q -c <zeros | apr2_wrap 2 200000001 >z.apr
	try apr-unpack -o out z.apr
	said 4 't: its zstd frame holds 200000000 bytes, not 200000001 (E002)'
	# A valid file is read, however high its ratio.
	zstd -q -c <zeros | apr2_wrap 2 200000000 >z.apr
	[ "$(wc -c <z.apr)" -lt 50000 ]
	[ "$(apr-unpack z.apr | wc -c)" -gt 200000000 ]
}

# ---- what it costs ----

@test "-z: only the tools that read and write files link a codec" {
	local tool
	for tool in apr-quant apr-sign apr-verify apr-keygen apr-sum; do
		run ! grep -qE 'liblz4|libzstd' <(ldd "$APR_BIN/$tool")
	done
	for tool in apr-pack apr-unpack; do
		[ "$(ldd "$APR_BIN/$tool" | grep -cE 'liblz4|libzstd')" -eq 2 ]
	done
}

within() {
	[ "$(cat "$1")" -le 65536 ] || fail "$1: $(cat "$1") KiB"
	echo "# $1 $(($(cat "$1") / 1024)) MiB" >&3
}

# bats test_tags=repeats
@test "-z: 500 MB in less than 64 MiB of memory" {
	local method
	no_limits
	[ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -gt 2000000 ] ||
		skip 'less than 2 GB of disk are free'
	[ "$(stat -f -c %T /var/tmp)" != tmpfs ] || skip '/var/tmp is memory, not disk'
	llama 4 2048 5632 16000 >m.gguf
	[ "$(wc -c <m.gguf)" -gt 500000000 ]
	for method in lz4 zstd zstd:14; do
		export APR_LOG_LEVEL=error
		pipe "apr-unpack m.gguf | peak pack-$method apr-pack -z $method | cat >z.apr"
		pipe "peak unpack-$method apr-unpack z.apr | apr-pack -t gguf | cmp - m.gguf"
		within pack-$method
		within unpack-$method
	done
	# The slowest, on enough to fill its window.
	llama 1 512 1408 4000 >m.gguf
	pipe "apr-unpack m.gguf | peak pack-zstd:19 apr-pack -f -z zstd:19 -o z.apr"
	pipe "peak unpack-zstd:19 apr-unpack z.apr | apr-pack -t gguf | cmp - m.gguf"
	within pack-zstd:19
	within unpack-zstd:19
}
