# Files of GGML's programs from before GGUF: real ones, and where they lead.
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

@test "GGML: rwkv.cpp's quantized tensors are near those that they come from" {
	need_data
	local data=$APR_TEST_DATA/import/ggml
	cd "$BATS_TEST_TMPDIR" || return
	apr-unpack "$data/tiny-rwkv-4v0-660K-FP32.bin" >a.aprs
	apr-unpack "$data/tiny-rwkv-4v0-660K-Q5_1.bin" >b.aprs
	paste <(apr-get --text blocks.1.att.key.weight a.aprs | tr -s ' ' '\n') \
		<(apr-get --text blocks.1.att.key.weight b.aprs | tr -s ' ' '\n') |
		awk '{ d = $1 - $2; e += d * d; s += $1 * $1; n++ } END { exit !(n == 16384 && e < 0.002 * s) }'
}

@test "GGML: a file is packed as GGUF" {
	need_data
	cd "$BATS_TEST_TMPDIR" || return
	pipe "apr-unpack '$APR_TEST_DATA/import/ggml/for-tests-silero-v6.2.0-ggml.bin' |
		apr-pack -t gguf -o m.gguf"
	cmp <(digests m.gguf) <(digests "$APR_TEST_DATA/import/ggml/for-tests-silero-v6.2.0-ggml.bin")
}
