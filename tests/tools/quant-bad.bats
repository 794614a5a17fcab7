# apr-quant: odd and bad input, and the faults by the specification's names
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

digests_of() {
	digests <"$1" | sort
}

# Every TYPE that can be written.
types() {
	apr-quant 2>&1 | sed -n 's/.* TYPE is missing: //p' | tr ' ' '\n' |
		grep -Ev '^(iq[123]_.*|q2_k_s)$'
}

@test "rows of one value: kept, taken, or fallen back from; never a block" {
	local type
	mkmodel <<<'tensor a.weight F32 5x1 values 1 2 3 4 5' >one.gguf
	for type in $(types); do
		apr-quant --pure --fallback warn $type one.gguf >made
		case $type in
		q8_tensor | apr_q8 | apr_q4 | f8_* | bf16 | f32) ;;
		*) apr-header -l made | grep -q 'a.weight *F16' || fail $type ;;
		esac
		apr-quant f32 made | apr-get --text a.weight >back
		awk -v want=1 '{ if (($1 - want) ^ 2 > 0.2) exit 1; want++ } END { exit want != 6 }' back ||
			fail "$type: $(tr '\n' ' ' <back)"
	done
	APR_LOG_LEVEL='' try apr-quant q8_0 one.gguf
	[ "$status" -eq 0 ]
	grep -qx 'apr-quant: a.weight: rows of 1 do not fill Q8_0, F16 is used' "$err"
	try apr-quant q8_0 --fallback error one.gguf
	said 5 'a.weight: Q8_0 needs rows of 32, got 1'
}

@test "blocks of zeros stay zeros in every type" {
	local type
	mkmodel <<-END >zero.gguf
		tensor a.weight F32 2x256 values 0
		tensor b.weight F32 2x256 values 0x80000000
	END
	for type in $(types); do
		apr-quant --pure $type zero.gguf >made
		apr-stats --fail-nonfinite made >stats
		awk -v t=$type '$1 ~ /weight/ && ($4 != 0 || $5 != 0 || $9 != 512) { print t; exit 1 }' stats
	done
}

@test "denormal numbers become something finite and as small, in every type" {
	local type
	mkmodel <<<'tensor a.weight F32 2x256 values 1e-45 -1e-40 1.1e-38 0 -1e-45' >tiny.gguf
	for type in $(types); do
		apr-quant --pure $type tiny.gguf >made
		# MXFP4's least scale and the floats of a byte have their own least number.
		apr-stats --fail-nonfinite made >stats
		awk -v t=$type '$1 ~ /weight/ && ($4 < -2e-38 || $5 > 2e-38) { print t, $4, $5; exit 1 }' stats
	done
}

@test "numbers beyond half precision: told by index, never in silence" {
	local type
	mkmodel <<<'tensor a.weight F32 2x256 values 1 2 70000' >large.gguf
	try apr-quant f16 large.gguf
	said 5 'a.weight: values not finite: 0, too large for F16: 170; the first has index 2'
	try apr-quant f8_e4m3 large.gguf
	said 5 'too large for F8_E4M3: 170; the first has index 2'
	mkmodel <<<'tensor a.weight F32 2x256 values 1e36' >huge.gguf
	for type in $(types); do
		case $type in
		f32 | bf16 | q8_k | q8_tensor | apr_q8 | mxfp4*) continue ;;
		esac
		try apr-quant --pure $type huge.gguf
		said 5 'too large for'
		grep -q 'the first has index 0' "$err"
		try apr-quant --pure --allow-nonfinite $type huge.gguf
		quiet
	done
	# Far into a tensor, and on many threads, the first is the first.
	{ echo 'tensor a.weight F32 1024x512 noise'; } | mkmodel >long.gguf
	apr-unpack long.gguf >long.aprs
	printf '\000\000\300\177' | dd of=long.gguf bs=1 conv=notrunc \
		seek=$(($(wc -c <long.gguf) - 4 * 1234)) status=none
	for j in 1 2 7; do
		try apr-quant q8_0 -j $j long.gguf
		said 5 "values not finite: 1, too large for Q8_0: 0; the first has index $((1024 * 512 - 1234))"
	done
}

@test "integers, truth values and complex numbers are left alone, and told" {
	mkmodel <<-END >ids.gguf
		tensor ids.weight I32 4x32 ramp
		tensor small.weight I8 4x32 ramp
		tensor real.weight F32 4x32 noise
	END
	for type in q8_0 q4_k_m int8 f16 f8_e5m2; do
		APR_LOG_LEVEL='' try apr-quant --fallback warn $type ids.gguf
		[ "$status" -eq 0 ]
		grep -qx 'apr-quant: 1 tensor stays I32: not a weight type' "$err"
		grep -qx 'apr-quant: 1 tensor stays I8: not a weight type' "$err"
		apr-unpack ids.gguf >before
		cmp <(digests_of "$out" | grep -v ^real) <(digests_of before | grep -v ^real)
	done
	# Not even a rule, or a hook, changes them.
	try apr-quant q8_0 --tensor-type ids=f16 ids.gguf
	said 2 'matches no tensor that changes'
	apr-quant q8_0 --hook 'echo f16 #' ids.gguf | apr-header -l | grep -q 'ids.weight *I32'
}

@test "UnsupportedQuantization: a type that nobody knows, or that cannot be computed" {
	mkmodel <<<'tensor a.weight 77:64 3x3 ramp' >odd.gguf
	try apr-quant q8_0 odd.gguf
	said 4 'a.weight: GGML_77 cannot be decoded here: UnsupportedQuantization (E001)'
	mkmodel <<<'tensor a.weight 300:64 3x3 ramp' >odd.gguf
	try apr-unpack odd.gguf
	said 4 'has the type number 300, which GGML does not use: UnsupportedQuantization (E001)'
	apr-quant q8_0 "$model" | apr-pack >made.apr
	vectors apr2_faults faults
	try apr-unpack faults/apr2_dtype_52
	said 4 'which is not assigned: UnsupportedQuantization (E001)'
}

@test "QuantizationCorrupt: blocks that contradict their shape" {
	# Rows of 33 in blocks of 32, and 7 bytes of one block.
	mkmodel <<<'tensor a.weight 8:35 1x33 ramp' >odd.gguf
	try apr-quant f32 odd.gguf
	said 4 'a.weight: Q8_0 needs rows of 32, got 33: QuantizationCorrupt (E002)'
	apr-quant q8_0 "$model" | apr-pack >made.apr
	size=$(wc -c <made.apr)
	# A block less than the shape asks for, in the index of an APR2 file.
	at=$(grep -abo 'output.weight' made.apr | tail -n 1 | cut -d: -f1)
	bytes=$((at + 13 + 2 + 16 + 8))
	[ "$(od -An -tu8 -j$bytes -N8 made.apr | tr -d ' ')" -eq 278528 ]
	printf '\336\077\004\000' | dd of=made.apr bs=1 seek=$bytes conv=notrunc status=none
	try apr-unpack made.apr
	said 4 'output.weight: Q8_0 of this shape takes 278528 bytes, not 278494: QuantizationCorrupt (E002)'
	[ "$(wc -c <made.apr)" -eq "$size" ]
}

@test "ExportFailed: a container that cannot hold a type" {
	apr-quant int8 "$model" >made
	for format in gguf safetensors; do
		try apr-pack --plain -t $format -o packed made
		said 5 "token_embd.weight: "
		grep -qE ' has no type Q8_TENSOR, and --plain forbids a carrier: ExportFailed' "$err"
		[ ! -e packed ]
	done
	mkmodel <<<'tensor a.weight 77:64 3x3 ramp' >odd.gguf
	try_pipe "apr-unpack odd.gguf | apr-pack -t apr2 -o packed"
	said 4 'APR2 has no code for type GGML_77: ExportFailed (E001)'
	[ ! -e packed ]
}
