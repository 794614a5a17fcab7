# apr-adapt: the form of .apr files, and back
load ../helper

setup() {
	need_data
	cd "$BATS_TEST_TMPDIR" || return
}

names() {
	apr-header -l "$@" | cut -d ' ' -f 1
}

@test "a folder in the form apr becomes the same GGUF file and the same folder" {
	local case folder
	for case in llama3 qwen2 bert gemma3 gpt2 mixtral; do
		folder=$APR_TEST_DATA/convert/$case/hf
		apr-adapt apr "$folder" 2>/dev/null | apr-pack -t apr2 -o $case.apr
		# The names of GPT-2 are those of its folder, which has no form of its own in apr.
		! names $case.apr | grep -q '^model\.' || fail "$case: names of a folder"
		apr-adapt gguf $case.apr 2>/dev/null >a.stream
		apr-adapt gguf "$folder" 2>/dev/null >b.stream
		diff <(apr-sum a.stream | grep -v -e general.name -e ' metadata$' -e ' root$' -e ' blobs$') \
			<(apr-sum b.stream | grep -v -e general.name -e ' metadata$' -e ' root$' -e ' blobs$') ||
			fail "$case: tensors of GGUF"
		apr-adapt hf $case.apr 2>/dev/null >c.stream
		# A folder of BERT may lack the prefix of its names, which the form apr has.
		diff <(apr-sum --sha256 c.stream | sed 's/  bert\./  /') \
			<(apr-sum --sha256 "$folder") || fail "$case: the folder"
	done
}

@test "metadata that version 2 shares with GGUF, from a folder and from GGUF" {
	local from
	for from in hf expected.gguf; do
		apr-adapt apr "$APR_TEST_DATA/convert/llama3/$from" 2>/dev/null |
			apr-pack -t apr2 -o m.apr
		apr-header --json m.apr >m.json
		for text in '["model_type","json","\"llama\""]' '["hidden_size","json","64"]' \
			'["num_layers","json","2"]' '["context_length","json","131072"]'; do
			grep -qF -e "$text" m.json || fail "$from: $text" "$(cut -c 1-3000 m.json)"
		done
		grep -q '"tokenizer_config","json","{\\"type\\":\\"bpe\\"' m.json || fail "$from: tokenizer"
		rm m.apr
	done
}

@test "a file in the form apr is passed unchanged" {
	apr-adapt apr "$APR_TEST_DATA/convert/qwen2/hf" 2>/dev/null >once
	apr-adapt apr once 2>/dev/null >twice
	cmp once twice
	apr-header once | grep -Eqx 'architecture +qwen2'
}

@test "a filterbank that has not the values of its shape is refused" {
	cp -r "$APR_TEST_DATA/convert/qwen2/hf" f
	chmod -R u+w f
	echo '{"mel_filters":[[1,2],[3]]}' >f/preprocessor_config.json
	try apr-adapt apr -o made f
	said 4 'mel_filters is not a list of rows of the same length (E002)'
	[ ! -e made ]
}

@test "apr-run runs the form apr as it runs the folder and the GGUF file" {
	local from want
	for from in "$APR_TEST_DATA/models/gpt2-layout" "$APR_TEST_DATA/models/stories260K" "$model"; do
		apr-adapt apr "$from" 2>/dev/null | apr-pack -t apr2 -f -o m.apr
		want=$(apr-run -p Once -n 16 "$from" 2>/dev/null)
		[ -n "$want" ]
		[ "$(apr-run -p Once -n 16 m.apr 2>/dev/null)" = "$want" ] || fail "$from"
	done
}
