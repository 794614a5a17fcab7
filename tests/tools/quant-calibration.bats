# apr-quant --calibration: columns weigh what a text says
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	model=$root/tests/data/arch/gemma2.gguf
	# Two parts of 256 tokens.
	for _ in {1..6}; do cat "$root/tests/data/greedy.ROMEO.n120.txt"; done | head -c 1500 >text
}

tensors_of() {
	digests <"$1" | sort
}

@test "mse gives the bytes of apr-imatrix and --imatrix; the other methods give others" {
	local method
	apr-imatrix --reproducible --process-output --text text -o m.imatrix "$model"
	apr-quant q4_0 --imatrix m.imatrix "$model" >want
	apr-quant q4_0 "$model" >none
	for method in mse minmax percentile; do
		apr-quant q4_0 --calibration text --calibration-method $method "$model" >$method
	done
	# Of so few tokens, 99.9 percent are all.
	cmp <(tensors_of minmax) <(tensors_of percentile)
	apr-quant q4_0 --calibration text --calibration-method percentile \
		--calibration-percentile 98 "$model" >percentile
	cmp <(tensors_of want) <(tensors_of mse)
	apr-quant q4_0 --calibration text --calibration-method percentile \
		--calibration-percentile 100 "$model" >whole
	cmp <(tensors_of minmax) <(tensors_of whole)
	[ "$(for of in none mse minmax percentile; do tensors_of $of | sha256sum; done | sort -u | wc -l)" -eq 4 ]
}

@test "the record names method, parts, tokens and the text; a later run replaces it" {
	local sum
	sum=$(sha256sum <text)
	apr-quant q8_0 --calibration text --calibration-method percentile --calibration-percentile 99.5 \
		--calibration-samples 1 "$model" >made
	apr-header made | grep '  apr.quantization.cal' | awk '{ print $1, $2, $3 }' >keys
	diff keys - <<-END
		apr.quantization.calibration_method string percentile
		apr.quantization.calibration_percentile f32 99.5
		apr.quantization.calibration_samples u32 1
		apr.quantization.calibration_tokens u64 256
		apr.quantization.calibration_sha256 string ${sum%% *}
	END
	! apr-header made | grep -q quantize.imatrix
	apr-quant f16 made >again
	[ "$(apr-header again | grep '  apr.quantization.cal' | awk '{ print $1, $2, $3 }')" = \
		'apr.quantization.calibration_method string none' ]
}

@test "the same bytes from a file, a pipe and a redirection, at each level, with any number of threads" {
	local level
	apr-quant q8_0 --calibration text --calibration-samples 1 -j 3 "$model" >want
	apr-unpack "$model" >stream
	{ cat stream; } | apr-quant q8_0 --calibration text --calibration-samples 1 -j 2 | cmp - want
	for level in $(levels); do
		APR_CPU=$level apr-quant q8_0 --calibration text --calibration-samples 1 -j 1 <stream | cmp - want
	done
	# Each block of Q8_0 is at least as near, with the weights of its columns.
	apr-quant q8_0 "$model" >none
	! cmp -s none want
	# Twice read, for a warning in the metadata.
	apr-quant q8_0 --check --calibration text --calibration-samples 1 "$model" -o twice 2>errors
	cmp <(tensors_of want) <(tensors_of twice)
	grep -q '^token_embd.weight ' errors
}

@test "lines of JSON are texts" {
	for _ in {1..4}; do
		printf '{"text":"%s"}\n' "$(head -c 400 text | tr '\n"' '  ')"
	done >lines.jsonl
	apr-quant q4_0 --calibration lines.jsonl "$model" >made
	cp lines.jsonl lines.txt
	apr-quant q4_0 --calibration lines.txt "$model" | tensors_of /dev/stdin >as_text
	! cmp -s <(tensors_of made) as_text
	echo '{"text":1}' >>lines.jsonl
	try apr-quant q4_0 --calibration lines.jsonl "$model"
	said 4 'lines.jsonl: line 5: the object must have a text'
	[ ! -s "$out" ]
}

@test "--calibration: what cannot be a calibration, by name, and nothing is left" {
	local of=(apr-quant -f -o made)
	: >empty
	printf 'a\xffb' >bytes
	mkfifo pipe
	for words in \
		'5#is empty#--calibration empty q8_0' \
		'4#bytes: is not UTF-8 text#--calibration bytes q8_0' \
		"4#hint: an importance matrix is given with --imatrix#--calibration $root/tests/data/imatrix.gguf q8_0" \
		'2#pipe: is not a file#--calibration pipe q8_0' \
		'3#none: cannot be opened#--calibration none q8_0' \
		'2#--calibration: standard input is the model#--calibration - q8_0' \
		'2#--calibration-method needs --calibration FILE#--calibration-method mse q8_0' \
		'2#--calibration-samples needs --calibration FILE#--calibration-samples 2 q8_0' \
		'2#METHOD is mse, minmax or percentile, not max#--calibration text --calibration-method max q8_0' \
		'2#--calibration-percentile needs --calibration-method percentile#--calibration text --calibration-percentile 99 q8_0' \
		"2#give one of --imatrix and --calibration#--calibration text --imatrix $root/tests/data/imatrix.gguf q8_0" \
		'2#f16 has no ranges that --calibration could choose#--calibration text --calibration-samples 1 f16' \
		'2#reads the model before it is verified hint: apr-verify#--trusted-key key --calibration text q8_0'; do
		# shellcheck disable=SC2086
		try "${of[@]}" ${words##*#} "$model"
		words=${words%#*}
		said "${words%%#*}" "${words#*#}"
	done
	echo short >short
	try "${of[@]}" --calibration short q8_0 "$model"
	said 5 'apr-imatrix: the text has'
	try apr-quant -f -o text --calibration text q8_0 "$model"
	said 2 'is the input file itself'
	mkmodel <<-END >other.gguf
		key general.architecture string llama
		tensor a.weight F32 32x64 noise
	END
	try "${of[@]}" --calibration text q8_0 other.gguf
	[ "$status" -ne 0 ]
	[ ! -e made ]
}
