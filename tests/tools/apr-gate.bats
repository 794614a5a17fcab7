# apr-gate: a model is passed on only if it is as good as a reference.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cp "$model" m.gguf
}

# damaged TENSOR zero|swap|double: makes bad.gguf.
damaged() {
	local at n
	read -r at n < <(apr-header -l --json m.gguf |
		sed -n "s/.*\"name\":\"$1\".*\"offset\":\([0-9]*\),\"bytes\":\([0-9]*\).*/\1 \2/p")
	"$APR_GEN/damage" m.gguf bad.gguf "$at" "$n" "$2"
}

@test "apr-gate passes the exam" {
	exam filter apr-gate --against "$model"
}

@test "a quantized model passes tensors, canary and text, byte for byte" {
	apr-canary create -p ROMEO: -o canary.json m.gguf
	apr-run -p ROMEO: -n 250 m.gguf >text
	apr-quant q4_k_m m.gguf >q4 2>/dev/null
	try apr-gate --against m.gguf --canary canary.json --text text --context 64 --max-kl 0.05 \
		--report r.json <q4
	[ "$status" -eq 0 ]
	cmp "$out" q4
	grep -qx 'apr-gate: 0 of 30 tensors exceed the limits' "$err"
	grep -qx 'apr-gate: PASS' "$err"
	grep -q '^apr-gate: text: perplexity .*, ratio ' "$err"
	grep -q '^{"kind":"text",.*"verdict":"pass"}$' r.json
	grep -q '"breaches":\[\],"verdict":"pass"}$' r.json
	# From a file, whose tensors are not read through the pipe.
	try apr-gate --against q4 --max-delta 0 q4
	[ "$status" -eq 0 ]
	apr-sum - <"$out" | cmp - <(apr-sum - <q4)
}

@test "a damaged tensor is named, and nothing is left on disk" {
	local row
	apr-canary create -p ROMEO: -p 'KING HENRY:' -p 'First Citizen:' -o canary.json m.gguf
	for row in 'blk.1.attn_q.weight swap' 'blk.2.attn_k.weight zero' \
		'blk.0.ffn_down.weight double'; do
		# shellcheck disable=SC2086
		damaged $row
		try apr-gate --against m.gguf -o made bad.gguf
		[ "$status" -eq 5 ]
		grep -q "^apr-gate: ${row% *}: DRIFT .* !!!\$" "$err"
		grep -qF "bad.gguf: 1 breach of the limits, the first in ${row% *}: it is not" "$err"
		APR_LOG_LEVEL=error try_pipe 'apr-unpack bad.gguf | apr-gate --canary canary.json |
			apr-pack -o made'
		[ "$status" -ne 0 ]
		grep -q 'breach' "$err"
		[ ! -e made ] || fail "$row: a file is left"
	done
	# Reported only.
	try apr-gate --against m.gguf --no-gate bad.gguf
	[ "$status" -eq 0 ]
	apr-sum - <"$out" | cmp - <(apr-sum bad.gguf)
}

@test "a tensor that is missing is a breach, and a figure of the text" {
	apr-unpack --except blk.1.attn_q m.gguf >less
	try apr-gate --against m.gguf <less
	[ "$status" -eq 5 ]
	grep -q '^apr-gate: blk.1.attn_q.weight: REMOVED .*!!!$' "$err"
	apr-run -p ROMEO: -n 250 m.gguf >text
	damaged blk.1.attn_q.weight zero
	try apr-gate --against m.gguf --max-drift 2 --text text --context 64 --max-ppl 1 --report r.json bad.gguf
	[ "$status" -eq 5 ]
	grep -q '^apr-gate: text: FAIL: the ratio of perplexities' "$err"
	grep -q '"kind":"text".*"verdict":"fail"' r.json
}

# bats test_tags=repeats
@test "the reference may be a folder" {
	apr-adapt hf m.gguf | apr-pack -t safetensors -o folder/
	try apr-gate --against folder --max-delta 0 m.gguf
	[ "$status" -eq 0 ]
	try apr-gate --against m.gguf --max-delta 0 folder
	[ "$status" -eq 0 ]
	apr-unpack folder >folder.aprs
	cmp folder.aprs "$out"
	# Rows of a damaged folder are found where they are, although GGUF has them in another order.
	try_pipe "cat folder.aprs | apr-quant q4_0 | apr-gate --against m.gguf --max-drift 0.02"
	[ "$status" -eq 5 ]
	grep -q '^apr-gate: model.layers.0.self_attn.q_proj.weight: .*!!!$' "$err"
	apr-unpack m.gguf | apr-quant q8_0 | apr-pack -t gguf -o q.gguf
	try apr-gate --against q.gguf folder
	said 4 'which model folders do not have'
}

@test "what is wrong is refused" {
	try apr-gate m.gguf
	said 2 'no gate'
	try apr-gate --canary c --max-drift 1 m.gguf
	said 2 'need --against'
	try apr-gate --against m.gguf --max-kl 1 m.gguf
	said 2 'needs --canary or --text'
	try apr-gate --against m.gguf --max-ppl 1 m.gguf
	said 2 'need --text'
	try apr-gate --against - m.gguf
	said 2 'needs a file'
	try apr-gate --canary - <m.gguf
	said 2 'only one of the inputs'
	try apr-gate --against none -o made m.gguf
	said 3 'none'
	try apr-gate --canary none -o made m.gguf
	said 3 'none'
	printf '{"apr_canary":9}' >c
	try apr-gate --canary c -o made m.gguf
	said 4 'version 9'
	head -c 1000000 m.gguf >cut.gguf
	try apr-gate --against cut.gguf -o made m.gguf
	said 4 '(E002)'
	try apr-gate --against m.gguf --report c -o made m.gguf
	said 2 'exists'
	[ ! -e made ]
}

@test "neither report nor output replaces a file that is read" {
	local of
	mv m.gguf m
	cp m other
	apr-canary create -p ROMEO: -o canary.json m
	echo words >text
	for of in m other canary.json text; do
		cp "$of" before
		try apr-gate --against other --canary canary.json --text text --report $of -f -o out m
		said 2 "$of: is the input file itself"
		try apr-gate --against other --canary canary.json --text text --report r -f -o $of m
		said 2 "$of: is the input file itself"
		cmp "$of" before
	done
	try apr-gate --against other --report out -f -o out m
	said 2 'the report and the output are the same file'
}
