# Files of GGML's programs from before GGUF, of llama2.c, NumPy and Core ML: real ones, and where they lead.
load ../helper

# digests FILE: SHA-256 of each tensor, by name.
digests() {
	apr-unpack "$1" 2>/dev/null | apr-sum | grep ' tensor '
}

@test "GGML: real files have the tensors that Python finds in them" {
	need_data
	local f
	cd "$BATS_TEST_TMPDIR" || return
	for f in for-tests-ggml-tiny for-tests-silero-v6.2.0-ggml tiny-rwkv-4v0-660K-FP32 \
		tiny-rwkv-4v0-660K-FP16 tiny-rwkv-4v0-660K-Q5_1; do
		digests "$APR_TEST_DATA/import/ggml/$f.bin" >got
		cmp got <(digests - <"$APR_TEST_DATA/import/ggml/$f.bin") || fail "$f from a pipe"
		echo "$f $(wc -l <got) $(sort got | sha256sum | cut -c1-32)"
	done >all
	diff all "$root/tests/golden/ggml.txt"
}

@test "GGML: a file is packed as GGUF" {
	need_data
	cd "$BATS_TEST_TMPDIR" || return
	pipe "apr-unpack '$APR_TEST_DATA/import/ggml/for-tests-silero-v6.2.0-ggml.bin' |
		apr-pack -t gguf -o m.gguf"
	cmp <(digests m.gguf) <(digests "$APR_TEST_DATA/import/ggml/for-tests-silero-v6.2.0-ggml.bin")
}

@test "llama2.c: the file has the tensors of its GGUF twin, and the quantized one is near" {
	need_data
	local data=$APR_TEST_DATA/models/stories260K
	cd "$BATS_TEST_TMPDIR" || return
	digests "$data/stories260K-f32.gguf" | grep -v '  output.weight ' >want
	cmp want <(digests "$data/stories260K.bin")
	cmp want <(digests - <"$data/stories260K.bin")
	apr-unpack "$data/stories260K.bin" >a.aprs
	apr-unpack "$data/stories260K_q80.bin" >b.aprs 2>/dev/null
	paste <(apr-get --text blk.4.ffn_down.weight a.aprs | tr -s ' ' '\n') \
		<(apr-get --text blk.4.ffn_down.weight b.aprs | tr -s ' ' '\n') |
		awk '{ d = $1 - $2; e += d * d; s += $1 * $1; n++ } END { exit !(n == 11008 && e < 0.0002 * s) }'
}

@test "llama2.c: with its tokenizer a model speaks as llama2.c does" {
	need_data
	local data=$APR_TEST_DATA/models/stories260K
	cd "$BATS_TEST_TMPDIR" || return
	pipe "apr-unpack --tokenizer '$data/tok512.bin' '$data/stories260K.bin' | apr-pack -t gguf -o m.gguf"
	apr-run -p '' -n 40 --temp 0 m.gguf >got
	cmp -n 110 got "$data/stories260K.expected_t0_n200.txt"
	cmp <(apr-meta get tokenizer.ggml.tokens m.gguf) \
		<(apr-meta get tokenizer.ggml.tokens "$data/stories260K-f32.gguf")
	try apr-unpack --tokenizer missing.bin "$data/stories260K.bin"
	said 3 'missing.bin: cannot be opened'
	head -c 6000 "$data/tok512.bin" >short.bin
	try apr-unpack --tokenizer short.bin "$data/stories260K.bin"
	said 4 'short.bin: byte'
	{ cat "$data/tok512.bin"; echo; } >long.bin
	try apr-unpack --tokenizer long.bin "$data/stories260K.bin"
	said 4 'more tokens than the 512 of the model'
	try apr-unpack --tokenizer "$data/tok512.bin" "$data/stories260K-f32.gguf"
	said 5 '--tokenizer needs a file of format llama2c'
}

@test "NumPy: real files have the arrays that Python finds in them" {
	need_data
	local f
	cd "$BATS_TEST_TMPDIR" || return
	for f in mel_filters.npz mtcnn_weights.npy torchcrepe_activation-tiny.npy; do
		digests "$APR_TEST_DATA/import/numpy/$f" >got
		cmp got <(digests - < <(cat "$APR_TEST_DATA/import/numpy/$f")) || fail "$f from a pipe"
		echo "$f $(wc -l <got) $(sort got | sha256sum | cut -c1-32)"
	done >all
	diff all "$root/tests/golden/numpy.txt"
}

@test "Core ML: real files have the tensors that Python finds in them" {
	need_data
	local f
	cd "$BATS_TEST_TMPDIR" || return
	for f in MNIST_swiftbrain TinyDrawingEmbedding MarsHabitatPricer; do
		digests "$APR_TEST_DATA/import/coreml/$f.mlmodel" >got
		echo "$f.mlmodel $(wc -l <got) $(sort got | sha256sum | cut -c1-32)"
	done >all
	diff all <(grep -v mlpackage "$root/tests/golden/coreml.txt")
}

@test "Core ML: a real package has the tensors that Python finds in it" {
	need_data
	local p=$APR_TEST_DATA/import/coreml/basic_pitch_nmp.mlpackage n
	cd "$BATS_TEST_TMPDIR" || return
	digests "$p" >got
	echo "basic_pitch_nmp.mlpackage $(wc -l <got) $(sort got | sha256sum | cut -c1-32)" |
		diff - <(grep mlpackage "$root/tests/golden/coreml.txt")
	cmp got <(digests "$p"/Data/*/model.mlmodel)
	for n in conv_0_weight_0:53ca47cf squeeze_1:d53fb9a2 const_48:a9952cc3 transpose_61:639216cb; do
		[ "$(apr-get "${n%:*}" "$p" 2>/dev/null | gzip -c | tail -c 8 | od -An -tx4 -N4)" = " ${n#*:}" ] ||
			fail "$n"
	done
	try apr-unpack - <"$(echo "$p"/Data/*/model.mlmodel)"
	said 4 'cannot be found from a pipe'
}
