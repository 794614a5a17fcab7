# apr-pack: stream -> a model file
load ../helper

setup_file() {
	vectors stream_good "$BATS_FILE_TMPDIR"
	vectors gguf_good "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	vectors=$BATS_FILE_TMPDIR
}

@test "apr-pack passes the exam: apr2" {
	exam sink apr-pack
}

@test "apr-pack passes the exam: gguf" {
	exam sink apr-pack -t gguf
}

@test "apr-pack's FILE may be of any format" {
	apr-pack -t gguf "$model" | cmp - "$model"
	apr-pack -o m.apr "$model"
	apr-pack -t gguf m.apr | cmp - "$model"
	apr-pack m.apr | cmp - m.apr
	cp "$model" m.gguf
	for file in m.apr m.gguf; do
		cp $file before
		for format in apr2 gguf; do
			try apr-pack -f -t $format -o $file $file
			said 2 "$file: is the input file itself"
			cmp $file before
		done
	done
	# Standard input is a stream and nothing else.
	try apr-pack <m.gguf
	said 4 '<stdin>: is not a stream (E001)'
}

@test "-t chooses the format; apr2 is the default" {
	[ "$(apr-pack "$model" | head -c 4)" = APR2 ]
	[ "$(apr-pack -t apr2 "$model" | head -c 4)" = APR2 ]
	[ "$(apr-pack --to gguf "$model" | head -c 4)" = GGUF ]
	for format in stream tflite GGUF ''; do
		try apr-pack -t "$format" "$model"
		said 2
	done
	try apr-pack -t tflite "$model"
	said 2 'format tflite cannot be written; those that can are apr1, apr2, apr2-64, gguf, '
	for format in onnx xgboost; do
		try apr-pack -t $format "$model"
		said 4 'is not a classical model'
	done
	try apr-pack -t safetensor -o made "$model"
	said 2 'format safetensor cannot be written'
	grep -qx 'hint: did you mean safetensors?' "$err"
}

# Every tensor of FILE begins at a multiple of N: aligned FILE N.
aligned() {
	apr-header -l "$1" | awk -v n="$2" '
		NF == 5 { seen++; if ($4 % n) exit 1 }
		END { if (seen != 30) exit 1 }'
}

@test "--align places tensors: gguf" {
	apr-pack -t gguf --align 64 -o 64.gguf "$model"
	cmp <(apr-unpack 64.gguf | digests) <(apr-unpack "$model" | digests)
	grep -aq general.alignment 64.gguf
	aligned 64.gguf 64
	! aligned 64.gguf 128
	apr-pack -t gguf --align 32 -o 32.gguf 64.gguf
	apr-pack -t gguf --align 64 32.gguf | cmp - 64.gguf
	# The source's own is kept where nothing else is asked for.
	apr-pack -t gguf "$vectors/gguf_alignment_8" | cmp - "$vectors/gguf_alignment_8"
	apr-pack -t gguf --align 64 "$vectors/gguf_alignment_64" |
		cmp - "$vectors/gguf_alignment_64"
}

@test "--align: what each format takes" {
	local n
	for n in 0 1 16 31 33 48 63 65 131072 x -32 18446744073709551648; do
		try apr-pack --align $n -o made "$model"
		said 2 '--align'
		[ ! -e made ]
	done
	try apr-pack --align 128 -o made "$model"
	said 2 'APR2 aligns tensors to 32 or 64 bytes, not 128'
	grep -qx 'hint: -t gguf takes any power of two up to 65536' "$err"
	[ ! -e made ]
	try apr-pack --align 128 --shard-size 1M -o made.apr "$model"
	said 2 'APR2 aligns tensors to 32 or 64 bytes, not 128'
	try apr-pack -t apr2-64 --align 128 -o made "$model"
	said 2 'aligns tensors to 64 bytes, not 128'
	for n in 128 4096 65536; do
		apr-pack -t gguf --align $n -f -o made "$model"
		apr-header made | grep -qE "^alignment +$n\$"
		aligned made $n
		cmp <(apr-unpack made | digests) <(apr-unpack "$model" | digests)
		apr-unpack made | apr-pack -t gguf | cmp - made
		apr-pack -t safetensors --align $n -f -o made "$model"
		[ $((($(od -An -tu8 -N8 made) + 8) % n)) = 0 ]
		cmp <(apr-unpack made | digests) <(apr-unpack "$model" | digests)
	done
}

# Nothing may be written before all of it is known to fit.
refused() {
	try apr-pack -t gguf -o made <"$1"
	said "$2" "$3"
	[ ! -e made ]
	try_pipe "apr-pack -t gguf <'$1' | cat"
	said "$2" "$3"
	[ ! -s "$out" ]
}

@test "what GGUF cannot hold is refused before the first byte" {
	local name
	name=$(printf 'n%.0s' {1..64})
	mkplan "" "[\"$name\",\"F32\",[1]]" >long.aprs
	refused long.aprs 5 "a name of 64 bytes, GGUF has at most 63"
	grep -qx 'hint: -t apr2 and -t safetensors hold longer names' "$err"
	# Such a file can be read, and other formats hold its content.
	printf 'tensor %s F32 4 ramp\n' "$name" | mkmodel >long.gguf
	apr-pack -o long.apr long.gguf
	[ "$(apr-header -l long.apr | cut -d' ' -f1)" = "$name" ]
	mkplan "" '["five","F32",[1,1,1,1,1]]' >five.aprs
	refused five.aprs 5 'five: 5 dimensions, GGUF has at most 4'
	mkplan '["general.alignment","u32",64]' "" >key.aprs
	refused key.aprs 5 'general.alignment: is a key that'
	mkplan '["apr.blob.x","u32",64]' "" >key.aprs
	refused key.aprs 5 'apr.blob.x: is a key that'
}

@test "a signature into a pipe is refused before the first byte" {
	try_pipe "apr-pack -t gguf <'$vectors/stream_of_everything' | cat"
	said 2 'a signature is written last into a GGUF file'
	[ ! -s "$out" ]
	grep -qx 'hint: -o FILE, or --plain to leave the signature out' "$err"
	# An empty file that can be written anywhere is as good as a name.
	try bash -c 'apr-pack -t gguf >made' <"$vectors/stream_of_everything"
	quiet
	apr-pack -t gguf -o named <"$vectors/stream_of_everything"
	cmp made named
	# Not if it holds something, or is appended to.
	printf 'mine' >other
	try bash -c 'apr-pack -t gguf >>other' <"$vectors/stream_of_everything"
	said 2 'a signature is written last'
	[ "$(cat other)" = mine ]
}

@test "--plain leaves out what only our own keys carry" {
	try_pipe "apr-pack -t gguf --plain <'$vectors/stream_of_everything' | cat"
	quiet
	run ! grep -aq 'apr\.' "$out"
	cp "$out" plain.gguf
	apr-unpack plain.gguf | frames | cut -f1 | tr '\n' ' ' >kinds
	[ "$(cat kinds)" = 'APRS blob TENS TENS TENS DONE ' ]
	apr-unpack plain.gguf | digests | diff - <(digests <"$vectors/stream_of_everything")
	# A tensor cannot be left out.
	try apr-pack -t gguf --plain -o made <"$vectors/stream_shapes"
	said 5 'eight: GGUF has no type U8, and --plain forbids a carrier'
	[ ! -e made ]
}

@test "the apr-unpack beside the program reads FILE, never that of PATH" {
	mkdir alone path
	cp "$(command -v apr-pack)" alone/
	printf '#!/bin/sh\ntouch called\n' >path/apr-unpack
	chmod +x path/apr-unpack
	try env PATH="$PWD/path:$PATH" alone/apr-pack -o made "$model"
	said 3 'apr-unpack: is needed by apr-pack to read model files, but cannot be run'
	try env PATH="$PWD/path:$PATH" apr-pack -o made "$model"
	quiet
	[ ! -e called ]
}

# Only programs that look for it see the reserved room in the header.
reserved() {
	local made=reserved.$1
	apr-pack -t "$1" --reserve 64K -o "$made" signed.apr
	[ $(($(wc -c <"$made") - $(wc -c <"plain.$1"))) -ge $((65536 - 64)) ]
	[ $(($(wc -c <"$made") - $(wc -c <"plain.$1"))) -le $((65536 + 64)) ]
	[ "$(apr-header "$made" | awk '$1 == "reserve" { print $2 }')" -ge 65536 ]
	[ "$(apr-header --json "$made" | grep -o '"reserve":[0-9]*')" = '"reserve":65536' ]
	try apr-unpack --strict -o "$made.aprs" "$made"
	quiet
	cmp "$made.aprs" <(apr-unpack "plain.$1")
	cmp <(apr-verify key.pub "$made" 2>/dev/null | digests) <(digests <"$made.aprs")
	apr-pack -t "$1" -o again "$made"
	cmp again "plain.$1"
	rm again
	# Repeating it gives the same bytes.
	apr-pack -t "$1" --reserve 64K -o again "$made"
	cmp again "$made"
	rm again
	run ! grep -q reserve <<<"$(apr-header --json "plain.$1")"
}

@test "--reserve leaves room that is not content" {
	apr-keygen -W -o key
	apr-sign key <"$vectors/stream_of_everything" 2>/dev/null >signed.aprs
	apr-pack -o signed.apr signed.aprs
	for format in apr2 gguf safetensors; do
		apr-pack -t $format -o plain.$format signed.apr
		reserved $format
	done
	# From a pipe too, whether the room is short or long.
	for n in 10 200K; do
		try_pipe "apr-pack -t gguf --reserve $n '$model' | apr-unpack --strict - |
			apr-pack -t gguf | cmp - '$model'"
		quiet
	done
	apr-pack -z zstd -o z.apr "$model"
	apr-pack -z zstd --reserve 1000 -o zr.apr "$model"
	[ "$(apr-header --json zr.apr | grep -o '"reserve":[0-9]*')" = '"reserve":1000' ]
	cmp <(apr-unpack z.apr) <(apr-unpack zr.apr)
	# Where the spaces belong to the source, they stay until 0 is asked for.
	apr-pack -t safetensors --plain -o plain.st "$model" 2>/dev/null
	apr-pack -t safetensors --reserve 100 -o spaced.st plain.st
	apr-pack -t safetensors spaced.st | cmp - spaced.st
	apr-pack -t safetensors --reserve 0 spaced.st | cmp - plain.st
	apr-pack -t safetensors --reserve 100 -o folder/ plain.st
	cmp folder/model.safetensors spaced.st
}

@test "--reserve: what is refused" {
	for n in -1 x 1.5K 16777217 17M 1G 18446744073709551616; do
		try apr-pack --reserve $n -o made "$model"
		said 2 '--reserve needs '
		grep -q ' 0 to 16777216' "$err"
	done
	apr-pack --reserve 16M "$model" | apr-unpack | cmp - <(apr-unpack "$model")
	try apr-pack -t gguf --plain --reserve 1K -o made "$model"
	said 2 'which --plain forbids'
	try apr-pack -t apr2-64 --reserve 1K -o made "$model"
	said 2 'apr2-64 has no room to reserve'
	[ ! -e made ]
	mkplan '["apr.reserve","u32",64]' "" >key.aprs
	refused key.aprs 5 'apr.reserve: is a key that'
}

@test "--no-sync: the same file" {
	for format in apr2 gguf safetensors; do
		apr-pack -t $format --no-sync -o made "$model"
		apr-pack -t $format "$model" | cmp - made
		apr-pack -t $format --no-sync "$model" >stdout
		cmp made stdout
		rm made
	done
	apr-pack -t safetensors --no-sync -o folder/ "$model"
	cmp folder/model.safetensors stdout
}

@test "a full disk is seen before the work (CHECK-098)" {
	mkplan "" '["t","I8",["9007199254740992"]]' >huge.aprs
	for format in gguf apr2; do
		try apr-pack -t $format -o made <huge.aprs
		said 1 'made: needs 90071992547'
		[ ! -e made ]
	done
}

@test "what GGUF does not say of a model, or has no type for, is told" {
	local type
	local header='{"model.norm.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  '
	printf '\x48\0\0\0\0\0\0\0%s\0\0\0\0\0\0\0\0' "$header" >model.safetensors
	try apr-pack -t gguf -f -o made.gguf model.safetensors
	[ "$status" -eq 0 ]
	[ "$(cat "$err")" = "apr-pack: other programs cannot load this file: the model has no general.architecture, and its names and keys are not those of GGUF" ]
	# Not of what was GGUF and is so again, whatever it says.
	mkmodel <<<'tensor model.norm.weight F32 4x256 noise' >names.gguf
	try apr-pack -t gguf -f -o made.gguf names.gguf
	quiet
	for type in q8_tensor apr_q4 f8_e4m3; do
		apr-quant $type "$model" 2>/dev/null >made.aprs
		try apr-pack -t gguf -f -o made.gguf made.aprs
		[ "$status" -eq 0 ]
		[ "$(cat "$err")" = "apr-pack: tensors stored as I8, because GGUF does not have their type: 23" ]
	done
	apr-quant q8_0 "$model" 2>/dev/null >made.aprs
	try apr-pack -t gguf -f -o made.gguf made.aprs
	quiet
}

@test "Q8_TENSOR in GGUF is an I8 tensor with its scale in a key" {
	local file
	apr-keygen -W -o key >/dev/null
	apr-quant q8_tensor "$model" 2>/dev/null | apr-sign key >signed.aprs 2>/dev/null
	apr-pack -t gguf -o signed.gguf signed.aprs 2>/dev/null
	apr-pack -t gguf --shard-size 300K -o many.gguf signed.aprs 2>/dev/null
	for file in signed.gguf many-00002-of-*.gguf; do
		apr-verify -q key.pub "$file"
		cmp <(apr-sum "$file") <(apr-sum signed.aprs)
	done
	apr-unpack signed.gguf | cmp - signed.aprs
	# As other programs see it: the same keys in an I8 tensor of the same shape.
	mkmodel <<-'END' >made.gguf
		key apr.scale.t f32 0.25
		key apr.zero.t i32 -3
		key apr.scale.s f32 2
		key apr.zero.s i32 0
		tensor t I8 3x5 ramp
		tensor s I8 2x32 ramp
	END
	[ "$(apr-get --text --slice 1:2,2:4 t made.gguf)" = '13.25 15' ]
	[ "$(apr-unpack made.gguf | apr-get --text --slice 1:2,2:4 t)" = '13.25 15' ]
	[ "$(apr-get --text --slice 0:1,2:4 s made.gguf)" = '30 44' ]
	[ "$(apr-header -l made.gguf | awk '{ print $1, $2, $3, $4, $5 }')" = \
		$'t Q8_TENSOR 3x5 - 23\ns Q8_TENSOR 2x32 - 72' ]
	[[ $(apr-header -l --json made.gguf) = *'"offset":null,"bytes":23}'* ]]
	apr-pack -t gguf made.gguf 2>/dev/null | cmp - made.gguf
	# The pipe waits for the scales where it has room; nothing is left there.
	mkdir room
	apr-quant q8_tensor "$model" 2>/dev/null >plain.aprs
	TMPDIR=$PWD/room apr-pack -t gguf plain.aprs 2>/dev/null | cat >piped.gguf
	[ -z "$(ls room)" ]
	apr-pack -t gguf -o plain.gguf plain.aprs 2>/dev/null
	cmp plain.gguf piped.gguf
	APR_LOG_LEVEL=error TMPDIR=$PWD/none try bash -o pipefail -c 'apr-pack -t gguf plain.aprs | cat'
	said 3 'a spool file cannot be created'
	# The text is the same, whether weights are mapped or copied.
	cmp <(apr-run -n 8 -p a plain.gguf) <(apr-run -n 8 -p a plain.aprs)
	cmp <(apr-run -n 8 -p a many-00001-of-*.gguf) <(apr-run -n 8 -p a signed.gguf)
}

@test "a scale that is not finite is not written into GGUF" {
	cp "$vectors/gguf_own_scale_inside" old.gguf
	apr-unpack old.gguf >fine.aprs
	apr-pack -t gguf -o fine.gguf fine.aprs 2>/dev/null
	# Its scale of 0.25, as infinity.
	LC_ALL=C sed 's/\x00\x00\x80\x3e\xfd\xff\xff\xff/\x00\x00\x80\x7f\xfd\xff\xff\xff/' old.gguf >bad.gguf
	! cmp -s old.gguf bad.gguf
	APR_LOG_LEVEL=error try apr-pack -t gguf -o made.gguf bad.gguf
	said 5 'matrix: its scale is not finite'
	[ ! -e made.gguf ]
	apr-pack -o made.apr bad.gguf
	apr-unpack bad.gguf | apr-sum | cmp - <(apr-sum made.apr)
}

@test "quantized tensors in safetensors: a note says how to have floats" {
	apr-quant q4_k_m "$model" 2>/dev/null >made.aprs
	try apr-pack -t safetensors -o made.safetensors made.aprs
	[ "$status" -eq 0 ]
	[ "$(grep -c 'apr-quant f32, f16 or bf16 makes floats of them' "$err")" -eq 1 ]
	try apr-pack -t safetensors --shard-size 300K -o many.safetensors made.aprs
	[ "$(grep -c 'apr-quant f32, f16 or bf16 makes floats of them' "$err")" -eq 1 ]
	# As it says: no option is asked for, and nothing is bytes any more.
	apr-quant f16 made.aprs 2>/dev/null >floats.aprs
	try apr-pack -t safetensors -o floats.safetensors floats.aprs
	quiet
	[ "$(apr-header -l floats.safetensors | awk '{ print $2 }' | sort | uniq -c | tr -s ' ')" = " 23 F16
 7 F32" ]
	# A float of 8 bits is one that safetensors has.
	apr-quant f8_e4m3 "$model" 2>/dev/null >f8.aprs
	try apr-pack -t safetensors -o f8.safetensors f8.aprs
	quiet
}
