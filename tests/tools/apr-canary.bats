# apr-canary: what a model says, recorded, and other forms of it held against that.
load ../helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	model=$BATS_TEST_DIRNAME/../data/shakespeare-BF16.gguf
	PATH=${APR_BIN:-$BATS_TEST_DIRNAME/../../bin}:$PATH
	apr-canary create -p ROMEO: -p 'KING HENRY:' -p 'First Citizen:' -o canary.json "$model"
	apr-canary create -p A -n 1 --top 2 -o small.json "$model"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	canary=$BATS_FILE_TMPDIR/canary.json
}

# damaged TENSOR zero|swap|double: makes bad.gguf.
damaged() {
	local at n
	read -r at n < <(apr-header -l --json "$model" |
		sed -n "s/.*\"name\":\"$1\".*\"offset\":\([0-9]*\),\"bytes\":\([0-9]*\).*/\1 \2/p")
	"$APR_GEN/damage" "$model" bad.gguf "$at" "$n" "$2"
}

@test "apr-canary passes the exam" {
	exam_cut=4000000
	exam report apr-canary check --canary "$BATS_FILE_TMPDIR/small.json"
}

@test "the same model: identical logits, whatever it comes from" {
	try apr-canary check --canary "$canary" --max-kl 0 --min-top1 1 "$model"
	quiet
	[ "$(grep -c 'KL 0.000000 .* all logits identical$' "$out")" -eq 3 ]
	[ "$(tail -n 1 "$out")" = PASS ]
	! grep -q '^content' "$out" || fail "the content differs"
	apr-unpack "$model" | apr-pack -o m.apr
	try apr-canary check --canary "$canary" --max-kl 0 --min-top1 1 --json m.apr
	quiet
	tail -n 1 "$out" | grep -q '"identical":true.*"verdict":"pass"'
	# The root is that of apr-sum.
	grep -q "\"root\":\"$(apr-sum "$model" | awk '$3 == "root" { print $1 }')\"" "$canary"
}

@test "a quantized form passes, and its conditions are reported" {
	apr-quant q4_k_m "$model" 2>/dev/null >q4
	try apr-canary check --canary "$canary" <q4
	quiet
	grep -q '^content: [0-9a-f]\{64\}, recorded with [0-9a-f]\{64\}$' "$out"
	grep -q '^    recorded "' "$out"
	[ "$(tail -n 1 "$out")" = PASS ]
	try apr-canary check --canary "$canary" --max-kl 0.0001 --json - <q4
	said 5 'fails 3 of 3 prompts'
	[ "$(grep -c '"breaches":\["kl"\],"verdict":"fail"' "$out")" -eq 3 ]
}

# bats test_tags=repeats
@test "a folder with other names passes" {
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder/
	try apr-canary check --canary "$canary" --max-kl 0.00001 folder
	quiet
}

# CHECK-072
@test "CHECK-072 a regression of weights fails the canary" {
	local row
	for row in 'blk.1.attn_q.weight swap' 'blk.2.attn_k.weight zero' \
		'blk.0.ffn_down.weight double'; do
		# shellcheck disable=SC2086
		damaged $row
		try apr-canary check --canary "$canary" bad.gguf
		said 5 'bad.gguf: fails '
		grep -q '^    FAIL: ' "$out"
		[[ $(tail -n 1 "$out") == 'FAIL: '*' of 3 prompts' ]]
	done
}

@test "prompts: a file, JSON lines, token ids, standard input" {
	printf 'ROMEO:\n\nA b\n' >lines
	printf '{"prompt":"ROMEO:"}\n{"tokens":[65,66]}\n' >json
	apr-canary create -f lines -n 2 "$model" >a
	apr-canary create -f - -n 2 "$model" <lines | cmp - a
	apr-canary create -f json -n 2 "$model" >b
	grep -q '^{"prompt":"A b","tokens":\[' a
	grep -q '^{"tokens":\[65,66\],' b
	diff <(sed -n 4,5p a) <(sed -n 4,5p b)
	# The same bytes for any number of threads, and from a pipe.
	apr-unpack "$model" | apr-canary create -j 1 -f lines -n 2 | cmp - a
}

@test "what is wrong is refused, and nothing is left" {
	printf 'A\n' >lines
	printf '{"apr_canary":1,"kind":"audio"}' >audio
	try apr-canary
	said 2 'no command'
	try apr-canary chek "$model"
	said 2 'not chek'
	try apr-canary create "$model"
	said 2 'no prompts'
	try apr-canary create -f lines --max-kl 1 "$model"
	said 2 'go with check'
	try apr-canary check "$model"
	said 2 'check needs --canary'
	try apr-canary check --canary x -n 3 "$model"
	said 2 'go with create'
	try apr-canary check --canary x --min-top1 95 "$model"
	said 2 'from 0 to 1, not 95'
	try apr-canary check --canary - - <lines
	said 2 'cannot both be standard input'
	try apr-canary check --canary none "$model"
	said 3 'none: cannot be opened'
	try apr-canary check --canary audio "$model"
	said 4 'kind "audio"'
	try apr-canary create -f none -o made "$model"
	said 3 'none: cannot be opened'
	try apr-canary create -f audio -o made "$model"
	said 4 'its kind is not "text"'
	printf '{"tokens":[1024]}' >beyond
	try apr-canary create -f beyond -o made "$model"
	said 5 'is not in the vocabulary'
	try apr-canary create -f lines -n 300 -o made "$model"
	said 5 'context'
	try apr-canary create -f lines -o lines "$model"
	said 2 'exists'
	sed 's/"vocabulary":1024/"vocabulary":2048/' "$canary" >other.json
	try apr-canary check --canary other.json "$model"
	said 5 'has a vocabulary of 1024 tokens, and the canary is of one of 2048'
	# Another tokenizer is a breach, though the logits are the same.
	sed 's/"prompt":"ROMEO:"/"prompt":"Romeo:"/' "$canary" >texts.json
	try apr-canary check --canary texts.json "$model"
	said 5 'fails 1 of 3 prompts'
	grep -q 'FAIL: the tokenizer gives other tokens' "$out"
	[ ! -e made ]
}
