# apr-diff: what differs between two models
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# A model of a few tensors. edits SED: the same with an edit.
small() {
	cat <<-END
		key general.architecture string tiny
		key general.name string small
		key tiny.block_count u32 2
		key tokenizer.ggml.tokens array:string <s> a b c d e f g
		tensor keep F32 4x8 ramp
		tensor lone F32 2x3 values 1 2 3 4 5 6
		tensor half F16 2x4 values 1 2 3 4 5 6 7 8
		tensor none F32 0x4 values 1
	END
}

edits() {
	small | sed "$1" | mkmodel >b.gguf
}

# differs SED LINE...: the edit gives these lines, and no other ones of tensors and keys.
differs() {
	edits "$1"
	shift
	try apr-diff a.gguf b.gguf
	[ "$status" -eq 1 ] || fail "exit status $status:" "$(cat "$err")"
	grep -qx 'apr-diff: b.gguf: differs from a.gguf' "$err"
	grep -v -e '^Similarity' -e ' Changes: ' -e '^    ' "$out" >lines
	printf '%s\n' "$@" | diff - lines
}

@test "apr-diff passes the exam" {
	exam report apr-diff "$model"
	exam_options apr-diff --json "$model"
	try apr-diff
	said 2 'a model is missing'
	try_pipe 'cat /dev/null | apr-diff -'
	said 2 'both models are the same pipe'
	try_pipe 'cat /dev/null | apr-diff /dev/stdin -'
	said 2 'both models are the same pipe'
}

@test "CHECK-056 a model equals itself, in any two formats" {
	local a b
	apr-unpack "$model" | tee m.aprs | apr-pack -o m.apr
	apr-pack -t apr1 -o old.apr m.aprs 2>/dev/null
	apr-pack -z zstd -o packed.apr m.aprs
	apr-pack -o m.safetensors m.aprs
	cp "$model" m.gguf
	for a in m.gguf m.apr old.apr packed.apr m.safetensors m.aprs; do
		for b in m.gguf old.apr packed.apr m.safetensors -; do
			try apr-diff $a $b <m.aprs
			quiet
			[ "$(cat "$out")" = 'Similarity: 100% (IDENTICAL), 0 of 30 tensors differ' ] ||
				fail "$a $b:" "$(cat "$out")"
		done
		try apr-diff -q - $a <m.aprs
		quiet
		[ ! -s "$out" ]
	done
	try_pipe 'cat m.aprs | apr-diff m.gguf'
	quiet
	try apr-diff <(cat m.gguf) <(cat m.apr)
	quiet
}

@test "CHECK-057 a changed model differs: each kind of difference" {
	small | mkmodel >a.gguf
	differs 's/lone F32 2x3/lone F32 2x3/; s/5 6$/5 7/' \
		'lone: DRIFT (delta = 1) !!!' # 1 of 6, and 1 of 9.5 in L2
	grep -qx 'Similarity: 97.82% (EXCELLENT), 1 of 4 tensors differ: 1 changed' "$out"
	grep -qx 'Weight Changes: Max delta 1, L2 distance 1' "$out"
	grep -qx '    equal 83.33%, max delta at \[1,2\], worst row 1 (L2 1)' "$out"
	differs '/lone/d' 'lone: REMOVED (F32 2x3)'
	differs '$a tensor more F16 3 ramp' 'more: ADDED (F16 3)'
	differs 's/lone/other/' 'lone: RENAMED to other, MATCH (identical)'
	differs 's/lone F32 2x3/lone F32 3x2/' 'lone: RESHAPED 2x3 -> 3x2, MATCH (identical)'
	differs 's/lone F32 2x3/lone F32 2x2/' 'lone: RESHAPED 2x3 -> 2x2, DRIFT (another number of values)'
	differs 's/half F16/half F32/' 'half: RETYPED F16 -> F32, MATCH (identical)'
	grep -q '^Similarity: 100% (EXCELLENT)' "$out"
	differs 's/lone F32 2x3 values 1 /lone F32 2x3 values 1.0000001 /' 'lone: MATCH (delta < 1e-06)'
	grep -q '^Similarity: 100% (EXCELLENT)' "$out"
	differs '/none/d' 'none: REMOVED (F32 0x4)'
	# With a type without a decoder.
	small | sed 's/lone.*/lone 77:40 10 ramp/' | mkmodel >a.gguf
	differs 's/lone.*/lone 77:40 10 noise/' 'lone: DRIFT (the bytes differ, and cannot be decoded)'
	grep -q '^Similarity: 8[0-9.]*% ' "$out"
}

@test "keys, vocabulary, files and licence" {
	small | mkmodel >a.gguf
	differs 's/string small/string other/' 'key general.name: CHANGED "small" -> "other"'
	differs '/general.name/d' 'key general.name: REMOVED "small"'
	differs '1i key general.url string x' 'key general.url: ADDED "x"'
	differs 's/count u32/count u64/' 'key tiny.block_count: RETYPED u32 -> u64, 2 -> 2'
	differs 's/ d e f g$/ h i d f g j k l m n/' \
		'key tokenizer.ggml.tokens: CHANGED ["<s>","a","b","c","d","e","f","g"] -> ["<s>","a","b","c","h","i","d","f","g","j","k","l","m","n"]'
	grep -qx 'Vocab Changes: Added 7 tokens, Removed 1 tokens' "$out"
	grep -qx '    removed 1: "e"' "$out"
	grep -qx '    added 7: "h", "i", "j", "k", "l", ...' "$out"
	differs 's/ a b c/ b a c/' \
		'key tokenizer.ggml.tokens: CHANGED ["<s>","a","b","c","d","e","f","g"] -> ["<s>","b","a","c","d","e","f","g"]'
	grep -qx '    the same texts in another order' "$out"
	try apr-diff --tensors a.gguf b.gguf
	quiet
	try apr-diff --metadata a.gguf b.gguf
	said 1
	grep -qx 'Metadata differs' "$out"
	# Types and shapes stand before the tensors, values do not.
	edits 's/half F16/half F32/; s/5 6$/5 7/'
	try apr-diff --metadata a.gguf b.gguf
	[ "$status" -eq 1 ] && tail -n 1 "$out" | grep -qx 'half: RETYPED F16 -> F32'
	edits 's/5 6$/5 7/'
	try apr-diff --metadata a.gguf b.gguf
	quiet
	mkdir one two
	echo '{"model_type":"x"}' | tee one/config.json >two/config.json
	apr-pack -o one/model.safetensors < <(apr-unpack --only lone a.gguf)
	cp one/model.safetensors two
	echo hello >one/README.md
	echo other >two/README.md
	try apr-diff one two
	[ "$status" -eq 1 ] && grep -qx 'file README.md: CHANGED 6 bytes -> 6 bytes' "$out"
	rm two/README.md
	try apr-diff one two
	grep -qx 'file README.md: REMOVED 6 bytes' "$out"
}

@test "the vocabularies of two folders are compared by their tokens" {
	local head='{"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2' tail='},"merges":[]}}'

	mkdir one two
	echo '{"model_type":"x"}' | tee one/config.json >two/config.json
	mkmodel <<<'tensor x.weight F32 2x2 ramp' | apr-unpack | apr-pack -t safetensors -o one/model.safetensors
	cp one/model.safetensors two
	echo "$head$tail" >one/tokenizer.json
	echo "$head,\"d\":3,\"e\":4$tail" | sed 's/"b":1/"B":1/' >two/tokenizer.json
	try apr-diff one two
	[ "$status" -eq 1 ]
	grep -qx 'Vocab Changes: Added 3 tokens, Removed 1 tokens' "$out"
	grep -qx '    removed 1: "b"' "$out"
	grep -qx '    added 3: "B", "d", "e"' "$out"
	try apr-diff --json one two
	grep -q '"tokens_added":3,"tokens_removed":1' "$out"
	# Other bytes, the same tokens.
	echo "$head$tail " >two/tokenizer.json
	try apr-diff one two
	[ "$status" -eq 1 ] && grep -qx '    the same tokens' "$out"
	# What is not a vocabulary is compared as a file.
	echo '{"model":{"vocab":[' >two/tokenizer.json
	try apr-diff one two
	[ "$status" -eq 1 ]
	! grep -q 'Vocab Changes' "$out"
	grep -q '^file tokenizer.json: CHANGED' "$out"
}

@test "CHECK-050 the distance to a reference is below 1; a random tensor fails" {
	mkmodel >a.gguf <<<'tensor x.weight F32 64x64 noise'
	apr-quant --pure q8_0 a.gguf >b.aprs 2>/dev/null
	try apr-diff --max-l2 1 a.gguf b.aprs
	quiet
	mkmodel >c.gguf <<<'tensor x.weight F32 64x64 ramp'
	try apr-diff --max-l2 1 a.gguf c.gguf
	said 1 'c.gguf: 1 of 1 tensors exceed the limits, the first is x.weight'
	grep -q '^x.weight: DRIFT (delta = .*) !!!$' "$out"
	# The other limits, on both sides of the figure.
	apr-diff --json a.gguf b.aprs 2>/dev/null >json || true
	for one in drift:relative_rmse delta:max_delta l2:l2; do
		value=$(sed -n "s/.*\"kind\":\"tensor\".*\"${one#*:}\":\([^,}]*\).*/\1/p" json)
		try apr-diff -q --max-${one%:*} "$value" a.gguf b.aprs
		[ "$status" -eq 0 ] || fail "$one $value: $status" "$(cat "$out" "$err")"
		try apr-diff -q --max-${one%:*} "$(awk "BEGIN { printf \"%.9g\", $value * 0.99 }")" a.gguf b.aprs
		[ "$status" -eq 1 ] && [ ! -s "$out" ] && [ ! -s "$err" ] || fail "$one $value: $status" "$(cat "$out" "$err")"
	done
	try apr-diff -q --min-cosine 0.999 a.gguf b.aprs
	quiet
	try apr-diff -q --min-cosine 1 a.gguf b.aprs
	[ "$status" -eq 1 ]
}

@test "NaN and infinities on either side" {
	mkmodel >a.gguf <<<'tensor x F32 4 values 0x7fc00000 0x7f800000 1 2'
	mkmodel >b.gguf <<<'tensor x F32 4 values 0x7fc00000 0x7f800000 1 3'
	try apr-diff a.gguf b.gguf
	grep -qx 'x: DRIFT (delta = 1) !!!' "$out"
	grep -qx '    equal 75%, max delta at \[3\]' "$out"
	mkmodel >b.gguf <<<'tensor x F32 4 values 1 0xff800000 0x7fc00000 2'
	try apr-diff --max-drift 9 a.gguf b.gguf
	said 1 'exceed the limits'
	grep -qx '    equal 25%, max delta at \[0\], 3 not finite in one of them' "$out"
	try apr-diff --json a.gguf b.gguf
	objects <"$out"
	grep -q '"not_finite":3,"max_delta":0.0,' "$out"
}

@test "the result depends neither on threads nor on the kind of input nor on the order" {
	local jobs
	apr-quant q4_k_m "$model" 2>/dev/null >q.aprs
	apr-pack -o q.gguf q.aprs
	apr-diff --json "$model" q.gguf 2>/dev/null >want || true
	objects <want
	for jobs in 1 2 3 16; do
		apr-diff --json -j $jobs "$model" q.gguf 2>/dev/null | diff want -
	done
	dd bs=777 if=q.aprs status=none | apr-diff --json "$model" 2>/dev/null | diff want -
	apr-unpack "$model" | apr-diff --json - q.gguf 2>/dev/null | diff want -
	apr-diff --json <(apr-unpack "$model") q.aprs 2>/dev/null | diff want -
	APR_CPU=ref apr-diff --json "$model" q.gguf 2>/dev/null | diff want -
	# Exchanged, differences stay.
	apr-diff --json q.gguf "$model" 2>/dev/null | sed -n 's/.*"max_delta":\([^,]*\),.*/\1/p' |
		diff <(sed -n 's/.*"max_delta":\([^,]*\),.*/\1/p' want) -
}

@test "--only, --except, --all, --tolerance" {
	small | mkmodel >a.gguf
	edits 's/5 6$/5 7/'
	try apr-diff --only keep --only half a.gguf b.gguf
	quiet
	try apr-diff --except '^lone$' --all a.gguf b.gguf
	quiet
	[ "$(grep -c 'MATCH (identical)$' "$out")" -eq 3 ]
	try apr-diff --tolerance 1 a.gguf b.gguf
	[ "$status" -eq 1 ] && grep -qx 'lone: MATCH (delta < 1) !!!' "$out"
	try apr-diff --only nothing a.gguf b.gguf
	said 2 'nothing: matches no tensor of either model'
	for wrong in x '' 1x -1 nan inf 1e999 0x1; do
		try apr-diff --tolerance "$wrong" a.gguf b.gguf
		said 2
	done
	try apr-diff --min-cosine 1.5 a.gguf b.gguf
	said 2 'a number from 0 to 1'
	try apr-diff --arch lama a.gguf b.gguf
	said 2 'lama'
	try apr-diff --metadata --tensors a.gguf b.gguf
	said 2
	try apr-diff -q --json a.gguf b.gguf
	said 2
}

@test "--tensor-mapping: a map, a schema, either direction; what is none is refused" {
	small | mkmodel >a.gguf
	edits 's/tensor lone/tensor new.lone/; s/5 6$/5 7/; s/tensor half/tensor new.half/'
	echo '{"lone":"new.lone","half":"new.half","absent":"x"}' >map
	try apr-diff --tensor-mapping map a.gguf b.gguf
	[ "$status" -eq 1 ] && grep -qx 'new.lone: DRIFT (delta = 1) !!!' "$out"
	grep -q '1 of 4 tensors differ: 1 changed$' "$out"
	try apr-diff --tensor-mapping map b.gguf a.gguf
	[ "$status" -eq 1 ] && grep -q '1 of 4 tensors differ: 1 changed$' "$out"
	echo '{"tensors":[{"from":["lone"],"to":"new.lone"},{"from":"half","to":"new.half"}]}' >map
	try apr-diff --tensor-mapping map a.gguf b.gguf
	grep -q '1 of 4 tensors differ: 1 changed$' "$out"
	for wrong in '' '[]' '{' '{}' '{"a":1}' '{"lone":"x","lone":"y"}' '{"tensors":[]}' \
		'{"tensors":[{"to":"x"}]}' '{"lone":"\u0000"}' nonsense; do
		printf '%s' "$wrong" >map
		try apr-diff --tensor-mapping map a.gguf b.gguf
		said 4 '(E002)'
	done
	for wrong in '{"lone":""}' '{"lone":"keep"}' '{"x":"y"}'; do
		printf '%s' "$wrong" >map
		try apr-diff --tensor-mapping map a.gguf b.gguf
		[ "$status" -eq 2 ] || [ "$status" -eq 4 ] || [ "$status" -eq 5 ] || fail "$wrong: $status"
	done
	try apr-diff --tensor-mapping no-such-file a.gguf b.gguf
	said 3
}

@test "one pipe cannot be both models; hostile names are escaped" {
	mkmodel >a.gguf <<<'tensor a\x1b[31m F32 2 values 1 2'
	mkmodel >b.gguf <<<'tensor a\x1b[31m F32 2 values 1 3'
	try apr-diff a.gguf b.gguf
	[ "$status" -eq 1 ]
	! grep -q '[[:cntrl:]]' "$out" || false
	grep -qF 'a\x1b[31m: DRIFT' "$out"
	mkfifo both
	try timeout 9 apr-diff both both
	said 2 'both models are the same pipe'
}

@test "a folder against the GGUF file that was made from it is 100%" {
	local case
	for case in llama2 qwen3moe gpt2; do
		try apr-diff "$root/tests/data/convert/$case/hf" \
			"$root/tests/data/convert/$case/expected.gguf"
		quiet
		[ "$(sed 's/,.*//' "$out")" = 'Similarity: 100% (IDENTICAL)' ] || fail "$case" "$(cat "$out")"
	done
	# And back, from a pipe, and in the form of .apr files.
	apr-unpack "$root/tests/data/convert/llama2/hf" >folder.aprs 2>/dev/null
	try apr-diff --tensors "$root/tests/data/convert/llama2/expected.gguf" <folder.aprs
	quiet
	apr-adapt apr folder.aprs >form.aprs 2>/dev/null
	try apr-diff --tensors form.aprs "$root/tests/data/convert/llama2/expected.gguf"
	quiet
	try apr-diff --tensors folder.aprs form.aprs
	quiet
	grep -q '^Similarity: 100% ' "$out"
	# Tensors without a config.json: the GGUF file gets the form of a folder.
	mkdir bare
	cp "$root/tests/data/convert/llama2/hf"/*.safetensors bare
	try apr-diff --tensors "$root/tests/data/convert/llama2/expected.gguf" bare
	grep -q '^Similarity: 100% ' "$out" || fail "$(head "$out" "$err")"
}

# bats test_tags=repeats
@test "each folder of the reference data against the converter's GGUF file is 100%" {
	local case
	need_data
	for case in "$APR_TEST_DATA"/convert/*/; do
		try apr-diff --tensors "${case}hf" "${case}expected.gguf"
		# Computed tensors (rope_freqs, ssm_a) may differ in the last digits.
		grep -q '^Similarity: 100% ' "$out" || fail "$case:" "$(head -n 3 "$out" "$err")"
		! grep -v -e '^Similarity' -e '^Weight' -e '^    ' -e 'MATCH (delta < 1e-06)$' "$out" ||
			fail "$case"
	done
}
