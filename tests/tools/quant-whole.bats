# apr-quant: types that llama-quantize has no mixture of, and those of the whole
# tensor, against the slow program tests/gen/rows.c
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

digests_of() {
	digests <"$1" | sort
}

# The tensor $2 of the model $1, made a $3 here and there.
as_slow() {
	apr-get --npy "$2" "$1" | tail -c +129 >values.f32
	apr-quant "$3" "$1" >made.aprs
	apr-get "$2" made.aprs >made.bin
	"$APR_GEN/rows" "$3" <values.f32 >slow.bin
	[ -s slow.bin ]
	cmp made.bin slow.bin || fail "$3 of $2"
	# And back: each reads the other's files.
	apr-get --npy "$2" made.aprs | tail -c +129 >made.f32
	"$APR_GEN/rows" -d "$3" <slow.bin | head -c "$(wc -c <values.f32)" >slow.f32
	cmp made.f32 slow.f32
}

@test "each type without a mixture is what the slow program makes of a tensor" {
	local type
	mkmodel <<-END >odd.gguf
		tensor one.weight F32 3x1 values -0.3 0.1
		tensor few.weight F32 3x11 noise
		tensor ties.weight F32 2x32 values 127 0.5 -0.5 1.5 -2.5 63.5 -126.5 0
		tensor sevens.weight F32 2x32 values 7 0.5 -0.5 1.5 -2.5 3.5 -6.5 -7
		tensor zero.weight F32 5x8 values 0
	END
	for type in F8_E4M3 F8_E5M2 Q8_TENSOR APR_Q8 APR_Q4; do
		as_slow "$model" blk.0.ffn_up.weight $type
		for name in one few ties sevens zero; do
			as_slow odd.gguf $name.weight $type
		done
	done
	as_slow "$model" blk.0.ffn_up.weight Q8_K
}

@test "int8 and int4 are the specification's names of Q8_TENSOR and Q4_0" {
	apr-quant int8 "$model" | cmp - <(apr-quant Q8_TENSOR "$model")
	apr-quant int4 "$model" | cmp - <(apr-quant q4_0 "$model")
	apr-quant q8_0 --tensor-type ffn_up=INT8 "$model" | apr-header -l >types
	[ "$(grep -c 'ffn_up.* Q8_TENSOR' types)" -eq 3 ]
	[ "$(grep -c ' Q8_0 ' types)" -eq 20 ]
	# 8 bits a weight, and 8 bytes a tensor.
	apr-quant -n --json int8 "$model" | grep -q '"name":"output.weight",.*"bytes":262152,'
}

@test "a type alone is used throughout, and general.file_type has no number for it" {
	local type
	for type in f8_e4m3 int8 mxfp4 q8_k apr_q4; do
		apr-quant $type "$model" >made
		[ "$(apr-header -l made | awk '$2 != "F32"' | wc -l)" -eq 23 ]
		[ "$(apr-header -l made | awk '$2 != "F32" { print $2 }' | sort -u | wc -l)" -eq 1 ]
		apr-header made >header
		! grep -q general.file_type header
		grep -q general.quantization_version header
	done
}

@test "what there was no mixture of goes through every container, and back to values" {
	local type
	for type in int8 apr_q4 apr_q8 f8_e5m2 q8_k; do
		apr-quant $type "$model" >made
		for format in apr2 gguf safetensors; do
			apr-pack -t $format made >packed
			apr-unpack packed >back
			cmp <(digests_of made) <(digests_of back)
		done
		apr-quant f32 made >values
		diff <(apr-stats made | awk '{ $2 = ""; print }') \
			<(apr-stats values | awk '{ $2 = ""; print }')
		apr-get --text --slice 1,:3 blk.0.attn_q.weight made >some
		cmp some <(apr-get --text --slice 1,:3 blk.0.attn_q.weight values)
		[ "$(wc -w <some)" -eq 3 ]
	done
}

@test "codes of Q8_TENSOR are never -128, its values never off by more than half a step" {
	apr-quant int8 --check --json "$model" 2>check >made
	apr-get blk.1.ffn_down.weight made | tail -c +9 | od -An -v -td1 -w1 >codes
	awk '{ a = $1 < 0 ? -$1 : $1; if (a > most) most = a } END { exit most != 127 }' codes
	apr-get blk.1.ffn_down.weight made | head -c 8 | od -An -td4 | awk '{ exit $2 != 0 }'
	# 254 half steps reach from end to end; rounding adds less than a millionth.
	awk -v most="$(apr-stats "$model" | awk '$1 == "blk.1.ffn_down.weight" { m = -$4 > $5 ? -$4 : $5; print m }')" \
		'/blk.1.ffn_down/ { match($0, /"max":[^,]*/); if (substr($0, RSTART + 6, RLENGTH - 6) > most / 254 * 1.00001) exit 1; seen = 1 } END { exit !seen }' check
}

@test "numbers of any size: denormal, huge, infinite, NaN" {
	mkmodel <<-END >tiny.gguf
		tensor a.weight F32 2x2 values 1e-45 -3e-45 2.6e-43 0
		tensor b.weight F32 2x2 values 3.4028234e38 -3.4028234e38 1 0
	END
	for type in int8 apr_q8; do
		apr-quant $type tiny.gguf >made
		# 186 least numbers in 127 steps: each step is two of them.
		diff <(apr-get --text a.weight made) \
			<(printf '2.8026e-45 -2.8026e-45\n2.60642e-43 0\n')
		apr-stats --fail-nonfinite made
		apr-get --text b.weight made | grep -q '^3.40282.*e+38 -3.40282.*e+38$'
	done
	mkmodel <<-END >nan.gguf
		tensor n.weight F32 2x2 values 1 2 nan 0xff800000
	END
	try apr-quant int8 nan.gguf
	said 5 'n.weight: values not finite: 2, too large for Q8_TENSOR: 0; the first has index 2'
	try apr-quant int8 --allow-nonfinite nan.gguf
	quiet
	# The rest is as if they were not there; infinity is the outermost.
	[ "$(apr-get n.weight "$out" | od -An -v -td1 -j8 | tr -s ' ')" = ' 64 127 0 -127' ]
}

@test "an empty tensor has no scale, and needs none" {
	mkmodel <<<'tensor e.weight F32 0x32 noise' >empty.gguf
	for type in int8 apr_q8 apr_q4; do
		apr-quant $type empty.gguf >made
		apr-header -l made | grep -q 'e.weight .* 0$'
		apr-quant f32 made >back
		apr-header -l back | grep -q 'e.weight *F32'
	done
}

@test "one tensor is spooled, on disk, and memory stays what it was" {
	mkmodel <<<'tensor a.weight F32 512x16384 noise' >wide.gguf
	apr-quant int8 -j 1 wide.gguf >one
	apr-quant int8 -j 2 wide.gguf | cmp - one
	# A sanitizer needs memory of its own.
	peak used apr-quant int8 -f -o made wide.gguf
	cmp made one
	grep -q __asan_init "$APR_BIN/apr-quant" || [ "$(cat used)" -lt 65536 ]
	mkdir spool
	try env TMPDIR=spool/none apr-quant int8 wide.gguf
	said 3 'a spool file cannot be created'
	[ ! -s "$out" ]
	TMPDIR=spool apr-quant int8 wide.gguf | cmp - one
	[ -z "$(ls spool)" ]
	# In pieces or at once: the same values in shorter rows are the same codes.
	mkmodel <<<'tensor a.weight F32 16384x512 noise' >short.gguf
	cmp <(apr-get a.weight one) <(apr-quant int8 short.gguf | apr-get a.weight)
}
