# Chains of containers: whatever the way, every tensor, typed key and side file arrives,
# the signature holds, and a container that is reached again is the same file again.
load ../helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$APR_BIN:$APR_GEN:$PATH
	vectors gguf_good vectors
	vectors stream_good streams
	export APR_LOG_LEVEL=error
	apr-keygen -W -o key >/dev/null
	everything >everything.gguf
}

setup() {
	shared=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	set +T # each command of a loop would be traced
	containers=(gguf apr2 safetensors lz4 zstd apr2-64 apr1)
}

# Every value type, long and short; scalars, empty tensors, types with no name;
# side files of odd names.
everything() {
	mkmodel <<-'END'
		key general.architecture string llama
		key general.alignment u32 64
		key u8 u8 255
		key i8 i8 -128
		key u16 u16 65535
		key i16 i16 -32768
		key u32 u32 4294967295
		key i32 i32 -2147483648
		key u64 u64 18446744073709551615
		key i64 i64 -9223372036854775808
		key f32 f32 -0
		key f32.least f32 1.4e-45
		key f32.nan f32 nan
		key f64 f64 1.7976931348623157e308
		key f64.inf f64 -inf
		key no bool 0
		key yes bool 1
		key empty string
		key text string quotes " and \\ and \x09 and \xc3\xa9, \xf0\x9f\x90\xa6
		key zero string a\x00b
		key not.utf8 string \xff\xfe
		key array.u8 array:u8 0 128 255
		key array.i8 array:i8 -1
		key array.u16 array:u16 1 2
		key array.i16 array:i16 -3
		key array.u32 array:u32 *1024
		key array.u32.long array:u32 *1025
		key array.i32 array:i32 -5
		key array.u64 array:u64 18446744073709551615 0
		key array.i64 array:i64 -1 9007199254740993
		key array.f32 array:f32 0.1 inf nan
		key array.f64 array:f64 0.1 -0
		key array.bool array:bool 1 0
		key array.string array:string a \s \xc3\xa9 b\x00c
		key array.string.long array:string *20000
		key array.none array:u16
		key \xe9\x94\xae\swith\sblanks string value
		tensor token_embd.weight BF16 8x256 noise
		tensor scalar F32 - values 1.5
		tensor empty F32 0x4 hole
		tensor empty.inner F32 4x0 hole
		tensor unknown 60:96 3x7 ramp
		tensor q4_0 Q4_0 2x64 noise
		tensor q6_k Q6_K 1x256 noise
		tensor q8_0 Q8_0 1x1x2x32 noise
		tensor f64 F64 3 ramp
		tensor i8 I8 5 ramp
		tensor i32 I32 2x2x2 ramp
		tensor \xc3\xa9\s"quoted" F32 7 ramp
		key apr.blob.tokenizer.json array:u8 *3000
		key apr.type.tokenizer.json string application/json
		key apr.blob.a/b\sc array:u8
		key apr.type.a/b\sc string text/plain
		key apr.blob..hidden array:u8 1
		key apr.type..hidden string
		key apr.blob.\xc3\xa9"\x0a array:u8 2 3
		key apr.type.\xc3\xa9"\x0a string x
		key apr.licence array:u8 77 73 84
	END
}

# pack CONTAINER FILE TO
pack() {
	case $1 in
	lz4 | zstd) apr-pack -f -z "$1" -o "$3" "$2" ;;
	*) apr-pack -f -t "$1" -o "$3" "$2" ;;
	esac
}

# Prints the model's typed keys as text, in addition to the digests.
metadata() {
	apr-header --json "$1" | grep -o '"metadata":.*'
}

# step CONTAINER FILE TO: FILE becomes TO, and nothing is lost.
step() {
	pack "$1" "$2" "$3" || fail "$1: cannot be written" || return
	apr-sum "$3" >sum && cmp sum sum.first || fail "$1: other content" || return
	metadata "$3" >metadata && cmp metadata metadata.first ||
		fail "$1: other metadata" || return
	[ ! -e signed ] || apr-verify -q "$shared/key.pub" "$3" ||
		fail "$1: the signature is lost" || return
	[ -e "seen.$1" ] || cp "$3" "seen.$1"
	cmp "$3" "seen.$1" || fail "$1: another file than the first time"
}

# follow FILE CONTAINER…: from FILE through all of these.
follow() {
	local now=$1 next way=start container
	shift
	for container; do
		way+=" $container"
		next=at.$container
		[ "$next" != "$now" ] || next=at.$container.again
		step "$container" "$now" "$next" || fail "$way" || return
		now=$next
	done
}

# Every container followed by every container, itself too, in one chain.
every_pair() {
	local i j
	for ((i = 0; i < ${#containers[@]}; i++)); do
		echo "${containers[i]}"
		for ((j = i + 1; j < ${#containers[@]}; j++)); do
			printf '%s\n' "${containers[i]}" "${containers[j]}"
		done
	done
	echo "${containers[0]}"
}

begin() {
	rm -f seen.* at.* signed
	apr-sum "$1" >sum.first
	metadata "$1" >metadata.first
}

@test "a model of everything, signed, through every pair of containers" {
	local way
	apr-sign "$shared/key" "$shared/everything.gguf" | apr-pack -t gguf -o signed.gguf
	begin signed.gguf
	touch signed
	mapfile -t way < <(every_pair)
	[ ${#way[@]} -eq 50 ]
	follow signed.gguf "${way[@]}"
	cmp seen.gguf signed.gguf
	# By another witness than ours, from one end of the way to the other.
	cmp <(apr-unpack seen.zstd | digests) <(apr-unpack "$shared/everything.gguf" | digests)
}

# bats test_tags=repeats
@test "a stream of everything, and what GGUF's vectors hold" {
	local name way
	mapfile -t way < <(every_pair)
	for name in streams/stream_every_value_type vectors/gguf_every_array_type \
		vectors/gguf_floats vectors/gguf_nan_payloads vectors/gguf_nested_arrays \
		vectors/gguf_strings vectors/gguf_unknown_type_in_the_middle \
		vectors/gguf_only_empty_tensors; do
		apr-sign "$shared/key" "$shared/$name" >signed.aprs
		begin signed.aprs
		touch signed
		follow signed.aprs gguf apr1 safetensors zstd apr1 apr2-64 gguf lz4 safetensors apr2-64 \
			apr2 gguf || fail "$name" || return
	done
}

@test "random ways" {
	local seed=1 i k way
	begin "$shared/everything.gguf"
	for ((i = 0; i < 4; i++)); do
		way=()
		for ((k = 0; k < 8; k++)); do
			seed=$(((seed * 1103515245 + 12345) % 2147483648))
			way+=("${containers[seed / 65536 % ${#containers[@]}]}")
		done
		follow "$shared/everything.gguf" "${way[@]}"
	done
}

# bats test_tags=repeats
@test "in pipes alone" {
	local way
	# Neither a signature nor a size that only the file knows goes through a pipe.
	apr-unpack --except '^unknown$' "$shared/everything.gguf" 2>/dev/null >first.aprs
	apr-sum first.aprs >sum.first
	for way in 'gguf apr2 gguf' 'apr2 safetensors apr2' 'safetensors gguf safetensors' \
		'apr2-64 gguf apr2-64 safetensors apr2-64 lz4 apr2-64' 'zstd gguf lz4 zstd' 'gguf safetensors lz4 gguf apr2 zstd'; do
		local command='cat first.aprs' container
		for container in $way; do
			case $container in
			lz4 | zstd) command+=" | apr-pack -z $container | apr-unpack" ;;
			*) command+=" | apr-pack -t $container | apr-unpack" ;;
			esac
		done
		pipe "$command >last.aprs" || fail "$way" || return
		apr-sum last.aprs | cmp - sum.first || fail "$way" || return
		cmp <(metadata last.aprs) <(metadata first.aprs) || fail "$way" || return
	done
}

# A writer that is ended by SIGPIPE ends a script under pipefail.
@test "who wants only the head of a stream reads it to its end" {
	mkmodel <<-'END' >long.gguf
		key general.architecture string llama
		tensor a.weight F32 256x4096 hole
		tensor b.weight F32 256x4096 hole
	END
	for reader in 'apr-header' 'apr-header -t' 'apr-header --json' 'apr-quant -n q8_0' \
		'apr-quant --explain a.weight q8_0' 'apr-get --list'; do
		try bash -c "apr-unpack long.gguf | { $reader >/dev/null; }; echo \${PIPESTATUS[0]} >first"
		[ "$(cat first)" -eq 0 ] || fail "$reader: $(cat first)" || return
	done
	try bash -c 'set -o pipefail; cat long.gguf | apr-header'
	[ "$status" -eq 0 ]
	diff <(apr-header long.gguf | grep ^types) <(grep ^types "$out")
}
