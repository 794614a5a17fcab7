# apr-explain: words for models, tensors, codes and failures
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

@test "apr-explain passes the exam" {
	exam_cut=1000
	exam report apr-explain
	exam_cut=1000000
	exam report apr-explain --tensor output.weight
}

@test "a model: what it is, as text and as JSON" {
	try apr-explain "$model"
	quiet
	head -n 1 "$out" | grep -q 'LLaMA, 2.3M parameters$'
	for line in 'architecture  decoder-only transformer: 3 blocks, hidden size 256' \
		'runs          apr-run runs this architecture'; do
		grep -qxF "$line" "$out" || fail "$line"
	done
	try apr-explain --json "$model"
	quiet
	grep -qF '"numbers":{"blocks":3,"hidden_size":256,"heads":8,"kv_heads":4,"head_size":32,' "$out"
}

@test "an architecture that is not known, and one that nothing states" {
	printf 'key general.architecture string nought\ntensor a F32 2 values 1 2\n' | mkmodel >a.gguf
	try apr-explain a.gguf
	quiet
	grep -q 'not known here: nought' "$out"
	try apr-explain --tensor a a.gguf
	quiet
	grep -q '^role .*not known' "$out"
	printf 'tensor a F32 2 values 1 2\n' | mkmodel >b.gguf
	try apr-explain b.gguf
	quiet
	grep -q 'does not state its architecture' "$out"
}

@test "V-12: --tensor: role, shape, statistics; near names if there is none (CHECK-066)" {
	try apr-explain --tensor blk.1.ffn_down.weight "$model"
	quiet
	grep -qx 'role          down projection of block 1' "$out"
	grep -qx 'shape         256 outputs x 512 inputs (hidden size x feed-forward size)' "$out"
	grep -q '^statistics    mean ' "$out"
	try apr-explain --tensor blk.1.ffn_dwn.weight "$model"
	said 1 'has no tensor blk.1.ffn_dwn.weight'
	grep -q 'did you mean blk.1.ffn_down.weight' "$err"
	printf 'tensor x F32 4 values 1 0x7fc00000 0x7f800000 0\n' | mkmodel >nan.gguf
	try apr-explain --tensor x nan.gguf
	quiet
	grep -q '^verdict .*1 values are NaN and 1 infinite (NanDetected)' "$out"
}

@test "V-12: each code is explained, and an unknown one is said to be unknown (CHECK-065)" {
	for code in E001 E002 E003 E004 E005 E006 E007 E008 e004 exit-5; do
		try apr-explain $code
		quiet
	done
	try apr-explain E002
	grep -q 'E004' "$out"
	for code in E999 E0 LINT-NOUGHT APR-999; do
		try apr-explain $code
		said 1 "$code: unknown code"
	done
	try apr-explain ln-meen
	said 3 'ln-meen: cannot be opened'
	grep -q 'did you mean ln-mean' "$err"
}

@test "V-11, V-16: --list has each architecture and each known failure" {
	try apr-explain --list
	quiet
	for word in whisper bert xlm-roberta t5 mamba llama ln-mean missing-conv-bias transposed \
		truncated Q4_K; do
		grep -q "^$word " "$out" || fail "$word"
	done
	try apr-explain --list --json
	quiet
	[ "$(wc -l <"$out")" -gt 60 ]
	try apr-explain --list "$model"
	said 2 '--list takes neither'
}

@test "V-12, V-16: the verdict of a layer norm with a mean of 11, and of the real one" {
	apr-explain --tensor output_norm.weight "$model" | grep -q '^verdict       healthy'
	printf '%s\n' 'key general.architecture string gpt2' \
		'tensor output_norm.weight F32 4 values 11 11.2 10.9 11' | mkmodel >ln.gguf
	try apr-explain --tensor output_norm.weight ln.gguf
	quiet
	grep -q '^verdict       wrong: LayerNormMean: mean 11' "$out"
}

@test "rules of apr-check and apr-lint are explained by their ids" {
	try apr-explain APR-028
	quiet
	grep -q '^CHECK-028: a rule of apr-check' "$out"
	apr-explain --list | awk '/apr-(check|lint)/ { print $1 }' >ids
	[ "$(wc -l <ids)" -gt 120 ]
	try apr-explain "$(tail -n 1 ids)"
	quiet
}

@test "each identifier of a message is explained" {
	local name names
	names=$(cat "$root"/lib/*/*.c "$root"/lib/*/*/*.c "$root"/bin/*.c |
		grep -oE '"[A-Z][a-z]+[A-Z][A-Za-z]+: ' | tr -d '": ' | sort -u)
	[ "$(wc -w <<<"$names")" -gt 8 ]
	for name in $names; do
		try apr-explain "$name"
		quiet
	done
}
