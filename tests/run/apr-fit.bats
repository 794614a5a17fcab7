# apr-fit: a type for each tensor
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	text=$root/README.md
	few=(--text "$text" --context 32 --chunks 3)
}

# Bytes of all tensors of a model.
tensor_bytes() {
	apr-header -l --json "$1" | sed -n 's/.*"bytes":\([0-9]*\).*/\1/p' |
		awk '{ sum += $1 } END { printf "%d\n", sum }'
}

# The mean divergence of a model from the reference on a text.
divergence() {
	rm -f report
	apr-unpack "$1" | apr-gate --no-gate --against "$model" --text "$2" \
		--context 128 --report report >/dev/null 2>&1
	sed -n '/"kind":"text"/s/.*"kl":\[\([0-9.e-]*\).*/\1/p' report
}

@test "apr-fit passes the exam" {
	exam report apr-fit --types q8_0 --text "$text" --context 8 --chunks 2 \
		--target-size 3M
}

@test "the tensors have the size that was asked for, and the rules give what was measured" {
	apr-fit --target-size 1400000 "${few[@]}" "$model" >rules 2>said
	[ "$(wc -l <rules)" -eq 23 ]
	apr-quant --tensor-type-file rules q8_0 "$model" 2>/dev/null | apr-pack -t gguf -o fit.gguf
	bytes=$(tensor_bytes fit.gguf)
	[ "$bytes" -le 1400000 ] && [ "$bytes" -gt 1380000 ]
	grep -q "^apr-fit: $bytes bytes of tensors, 4\.8" said || fail "$bytes" "$(cat said)"
	apr-fit --target-size 1400000 "${few[@]}" -j 1 "$model" 2>/dev/null | cmp - rules
	apr-unpack "$model" | apr-fit --target-size 1400000 "${few[@]}" -j 3 2>/dev/null | cmp - rules
}

# bats test_tags=repeats
@test "at the size of q4_k_m, the divergence on another text is lower than that of q4_k_m" {
	texts=$APR_TEST_DATA
	[ -d "$texts/text" ] || skip 'no reference data: APR_TEST_DATA'
	apr-quant q4_k_m "$model" 2>/dev/null | apr-pack -t gguf -o q.gguf
	apr-fit --target-size "$(tensor_bytes q.gguf)" --context 128 --chunks 8 \
		--text "$texts/text/tinyshakespeare.txt" "$model" >rules 2>/dev/null
	apr-quant --tensor-type-file rules q8_0 "$model" 2>/dev/null | apr-pack -t gguf -o fit.gguf
	[ "$(tensor_bytes fit.gguf)" -le "$(tensor_bytes q.gguf)" ]
	head -c 12000 "$texts/models/shakespeare/validation.txt" >other
	fit=$(divergence fit.gguf other)
	mixture=$(divergence q.gguf other)
	awk -v a="$fit" -v b="$mixture" 'BEGIN { exit !(a > 0 && a < 0.9 * b) }' ||
		fail "$fit, q4_k_m: $mixture"
}

@test "--target-kl holds as measured; a larger one gives a smaller model" {
	apr-fit --target-kl 0.02 "${few[@]}" --json "$model" >close
	apr-fit --target-kl 0.2 "${few[@]}" --json "$model" >far
	for of in close:0.02 far:0.2; do
		sed -n '1s/.*"kl":\[\([0-9.e-]*\).*/\1/p' "${of%:*}" |
			awk -v most="${of#*:}" '{ exit !($1 > 0 && $1 <= most) }' || fail "$of"
	done
	[ "$(sed -n '1s/.*"bytes":\([0-9]*\).*/\1/p' close)" -gt \
		"$(sed -n '1s/.*"bytes":\([0-9]*\).*/\1/p' far)" ]
}

@test "every type is measured with --thorough; more bytes have less harm" {
	apr-fit --target-size 2M --thorough --types q4_0,q8_0,f16 --text "$text" --context 16 \
		--chunks 2 --json "$model" >all 2>said
	[ "$(grep -c '"kind":"tensor"' all)" -ge 46 ]
	sed -n 's/.*"name":"\([^"]*\)".*"bytes":\([0-9]*\).*"harm":\([0-9.e-]*\).*/\1 \2 \3/p' all |
		awk '$1 == name && !($2 > bytes && $3 < harm) { exit 1 }
			{ name = $1; bytes = $2; harm = $3 }'
	[ "$(grep -c '"chosen":true' all)" -eq 23 ]
}

@test "what cannot be reached, and wrong use, are refused" {
	try apr-fit --target-size 1000 "${few[@]}" "$model"
	said 5 'its tensors take at least'
	try apr-fit --target-size 2M "$model"
	said 2 '--text is missing'
	try apr-fit "${few[@]}" "$model"
	said 2 'give one of'
	try apr-fit --target-size 2M --target-kl 1 "${few[@]}" "$model"
	said 2 'give one of'
	try apr-fit --target-size 2M --types q4_k,what "${few[@]}" "$model"
	said 2 'what is not a type'
	try apr-fit --target-size 2M --types '' "${few[@]}" "$model"
	said 2
	try apr-fit --target-size 2M --types iq2_xxs "${few[@]}" "$model"
	said 5 'some types need --imatrix'
	try apr-fit --target-size 2M --text missing "$model"
	said 3 'missing: cannot be opened'
	try apr-fit --target-size 2M "${few[@]}" missing
	said 3
	echo few >short
	try apr-fit --target-size 2M --text short "$model"
	said 5 'fewer than twice'
	try apr-fit --target-size 2M "${few[@]}" --imatrix "$model" "$model"
	said 4 'no importance matrix'
}

@test "an importance matrix is used" {
	apr-fit --target-size 1200000 "${few[@]}" --types iq2_xxs,iq3_xxs,q4_k,q6_k \
		--imatrix "$root/tests/data/imatrix.gguf" "$model" >rules 2>/dev/null
	apr-quant --tensor-type-file rules --imatrix "$root/tests/data/imatrix.gguf" q8_0 "$model" \
		2>/dev/null | apr-pack -t gguf -o fit.gguf
	[ "$(tensor_bytes fit.gguf)" -le 1200000 ]
}
