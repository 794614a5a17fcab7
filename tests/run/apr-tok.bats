# apr-tok: text to the token ids of a model, and back
load ../helper
load ../vocabularies

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

@test "apr-tok passes the exam" {
	exam_cut=3000 # within the vocabulary
	exam report apr-tok encode -p 'To be, or not'
	exam report apr-tok decode --tokens 51,78
	for wrong in '' 'speak m' 'encode' 'decode' 'decode --pieces m' 'decode -p x m' \
		'encode --tokens 1 m' 'encode --json --count -p x m'; do
		# shellcheck disable=SC2086
		try apr-tok $wrong
		said 2
	done
}

@test "what stands in a line, and how else it can be said" {
	ids '398 304 11' "$model" 'To be,'
	ids 3 "$model" 'To be,' --count
	ids $'398\tTo\n304\t be\n11\t,' "$model" 'To be,' --pieces
	ids '{"id":1023,"control":true,"text":"<|endoftext|>"}' "$model" '<|endoftext|>' \
		--json --special
	ids $'{"id":127,"control":false,"bytes":"c3"}\n{"id":102,"control":false,"bytes":"a9"}' \
		"$model" $'\xc3\xa9' --json
	printf 'To be,\n\nTo' | apr-tok encode --lines "$model" >made
	diff made - <<<$'398 304 11\n\n398'
	[ "$(apr-tok decode --lines "$model" <made)" = $'To be,\n\nTo' ]
	[ "$(apr-tok decode --tokens '[398, 304,11]' "$model")" = 'To be,' ]
	[ "$(apr-tok decode --tokens 398,1023 "$model")" = To ]
	[ "$(apr-tok decode --special --tokens 398,1023 "$model")" = 'To<|endoftext|>' ]
	for wrong in 1024 99999999999 x 4294967295 3.5 -1; do
		try apr-tok decode --tokens "$wrong" "$model"
		said 2
	done
	printf '398\000304' >ids
	try apr-tok decode "$model" <ids
	said 2 'a NUL is not a token id'
	try apr-tok decode "$model" </dev/null
	quiet
	[ ! -s "$out" ]
	try apr-tok encode "$model" </dev/null
	quiet
	[ "$(cat "$out")" = '' ]
}

@test "the same ids from every container" {
	printf 'Now is the winter of our discontent,\n  made 1914' >text
	apr-tok encode "$model" <text >want
	apr-unpack "$model" >m.aprs
	apr-pack -o m.apr m.aprs
	apr-pack -t apr2-64 -o m64.apr m.aprs
	for m in m.aprs m.apr m64.apr; do
		apr-tok encode $m <text | diff want -
	done
	apr-tok encode -p "$(cat text)" <m.aprs | diff want -
}

@test "byte-level BPE: merges in their order, and what is not merged" {
	bpe gpt-2 | mkmodel >m.gguf
	ids '257 263 259' m.gguf 'the<|im_end|>er' --special
	ids '257 60 124 105 109 95 101 110 100 124 62' m.gguf 'the<|im_end|>'
	# "h e" is there too, but comes later.
	ids '116 257' m.gguf 'tthe'
	ids '32 257' m.gguf ' the'
	ids '260 97' m.gguf ' ta'
	ids '262 52' m.gguf '1234'
	printf 'the\0\377\300er' | apr-tok encode m.gguf | diff - <(echo 257 0 255 192 259)
}

@test "control characters of a vocabulary are escaped on a terminal, and nowhere else" {
	bpe gpt-2 | mkmodel >m.gguf
	# ESC, U+009B, a mark from right to left, a tag, DEL; then what needs no escape.
	ids=27,91,50,74,194,155,226,128,143,243,160,129,129,127,97,9,226,128,141,195,169,92,10
	apr-tok decode --tokens $ids m.gguf >raw
	printf '\033[2J\302\233\342\200\217\363\240\201\201\177a\t\342\200\215\303\251\\\n' | cmp - raw
	on_terminal apr-tok decode --tokens $ids m.gguf >shown
	printf '%s\t\342\200\215\303\251\\\n' \
		'\x1b[2J\xc2\x9b\xe2\x80\x8f\xf3\xa0\x81\x81\x7fa' | cmp - shown
	# Half a character, and a byte of none.
	on_terminal apr-tok decode --tokens 195,255,10 m.gguf >shown
	printf '%s\n' '\xc3\xff' | cmp - shown
}

@test "SentencePiece: scores, a blank in front, bytes for the rest" {
	spm | mkmodel >m.gguf
	# "bc" has the highest score, then the blank and "a": nothing is left for "abc".
	ids '1 265 264' m.gguf 'abc'
	ids '265 264 265' m.gguf 'abc a' --bare
	ids '1 259 43 93' m.gguf '(Z'
	ids '1 259 268 198 175' m.gguf 'éì'
	ids '1 265 269 265' m.gguf 'a<user>a'
	ids '1 265 2 265' m.gguf 'a</s>a' --special
	[ "$(apr-tok decode --tokens 1,265,264 m.gguf)" = abc ]
	[ "$(apr-tok decode --special --tokens 1,265,264,2 m.gguf)" = '<s>abc</s>' ]
	{ spm && echo 'key tokenizer.ggml.add_space_prefix bool 0' &&
		echo 'key tokenizer.ggml.add_bos_token bool 0'; } | mkmodel >bare.gguf
	ids '267' bare.gguf 'abc'
	[ "$(apr-tok decode --tokens 265,264 bare.gguf)" = ' abc' ]
}

@test "WordPiece: lower case, accents, punctuation, Chinese, the longest piece" {
	wpm | mkmodel >m.gguf
	ids '2 4 5 6 3' m.gguf 'UnÄffable'
	ids '2 4 5 6 7 8 3' m.gguf $'  unaffable,\ta'
	ids '2 8 9 8 3' m.gguf 'a中a'
	ids '2 1 8 3' m.gguf 'unaffablest a'
	[ "$(apr-tok decode --tokens 2,4,5,6,7,8,3 m.gguf)" = 'unaffable, a' ]
	{ wpm && echo 'key tokenizer.ggml.normalizer.lowercase bool 0'; } | mkmodel >cased.gguf
	ids '2 1 4 3' cased.gguf 'Un un'
}
