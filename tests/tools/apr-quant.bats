# apr-quant: tensors in another type
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The digests of every tensor of a stream, in the order of their names.
digests_of() {
	digests <"$1" | sort
}

golden() {
	sed -n "s/^$1 //p" "$root/tests/golden/shakespeare-digests.txt" | sort
}

# NAME and TYPE of every tensor, from a header and from a plan.
types_of() {
	apr-header -l "$1" | awk '{ print $1, $2 }'
}

planned() {
	awk '/ -> / && !/^[0-9]+ tensors/ { print $1, $5 }'
}

# rows_of_172 N M: N rows of 172, which is not divisible by 32, and M rows of 64, which is.
# 25000 rows of 172 are 16.4 MiB.
rows_of_172() {
	mkmodel <<-END
		key general.architecture string llama
		tensor blk.0.ffn_down.weight F32 $1x172 noise
		tensor blk.0.attn_q.weight F32 $2x64 noise
	END
}

@test "apr-quant passes the exam" {
	exam filter apr-quant q4_0
}

@test "f32, f16, q8_0 and q4_0 are llama-quantize's, tensor by tensor (CHECK-083)" {
	local name
	for name in f32 f16 q8_0 q4_0 q8_0.pure q4_0.pure; do
		apr-quant ${name/.pure/ --pure} "$model" >made
		golden $name >want
		[ "$(wc -l <want)" -eq 30 ]
		diff <(digests_of made) want || fail "$name differs"
	done
}

@test "bf16 of what was bf16 is what it was (CHECK-082)" {
	apr-unpack "$model" >model.aprs
	pipe "apr-quant f32 model.aprs | apr-quant bf16" >back
	cmp <(digests_of model.aprs) <(digests_of back)
}

@test "halves are rounded to the nearest, ties to even" {
	mkmodel <<-END >f32.gguf
		tensor b.weight F32 2x4 values 0x3f808000 0x3f818000 0x3f808001 0xbf817fff
	END
	mkmodel <<-END >bf16.gguf
		tensor b.weight BF16 2x4 values 0x3f80 0x3f82 0x3f81 0xbf81
	END
	apr-quant bf16 f32.gguf >made
	apr-unpack bf16.gguf >want
	cmp <(digests_of made) <(digests_of want)
	mkmodel <<-END >f32.gguf
		tensor h.weight F32 2x4 values 0x3f801000 0x3f803000 0x33000000 0x33000001
	END
	mkmodel <<-END >f16.gguf
		tensor h.weight F16 2x4 values 0x3c00 0x3c02 0x0000 0x0001
	END
	apr-quant f16 f32.gguf >made
	apr-unpack f16.gguf >want
	cmp <(digests_of made) <(digests_of want)
}

@test "the bytes are the same on any number of threads" {
	local type j
	mkmodel <<-END >wide.gguf
		tensor wide.weight F32 2x1310720 noise
		tensor small.weight F32 1000x64 noise
	END
	for type in q4_0 q8_0 f16; do
		for j in 1 2 7; do
			apr-quant $type -j $j --check wide.gguf >$j.aprs 2>$j.err
			cmp 1.aprs $j.aprs
			cmp 1.err $j.err
		done
	done
	apr-quant q4_0 -j 1 "$model" >1.aprs
	for j in 2 7 64; do
		apr-quant q4_0 -j $j "$model" | cmp - 1.aprs
	done
}

@test "the bytes are the same at any level of the CPU" {
	local type level all
	read -ra all < <(levels)
	[ "${all[0]}" = ref ] || fail "levels: ${all[*]}"
	for type in q4_k_m q3_k_m iq4_xs q5_1; do
		APR_CPU=ref apr-quant "$type" "$model" 2>/dev/null >ref.aprs
		for level in "${all[@]:1}"; do
			APR_CPU=$level apr-quant "$type" "$model" 2>/dev/null | cmp - ref.aprs
		done
		apr-quant "$type" "$model" 2>/dev/null | cmp - ref.aprs
	done
	try env APR_CPU=abacus apr-quant q4_0 "$model"
	said 2 'APR_CPU is abacus, which is not a level'
	said 2 'this CPU has ref'
}

@test "a row longer than what is converted at once is cut anywhere" {
	# The same values in rows of another length are the same blocks.
	mkmodel <<<'tensor a.weight F32 2x1310720 noise' >long.gguf
	mkmodel <<<'tensor a.weight F32 40960x64 noise' >short.gguf
	apr-quant q4_0 --pure long.gguf >long
	apr-quant q4_0 --pure short.gguf >short
	cmp <(digests_of long) <(digests_of short)
}

@test "a FILE of any format is what the pipe is" {
	pipe "apr-unpack '$model' | apr-quant q4_0" >want
	apr-unpack "$model" >model.aprs
	apr-pack -o model.apr model.aprs
	for file in "$model" model.aprs model.apr; do
		apr-quant q4_0 "$file" | cmp - want
	done
	apr-quant q4_0 -o made "$model"
	cmp made want
}

@test "TYPE is needed, and one there is" {
	local type option
	try apr-quant <"$model"
	said 2 'TYPE is missing'
	try apr-quant q4_9 "$model"
	said 2 'q4_9 is not a type'
	# Case and separators in names are ignored.
	for type in q4km Q4-K-M q4k_m; do
		try apr-quant $type "$model"
		said 2 "$type is not a type"
		grep -qx 'hint: did you mean q4_k_m?' "$err"
	done
	try apr-quant q9_0 "$model"
	grep -qx 'hint: did you mean q8_0, q4_0 or q5_0?' "$err"
	try apr-quant something "$model"
	grep -qx 'hint: apr-quant --help' "$err"
	for option in --output-tensor-type=q6k --token-embedding-type=q6k --tensor-type=x=q6k \
		--fallback=q6k; do
		try apr-quant q4_0 $option "$model"
		said 2 'q6k'
		grep -qx 'hint: did you mean Q6_K?' "$err" || fail $option
	done
	try apr-quant "$model"
	said 2 'is not a type'
	apr-quant q8_0 "$model" | cmp - <(apr-quant Q8_0 "$model")
	apr-quant f16 "$model" | cmp - <(apr-quant FP16 "$model")
}

@test "a quantized tensor is quantized again only on demand" {
	local type
	apr-quant q8_0 "$model" >q8.aprs
	export APR_LOG_LEVEL=error
	for type in q4_0 q8_k f8_e4m3; do
		try apr-quant $type q8.aprs
		said 5 'token_embd.weight: is quantized already (Q8_0)'
		grep -qF 'hint: --allow-requantize' "$err"
		try apr-quant $type --allow-requantize q8.aprs
		quiet
		diff <(types_of "$out") <(apr-quant $type "$model" >once; types_of once)
	done
	# Converting to the present type is not requantizing.
	try apr-quant q8_0 q8.aprs
	quiet
	cmp <(digests_of "$out") <(digests_of q8.aprs)
}

@test "floats of a quantized model need no permission, and are told for what they are" {
	local type float
	for type in q8_0 q4_k_m; do
		apr-quant --no-record $type "$model" 2>/dev/null >blocks.aprs
		for float in f32 f16 bf16; do
			try apr-quant $float blocks.aprs
			[ "$status" -eq 0 ]
			grep -qx 'apr-quant: 23 tensors were already quantized: their loss remains' "$err"
			cmp "$out" <(apr-quant $float --allow-requantize blocks.aprs 2>/dev/null)
		done
		# The F32 values are those of the blocks.
		apr-quant f32 blocks.aprs 2>/dev/null | apr-get --text blk.0.ffn_up.weight >values
		apr-get --text blk.0.ffn_up.weight blocks.aprs | cmp - values
	done
	# A rule may still ask for blocks.
	try apr-quant f32 --token-embedding-type q4_0 blocks.aprs
	said 5 'token_embd.weight: is quantized already (Q4_K)'
}

@test "rows that do not fill the blocks: too much of it is refused" {
	rows_of_172 25000 25000 >model.gguf
	try apr-quant q4_0 model.gguf
	said 5 '72.9 % of the bytes cannot become q4_0'
	grep -qF 'hint: --fallback warn' "$err"
	[ ! -s "$out" ]
	try apr-quant q4_0 -o made model.gguf
	said 5
	[ ! -e made ]

	# Less than 16 MiB, or less than 1 % of the model, is only noted.
	mkmodel <<-END >large.gguf
		tensor blk.0.ffn_down.weight F32 25000x172 noise
		tensor blk.0.attn_q.weight F32 6900000x64 hole
	END
	try apr-quant -n q4_0 large.gguf
	quiet
	rm large.gguf
	rows_of_172 24000 8 >model.gguf
	try apr-quant q4_0 model.gguf
	[ "$status" -eq 0 ]
	grep -qxF 'apr-quant: blk.0.ffn_down.weight: rows of 172 do not fill Q4_0, F16 is used' "$err"
	[ "$(types_of "$out")" = "$(printf '%s\n' 'blk.0.ffn_down.weight F16' 'blk.0.attn_q.weight Q4_0')" ]
}

@test "rows that another quantized type takes are told and never refused" {
	# 576 is the hidden size of SmolLM: divisible by 32, not by 256.
	mkmodel <<-END >model.gguf
		tensor blk.0.ffn_up.weight F32 4000x576 noise
		tensor blk.1.ffn_up.weight F32 4000x576 noise
	END
	try apr-quant q4_k_m model.gguf
	[ "$status" -eq 0 ]
	diff "$err" - <<-END
		apr-quant: 2 tensors, the first is blk.0.ffn_up.weight: rows of 576 do not fill Q4_K, Q5_0 is used
		apr-quant: 2 of 2 tensors change, 17.6 MiB -> 3.0 MiB
	END
	try apr-quant q4_k_m --fallback f16 model.gguf
	[ "$status" -eq 0 ]
	try apr-quant q4_k_m --fallback error model.gguf
	said 5 'Q4_K needs rows of 256, got 576'
}

@test "nothing to be done is told; nothing that could be done is refused" {
	apr-quant q8_0 "$model" 2>/dev/null >once
	try apr-quant q8_0 once
	[ "$status" -eq 0 ]
	diff "$err" - <<-END
		apr-quant: 22 tensors stay Q8_0: mixture
		apr-quant: 7 tensors stay F32: one dimension
		apr-quant: 1 tensor stays Q8_0: output matrix
		apr-quant: nothing to do: each tensor already has the type that q8_0 gives it
		apr-quant: 0 of 30 tensors change, 2.3 MiB -> 2.3 MiB
	END
	cmp once "$out"
	mkmodel <<-END >kept.gguf
		tensor a.bias F32 32 noise
		tensor lstm.weight_ih F32 2x32 noise
	END
	try apr-quant q8_0 -o made kept.gguf
	said 5 'no tensor is one that q8_0 changes'
	grep -qx 'hint: --dry-run says why each stays unchanged' "$err"
	[ ! -e made ]
	try apr-quant -n q8_0 kept.gguf
	said 5 'no tensor is one'
	grep -q '^lstm.weight_ih .* not a weight$' "$out"
	# Of no tensors at all, nothing was expected.
	mkmodel <<<'key a u32 1' >empty.gguf
	try apr-quant q8_0 empty.gguf
	[ "$status" -eq 0 ]
}

@test "--fallback says what becomes of such rows" {
	local type
	rows_of_172 8 8 >model.gguf
	try apr-quant q4_0 --fallback error model.gguf
	said 5 'blk.0.ffn_down.weight: Q4_0 needs rows of 32, got 172'
	grep -qF 'hint: --fallback warn takes F16 instead' "$err"
	for type in warn:F16 f16:F16 BF16:BF16 f32:F32; do
		try apr-quant q4_0 --fallback "${type%:*}" model.gguf
		[ "$status" -eq 0 ]
		grep -qF "blk.0.ffn_down.weight: rows of 172 do not fill Q4_0, ${type#*:} is used" "$err"
		types_of "$out" | grep -qx "blk.0.ffn_down.weight ${type#*:}"
	done
	try apr-quant q4_0 --fallback q8_0 model.gguf
	said 5 'blk.0.ffn_down.weight: the fallback Q8_0 needs rows of 32, got 172'
	for type in sometimes GGML_99; do
		try apr-quant q4_0 --fallback "$type" model.gguf
		said 2 '--fallback needs error, warn or a type'
	done
	# Where everything fits, the option has nothing to do.
	apr-quant q4_0 --fallback error "$model" | cmp - <(apr-quant q4_0 "$model")
}

@test "a real model with rows of 172 becomes what llama-quantize makes of it" {
	local type folder=$APR_TEST_DATA/models/stories260K
	need_data
	try apr-quant q8_0 "$folder/stories260K-f32.gguf"
	[ "$status" -eq 0 ]
	grep -qx 'apr-quant: 5 tensors, the first is blk.0.ffn_down.weight: rows of 172 do not fill Q8_0, F16 is used' "$err"
	for type in Q8_0 Q4_0 F16 BF16; do
		APR_LOG_LEVEL=error apr-quant "$type" --fallback warn "$folder/stories260K-f32.gguf" >made
		apr-unpack "$folder/stories260K-$type.gguf" >want
		diff <(digests_of made) <(digests_of want)
	done
}

@test "what stays as it is is told, like cases in one line" {
	try apr-quant q4_0 "$model"
	[ "$status" -eq 0 ]
	diff "$err" - <<-END
		apr-quant: 7 tensors stay F32: one dimension
		apr-quant: 23 of 30 tensors change, 4.4 MiB -> 1.3 MiB
	END
	try env APR_LOG_LEVEL=error apr-quant q4_0 "$model"
	quiet
}

@test "the dry run is the run" {
	local type o
	rows_of_172 8 8192 >rows.gguf
	for type in f32 f16 bf16 q8_0 q4_0; do
		for o in '' --pure; do
			apr-quant -n $type $o "$model" | planned >plan
			[ "$(wc -l <plan)" -eq 30 ]
			apr-quant $type $o "$model" >made
			diff plan <(types_of made)
			apr-quant -n $type $o rows.gguf | planned >plan
			apr-quant $type $o rows.gguf >made
			diff plan <(types_of made)
		done
	done
	apr-quant -n q4_0 rows.gguf | grep -q 'but rows of 172 do not fill Q4_0$'
	# Its sizes are those of the output.
	apr-quant -n q4_0 "$model" | awk '/ -> / && !/^30 tensors/ { print $6 }' >bytes
	apr-quant q4_0 "$model" >made
	diff bytes <(apr-header -l made | awk '{ print $NF }')
}

@test "the dry run writes nothing, and fails as the run would" {
	rows_of_172 25000 25000 >model.gguf
	try apr-quant -n q4_0 -o made "$model"
	quiet
	[ ! -e made ]
	try apr-quant -n q4_0 model.gguf
	said 5 '72.9 %'
	grep -q '^blk.0.ffn_down.weight .* F32 -> F16 .* do not fill Q4_0$' "$out"
	try apr-quant -n q4_0 --fallback error model.gguf
	said 5 'needs rows of 32'
}

@test "--json: an object a line, of the dry run and of the check" {
	local row='^\{"name":"[a-z0-9_.]+","from":"[A-Z0-9_]+","to":"[A-Z0-9_]+",'
	apr-quant -n --json q4_0 "$model" >plan
	[ "$(grep -Ec "$row"'"wanted":"[A-Z0-9_]+","bytes":[0-9]+,"rule":"[a-z ]+"' plan)" -eq 30 ]
	[ "$(wc -l <plan)" -eq 30 ]
	objects <plan
	grep -qF '{"name":"output.weight","from":"BF16","to":"Q6_K","wanted":"Q6_K","bytes":215040,"rule":"output matrix"' plan
	APR_LOG_LEVEL=error apr-quant --check --json q4_0 "$model" 2>check >made
	local number='-?[0-9.]+(e[-+][0-9]+)?'
	[ "$(grep -Ec "${row%\"to*}"'"to":"[A-Z0-9_]*","rmse":'"$number"',"relative":'"$number"',"max":'"$number"',"cosine":'"$number"'\}$' check)" -eq 23 ]
	[ "$(wc -l <check)" -eq 24 ]
	objects <check
	tail -n 1 check | grep -q '^{"name":"all","from":"","to":"","rmse":'
}

@test "--check: no error where nothing is lost, a plausible one elsewhere" {
	export APR_LOG_LEVEL=error
	apr-quant f32 --check "$model" 2>check >made
	[ "$(wc -l <check)" -eq 24 ]
	[ "$(grep -c 'rmse 0.000e+00  relative 0.000e+00  max 0.000e+00  cosine 1.000000$' check)" -eq 24 ]
	# Relative error of the whole model: Q8_0 below 1 %, Q4_0 8 to 10 %.
	apr-quant q8_0 --check "$model" 2>check >made
	awk '$1 == "all" { ok = $6 > 0.002 && $6 < 0.01 } END { exit !ok }' check || fail "$(cat check)"
	apr-quant q4_0 --pure --check "$model" 2>check >made
	awk '$1 == "all" { ok = $6 > 0.08 && $6 < 0.1 } END { exit !ok }' check || fail "$(cat check)"
	# The check changes nothing.
	apr-quant q4_0 --pure "$model" | cmp - made

	# By hand: 65 of 64 is the largest, so the scale is -8.125 and 1 becomes 0.
	mkmodel <<-END >one.gguf
		tensor a.weight F32 2x32 values 65 1
	END
	apr-quant q4_0 --check one.gguf 2>check >made
	grep -qF 'rmse 7.071e-01  relative 1.538e-02  max 1.000e+00' check
}

@test "--check: a warning where too much is lost, in the metadata of a FILE" {
	local lost='in 13 of 23 changed tensors the squared error exceeds 5 % of the squared weights, most in blk.0.attn_k.weight (Q2_K): 9.0 %'
	local key='"apr.quantization.warning","string","in 13 of 23 '
	apr-quant --check -o warned q2_k "$model" 2>notes
	grep -qxF "apr-quant: $lost" notes
	[ "$(grep -c '^all ' notes)" -eq 1 ]
	apr-header --json warned | grep -qF "$key"
	# Nothing else differs, on any number of threads, through every container.
	apr-quant q2_k "$model" 2>notes >plain
	cmp <(apr-unpack warned | digests) <(apr-unpack plain | digests)
	apr-quant --check -j 3 q2_k "$model" 2>notes | cmp - warned
	apr-pack -t gguf warned | apr-unpack - | cmp - warned
	# The error remains, and so does the record of it.
	apr-quant f16 warned 2>notes | apr-header --json | grep -qF "$key"
	# Better types, no record asked for, or one reading: no key.
	for type in q3_k_s q4_0 q8_0; do
		apr-quant --check $type "$model" 2>notes >made
		! grep -aq quantization.warning made || false
		! grep 'exceeds' notes || false
	done
	apr-quant --check --no-record q2_k "$model" 2>notes >made
	! grep -aq quantization.warning made || false
	grep -qxF "apr-quant: $lost" notes
	apr-unpack "$model" | apr-quant --check q2_k 2>notes | cmp - plain
	grep -qxF "apr-quant: $lost" notes
	grep -q 'the metadata has no warning: it precedes the data' notes
	apr-quant --check q2_k "$model" 2>&1 >/dev/null | grep -qxF "apr-quant: $lost"
	# A failure during the measurement leaves no output.
	try apr-quant --check --max-rmse 0.01 -o none q2_k "$model"
	[ "$status" -eq 5 ]
	[ ! -e none ]
}

@test "--check: a model that changes between its two readings is refused" {
	mkmodel <<<'tensor a.weight F32 4x256 noise' >m.gguf
	mkmodel <<<'tensor b.weight F32 4x256 noise' >other.gguf
	# The reader of the second pass begins after the first: the command of --hook swaps
	# the files before that.
	try apr-quant --check --hook 'cp other.gguf m.gguf; echo q4_0 #' -o made q4_0 m.gguf
	[ "$status" -eq 4 ]
	grep -qx 'apr-quant: m.gguf: changed while it was read (E002)' "$err"
	[ ! -e made ]
}

@test "NaN, infinities and what becomes infinite: exit 5, tensor and counts" {
	local type
	export APR_LOG_LEVEL=error
	mkmodel <<-END >nan.gguf
		tensor ok.weight F32 2x32 noise
		tensor bad.weight F32 2x32 values 1 nan 0x7f800000 0xff800000
	END
	for type in f16 bf16 q8_0 q4_0; do
		try apr-quant $type nan.gguf
		said 5 'bad.weight: values not finite: 48'
		grep -qF 'hint: --allow-nonfinite' "$err"
		try apr-quant $type -o made nan.gguf
		said 5
		[ ! -e made ]
		try apr-quant $type --allow-nonfinite nan.gguf
		quiet
		APR_LOG_LEVEL='' try apr-quant $type --allow-nonfinite nan.gguf
		grep -qF 'apr-quant: bad.weight: values not finite: 48' "$err"
	done
	# A copy does not change values, so nothing is judged.
	try apr-quant f32 nan.gguf
	quiet
}

@test "half precision ends at 65504" {
	export APR_LOG_LEVEL=error
	mkmodel <<-END >in.gguf
		tensor a.weight F32 2x32 values 1 65504 -65519.996
	END
	try apr-quant f16 in.gguf
	quiet
	mkmodel <<-END >out.gguf
		tensor a.weight F32 2x32 values 1 65520 -65519.996
	END
	try apr-quant f16 out.gguf
	said 5 'a.weight: values not finite: 0, too large for F16: 21'
	try apr-quant bf16 out.gguf
	quiet
	mkmodel <<-END >scale.gguf
		tensor a.weight F32 2x32 values 1 1e30
	END
	try apr-quant q8_0 scale.gguf
	said 5 'too large for Q8_0: 64'
	try apr-quant f16 --allow-nonfinite scale.gguf
	quiet
	mkmodel <<<'tensor a.weight F16 2x32 values 0x3c00 0x7c00' >want.gguf
	apr-unpack want.gguf >want
	cmp <(digests_of "$out") <(digests_of want)
}

@test "the keys that tell a loader are set" {
	local pair
	for pair in f32:0 f16:1 bf16:32 q8_0:7 q4_0:2; do
		apr-quant "${pair%:*}" "$model" >made
		apr-header made >header
		grep -Eq "^  general.file_type +u32 +${pair#*:}\$" header
		grep -Eq '^  general.quantization_version +u32 +2$' header
		[ "$(grep -c general.file_type header)" -eq 1 ]
	done
	# At the end, in the order of llama-quantize, whatever their place was.
	mkmodel <<-END >model.gguf
		key a u32 1
		key general.file_type u32 99
		key z u32 1
		tensor a.weight F32 2x32 noise
	END
	apr-quant --no-record q8_0 model.gguf >made
	diff <(apr-header made | sed -n '/^metadata/,$ s/^  \([^ ]*\) .* /\1 /p') - <<-END
		a 1
		z 1
		general.quantization_version 2
		general.file_type 7
	END
}

@test "a signature ends here: a record of it goes on, through GGUF and APR2" {
	local id root
	id=$(apr-keygen -W -o key)
	pipe "apr-unpack '$model' | apr-sign key" >signed.aprs
	root=$(apr-verify -q --json key.pub signed.aprs | sed 's/.*"root":"\([0-9a-f]*\)".*/\1/')
	[ ${#root} -eq 64 ]
	try apr-quant q4_0 signed.aprs
	[ "$status" -eq 0 ]
	cp "$out" made.aprs
	grep -qF 'apr-quant: the content changes: its signature, which was not verified, is dropped, and a record of its claims kept' "$err"
	grep -aqF "{\"operation\":\"apr-quant q4_0\",\"claimed_parent\":\"$root\",\"claimed_key\":\"${id,,}\"}" made.aprs
	try apr-verify -q key.pub made.aprs
	said 1 'the model is not signed'

	apr-pack -o made.apr made.aprs
	apr-pack -t gguf -o made.gguf made.aprs
	for file in made.apr made.gguf; do
		apr-header $file | grep -Eq '^provenance +1 \(claims\)$'
		apr-unpack $file >back
		grep -aqF "\"claimed_parent\":\"$root\",\"claimed_key\":\"${id,,}\"}" back
		cmp <(digests_of back) <(digests_of made.aprs)
	done

	# Signed and changed once more, there are two records.
	pipe "apr-sign key made.aprs | apr-quant --pure --allow-requantize q8_0 | apr-sign key" >twice
	apr-verify -q key.pub twice
	[ "$(grep -ao '{"operation":"[^"]*"' twice | tr '\n' ' ')" = \
		'{"operation":"apr-quant q4_0" {"operation":"apr-quant q8_0 --pure" ' ]
	# Where nothing was signed there is nothing to record.
	apr-quant q4_0 "$model" >made
	apr-header made | grep -Eq '^provenance +0$'
}

@test "tensors keep the order of their source" {
	tensor_names() {
		apr-header -l "$1" | cut -d' ' -f1
	}
	apr-quant -o made q4_0 "$model" 2>/dev/null
	diff <(tensor_names made) <(tensor_names "$model")
	[ "$(tensor_names made | head -n 1)" != "$(tensor_names made | sort | head -n 1)" ]
}

@test "what is no weight passes untouched" {
	mkmodel <<-END >odd.gguf
		key general.architecture string llama
		key long.ids array:i32 *2000
		key text string caf\xc3\xa9
		tensor blk.0.ffn_down.weight F32 4x64 noise
		tensor none.weight F32 0x64 noise
		tensor strange.table 77:64 3x3 ramp
		tensor a.bias F32 16 noise
		tensor scalar.weight F32 - values 3
		tensor ids.weight I32 2x32 ramp
		tensor wide.weight F64 64 ramp
	END
	apr-unpack odd.gguf >odd.aprs
	apr-quant q4_0 odd.aprs >made
	diff <(types_of made) - <<-END
		blk.0.ffn_down.weight Q4_0
		none.weight Q4_0
		strange.table GGML_77
		a.bias F32
		scalar.weight F32
		ids.weight I32
		wide.weight F64
	END
	diff <(digests_of made | grep -v ' Q4_0 ') \
		<(digests_of odd.aprs | grep -Ev '^(blk|none)')
	diff <(apr-header made | sed -n '/^metadata/,$p' | grep -Ev '^metadata|general.(file|quant)|apr.quantization' | tr -s ' ') \
		<(apr-header odd.aprs | sed -n '/^metadata/,$p' | grep -v ^metadata | tr -s ' ')
	# The long value is the same to the byte.
	pipe "apr-pack -t gguf made" >made.gguf
	apr-unpack made.gguf >back
	cmp <(digests_of back) <(digests_of made)
}

@test "what cannot be computed is refused by name" {
	mkmodel <<-END >odd.gguf
		tensor strange.weight 77:64 3x3 ramp
	END
	try apr-quant q4_0 odd.gguf
	said 4 'strange.weight: GGML_77 cannot be'
	grep -qF '(E001)' "$err"
	mkmodel <<-END >odd.gguf
		tensor wide.weight F64 2x32 ramp
	END
	try apr-quant q4_0 odd.gguf
	said 4 'wide.weight: F64 cannot be'
	grep -qF '(E001)' "$err"
}
