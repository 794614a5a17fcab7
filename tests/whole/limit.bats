# APR_RAM_LIMIT: exceeding the limit fails like any other lack of memory.
load ../helper

setup_file() {
	# An address sanitizer reserves more than any limit before main.
	! grep -q __asan_init "$APR_BIN/apr-unpack" ||
		export WHY='a sanitizer has memory of its own'
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	set +T # each command of a loop would be traced
}

made() {
	[ ! -e many.gguf ] || return 0
	# 46 000 tensors, as of a large mixture of experts that is not merged.
	seq -f 'tensor blk.%05g.ffn_gate_exps.0.weight F32 2x2 ramp' 46000 |
		mkmodel >many.gguf
	# A vocabulary.
	printf 'key tokens array:string *150000\ntensor t F32 2x32 ramp\n' | mkmodel >words.gguf
	for name in many words; do
		apr-unpack $name.gguf >$name.aprs
		apr-pack -o $name.apr2 $name.aprs
		apr-pack -t safetensors -o $name.safetensors $name.aprs
		apr-pack -t apr2-64 -o $name.apr2-64 $name.aprs
	done
	cp "$model" small.gguf
	apr-unpack small.gguf >small.aprs
	apr-keygen -W -o key >/dev/null
	apr-sign key small.aprs >signed.aprs
}

# The command fails for want of memory, in one way, and leaves nothing.
starves() {
	rm -rf made
	try env APR_RAM_LIMIT="$1" bash -c "$2" </dev/null
	said 1 '(E008)' || fail "$1: $2" || return
	grep -qx "hint: APR_RAM_LIMIT is $1" "$err" || fail "$1: $2" "$(cat "$err")" || return
	[ ! -e made ] || fail "$1: $2: a file is left"
}

feeds() {
	rm -rf made
	try env APR_RAM_LIMIT="$1" bash -c "$2" </dev/null
	quiet || fail "$1: $2"
}

@test "46 000 tensors: E008 under a small limit, success under a larger one" {
	[ -z "${WHY:-}" ] || skip "$WHY"
	made
	for command in 'apr-header many.gguf' 'apr-header many.apr2' \
		'apr-header many.safetensors' 'apr-header many.apr2-64' 'apr-unpack many.gguf' 'apr-unpack -o made many.apr2' \
		'apr-unpack many.safetensors' 'apr-pack -o made <many.aprs' \
		'apr-pack -t apr2-64 -o made <many.aprs' 'apr-pack -t gguf -o made many.aprs' 'apr-pack -t safetensors -o made/ <many.aprs' \
		'apr-quant bf16 -o made <many.aprs' 'apr-sum <many.aprs' \
		'apr-stats <many.aprs' 'apr-sign key -o made <many.aprs' \
		"apr-get blk.00001.ffn_gate_exps.0.weight -o made many.aprs"; do
		starves 8M "$command"
		feeds 192M "$command"
	done
}

@test "a large vocabulary: E008 under a small limit, success under a larger one" {
	[ -z "${WHY:-}" ] || skip "$WHY"
	made
	for command in 'apr-unpack words.gguf' 'apr-pack -t gguf -o made <words.aprs' \
		'apr-pack -t safetensors -o made <words.aprs' 'apr-sum words.safetensors'; do
		starves 1M "$command"
		feeds 64M "$command"
	done
}

# Wherever memory runs out, the answer is the same: from limits that hardly let a
# program begin to one under which it does its work.
sweep() {
	local n
	for n in 1 200K 600K 1M 1400K 1800K 2200K 2600K 3M 3400K 3800K 4200K 5M 6M 8M 10M 12M \
		14M; do
		rm -rf made
		try env APR_RAM_LIMIT=$n bash -c "$1" </dev/null
		[ "$status" -ne 0 ] || return 0
		said 1 '(E008)' || fail "$n: $1" || return
		grep -qx "hint: APR_RAM_LIMIT is $n" "$err" || fail "$n: $1" || return
		[ ! -e made ] || fail "$n: $1: a file is left" || return
	done
	feeds 64M "$1"
}

@test "at any limit a tool does its work or says that memory ran out (CHECK-099)" {
	[ -z "${WHY:-}" ] || skip "$WHY"
	made
	sweep 'apr-header small.gguf'
	sweep 'apr-unpack -o made small.gguf'
	sweep 'apr-pack -o made small.gguf'
	sweep 'apr-pack -t gguf -o made <small.aprs'
	sweep 'apr-pack -t safetensors -o made/ <small.aprs'
	sweep 'apr-pack -z zstd:19 -o made <small.aprs'
	sweep 'apr-quant -j 64 q4_k_m -o made <small.aprs'
	sweep 'apr-sign key -o made <small.aprs'
	sweep 'apr-verify key.pub -o made <signed.aprs'
	sweep 'apr-sum -j 64 <small.aprs'
	sweep 'apr-stats -j 64 <small.aprs'
	sweep 'apr-get output_norm.weight -o made <small.aprs'
}

@test "a limit that is not a number of bytes is wrong usage, in every tool" {
	for tool in "$root"/bin/apr-*.c; do
		tool=$(basename -s .c "$tool")
		for n in 0 x 64X 1.5G -1 ' ' 18446744073709551616; do
			try env APR_RAM_LIMIT="$n" "$tool" </dev/null
			said 2 'APR_RAM_LIMIT is '
		done
		try env APR_RAM_LIMIT=x "$tool" --help
		quiet
	done
	try env APR_RAM_LIMIT= apr-header "$model"
	quiet
	[ -n "${WHY:-}" ] || feeds 8G "apr-header '$model'"
}
