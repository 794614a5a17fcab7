# apr-get: one tensor out of a model
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The values of the first are their places: 123 at [1,2,3].
places() {
	local i j k values=
	for i in 0 1; do
		for j in 0 1 2; do
			for k in 0 1 2 3; do
				values+=" $((100 * i + 10 * j + k))"
			done
		done
	done
	mkmodel >places.gguf <<-END
		key general.architecture string llama
		tensor places F32 2x3x4 values$values
		tensor row F16 5 values 0.5 -1 2 0.25 65504
		tensor scalar F32 - values 7
		tensor none F32 0x4 values 1
		tensor i64 27:16 2 ramp
		tensor f64 F64 2 values 0x3fb999999999999a 0x4008000000000000
		tensor i8 I8 2x2 values 0x80 0x7f 0x00 0x01
		tensor own 77:40 10 ramp
		tensor bf16 BF16 2 values 0.5 3
	END
}

@test "apr-get passes the exam" {
	exam sink apr-get output.weight
	exam sink apr-get --npy output.weight
	exam sink apr-get --npy --stored output_norm.weight
}

@test "apr-get passes the exam with text" {
	exam report apr-get --text --slice :2 output.weight
	exam report apr-get --list
}

@test "the bytes of every tensor, from any container" {
	local digest name rest n=0
	apr-unpack "$model" | apr-pack -o model.apr
	while read -r digest name rest; do
		for f in "$model" model.apr; do
			apr-get "$name" "$f" | sha256sum | grep -q "^$digest " || fail "$name of $f"
		done
		n=$((n + 1))
	done < <(apr-sum --sha256 "$model")
	[ $n -eq 30 ]
	places
	while read -r digest name rest; do
		apr-get "$name" places.gguf | sha256sum | grep -q "^$digest " || fail "$name"
		n=$((n + 1))
	done < <(apr-sum --sha256 places.gguf)
	[ $n -eq 39 ]
	[ "$(apr-get none places.gguf | wc -c)" -eq 0 ]
}

# The output of numpy.save: 118 bytes of header, padded with spaces.
npy() {
	printf '\223NUMPY\1\0v\0%-117s\n' "$1"
}

@test "--npy: what numpy.save writes" {
	places
	apr-get --npy places places.gguf >got
	npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }" |
		cat - <(apr-get places places.gguf) | cmp - got
	apr-get --npy scalar places.gguf >got
	npy "{'descr': '<f4', 'fortran_order': False, 'shape': (), }" | cmp - <(head -c 128 got)
	apr-get --npy row places.gguf >got
	npy "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }" |
		cat - <(printf '\0\0\0\77\0\0\200\277\0\0\0\100\0\0\200\76\0\340\177\107') | cmp - got
	apr-get --npy none places.gguf >got
	npy "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }" | cmp - got
}

@test "--npy decodes as apr-quant does" {
	local type name
	for type in bf16 q8_0 q4_0; do
		apr-quant --pure "$type" "$model" 2>/dev/null >typed.aprs
		apr-quant f32 typed.aprs 2>/dev/null >f32.aprs
		for name in output.weight blk.1.ffn_down.weight; do
			apr-get --npy $name typed.aprs | tail -c +129 | cmp - <(apr-get $name f32.aprs)
		done
	done
}

@test "--npy --stored: the type as it is, where NumPy has it" {
	local row
	places
	for row in 'row <f2 (5,)' 'i64 <i8 (2,)' 'f64 <f8 (2,)' 'i8 |i1 (2,2)'; do
		# shellcheck disable=SC2086
		set -- $row
		npy "{'descr': '$2', 'fortran_order': False, 'shape': ${3/,2/, 2}, }" |
			cat - <(apr-get "$1" places.gguf) >want
		try apr-get --npy --stored "$1" places.gguf
		quiet
		cmp "$out" want
	done
	try apr-get --npy --stored bf16 places.gguf
	said 5 'bf16: NumPy has no type for BF16'
	try apr-get --npy --stored own places.gguf
	said 5 'own: NumPy has no type for GGML_77'
	[ ! -s "$out" ]
}

@test "--npy tells what it had to round" {
	places
	try apr-get --npy f64 places.gguf
	[ "$status" -eq 0 ]
	diff "$err" - <<<'apr-get: f64: 1 value is rounded to single precision; --stored keeps it'
	try apr-get --npy i64 places.gguf
	[ "$status" -eq 0 ]
	diff "$err" - <<<'apr-get: i64: 2 values are rounded to single precision; --stored keeps them'
	try apr-get --npy i8 places.gguf
	quiet
}

@test "--text: a row a line, in full precision" {
	places
	try apr-get --text places places.gguf
	quiet
	diff "$out" - <<-END
		0 1 2 3
		10 11 12 13
		20 21 22 23

		100 101 102 103
		110 111 112 113
		120 121 122 123
	END
	apr-get --text row places.gguf | diff - <(echo 0.5 -1 2 0.25 65504)
	apr-get --text scalar places.gguf | diff - <(echo 7)
	apr-get --text none places.gguf | diff - /dev/null
	apr-get --text i64 places.gguf | diff - <(
		apr-get i64 places.gguf | od -A n -t d8 | tr -s ' ' | sed 's/^ //')
	apr-get --text f64 places.gguf | diff - <(echo 0.1 3)
	apr-get --text i8 places.gguf | diff - <(printf '%s\n' '-128 127' '0 1')
	# As text and as numbers, all values are the same.
	apr-get --text output.weight "$model" | tr ' ' '\n' >numbers
	[ "$(wc -l <numbers)" -eq 262144 ]
	apr-get --npy output.weight "$model" | tail -c +129 | od -A n -v -t f4 -w4 |
		awk '{ print $1 + 0 }' | cmp - <(awk '{ print $1 + 0 }' numbers)
}

@test "--slice: as Python slices" {
	local slice
	places
	while read -r slice want; do
		try apr-get --text --slice "$slice" places places.gguf
		quiet
		[ "$(tr -s '\n' ' ' <"$out")" = "$want " ] || fail "--slice $slice:" "$(cat "$out")"
	done <<-END
		0 0 1 2 3 10 11 12 13 20 21 22 23
		1,2,3 123
		:,:,0 0 10 20 100 110 120
		1:,1: 110 111 112 113 120 121 122 123
		0:2,0:1,2:4 2 3 102 103
		:1,:2,:2 0 1 10 11
		0:99,2,3:99 23 123
	END
}

@test "--slice: matrices stay apart" {
	places
	apr-get --text --slice :,1:,:2 places places.gguf | diff - <(
		printf '%s\n' '10 11' '20 21' '' '110 111' '120 121')
	apr-get --text --slice 1,1:,:2 places places.gguf | diff - <(
		printf '%s\n' '110 111' '120 121')
}

@test "--slice: what is none" {
	local slice
	places
	for slice in , 0, ,0 a 0:a -1 :-1 ::2 0:4:2 ' 0' 0:1,,0 18446744073709551616 \
		:99999999999999999999 1,1,1,1,1,1,1,1,1; do
		try apr-get --text "--slice=$slice" places no-such-file
		said 2 "--slice needs ranges such as 0:4,:8, not $slice"
	done
	try apr-get --text --slice 2 places places.gguf
	said 2 'places: has no index 2 in dimension 0 of size 2'
	try apr-get --text --slice :,3: places places.gguf
	said 2 'places: has no index 3 in dimension 1 of size 3'
	try apr-get --text --slice 1:1 places places.gguf
	said 2 'places: --slice leaves nothing of dimension 0'
	try apr-get --text --slice 0,0,0,0 places places.gguf
	said 2 'places: has 3 dimensions, but --slice has 4'
	try apr-get --text --slice 0 none places.gguf
	said 2 'none: has no index 0 in dimension 0 of size 0'
	try apr-get --text --slice 0 scalar places.gguf
	said 2 'scalar: has 0 dimensions, but --slice has 1'
}

@test "--list: as apr-header, without offsets" {
	places
	apr-get --list places.gguf | tr -s ' ' >got
	apr-header -l places.gguf | awk '{ print $1, $2, $3, $5 }' | diff - got
	apr-unpack places.gguf | apr-get --list | tr -s ' ' | diff - got
	apr-get --list -o names places.gguf
	tr -s ' ' <names | diff - got
}

@test "a tensor that is not there: what it may have been" {
	try apr-get output.weigth "$model"
	said 1 "$model: has no tensor output.weigth"
	grep -q '^hint: did you mean output.weight' "$err"
	try apr-get attn_q -o made "$model"
	said 1 'has no tensor attn_q'
	grep -qx 'hint: did you mean blk.0.attn_q.weight, blk.1.attn_q.weight or blk.2.attn_q.weight?' "$err"
	[ ! -e made ]
	try apr-get 'two
lines' "$model"
	said 1 'has no tensor two\x0alines'
}

@test "what cannot be decoded, and wrong usage" {
	places
	for how in --npy --text; do
		try apr-get $how own places.gguf
		said 4 'own: GGML_77 has no decoder (E001)'
		grep -q '^hint: .*its bytes' "$err"
	done
	try apr-get <places.gguf
	said 2 'NAME is missing'
	try apr-get --npy --text row places.gguf
	said 2 'cannot be combined'
	try apr-get --list --text places.gguf
	said 2 'cannot be combined'
	try apr-get --stored row places.gguf
	said 2 '--stored needs --npy'
	try apr-get --slice 0 row places.gguf
	said 2 '--slice needs --text'
	try apr-get --list row places.gguf
	said 2 '--list takes a FILE and no NAME'
}

# Bytes do not go to a terminal; text may.
@test "what a terminal gets" {
	[ -x "$(command -v script)" ] || skip "script(1) is not installed"
	places
	script -qec 'apr-get row places.gguf' /dev/null </dev/null >said || status=$?
	[ "$status" -eq 2 ]
	grep -q 'binary data does not go to a terminal' said
	status=0
	script -qec 'apr-get --npy row places.gguf' /dev/null </dev/null >said || status=$?
	[ "$status" -eq 2 ]
	script -qec 'apr-get --text row places.gguf' /dev/null </dev/null >said
	grep -q '0.5 -1 2 0.25 65504' said
	script -qec 'apr-get --list places.gguf' /dev/null </dev/null >said
	grep -q 'places' said
}

# Damage far behind the tensor shows that the reader stops after the requested values.
@test "a FILE is read up to the tensor, a stream to its end, in little memory" {
	llama 2 1024 2816 32000 >big.gguf
	apr-unpack big.gguf >big.aprs
	apr-get token_embd.weight big.aprs >want
	printf '\377' | dd of=big.aprs bs=1 seek=$(($(stat -c %s big.aprs) - 5000)) \
		conv=notrunc status=none
	try peak peak.txt apr-get token_embd.weight big.aprs
	quiet
	cmp "$out" want
	[ "$(cat peak.txt)" -lt 65536 ] || fail "$(cat peak.txt) KiB"
	try apr-get --list big.aprs
	quiet
	try apr-get token_embd.weight <big.aprs
	said 4 '(E004)'
	try apr-get --list <big.aprs
	said 4 '(E004)'
	try apr-get -o made token_embd.weight <big.aprs
	said 4 '(E004)'
	[ ! -e made ]
}
