# Tokenizers: real ones, odd ones, wrong ones, and texts of all kinds.
load ../helper
load ../vocabularies

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# back MODEL FILE: decoding what was encoded gives the same bytes.
back() {
	apr-tok encode "$1" <"$2" >ids
	apr-tok decode "$1" <ids | cmp - "$2" || fail "$1: $2 does not come back"
}

# Sanitizers are slow.
bytes=10000000
! grep -q __asan_init "$APR_BIN/apr-unpack" || bytes=300000

@test "text of many scripts comes back" {
	local m
	texts $bytes >text
	[ "$(grep -c . text)" -gt 1000 ]
	back "$model" text
	texts $((bytes / 10)) >text
	spm | mkmodel >spm.gguf
	back spm.gguf text
	[ -e "$APR_TEST_DATA/README.md" ] || return 0
	texts $((bytes / 50)) >text
	for m in llama-spm baichuan falcon starcoder deepseek-coder deepseek-llm phi-3; do
		back "$APR_TEST_DATA/vocab/ggml-vocab-$m.gguf" text
	done
	back "$APR_TEST_DATA/models/gpt2-layout/tokenizer.json" text
	back "$APR_TEST_DATA/models/stories260K/tokenizer.model" text
}

@test "noise comes back as it was" {
	texts -n $((bytes / 20)) >noise
	! iconv -f UTF-8 noise >/dev/null 2>&1 || fail "the noise is text"
	spm | mkmodel >spm.gguf
	wpm | mkmodel >wpm.gguf
	back "$model" noise
	back spm.gguf noise
	apr-tok encode wpm.gguf <noise >ids
	apr-tok decode wpm.gguf <ids >words
}

# What is one word for a pattern, and what makes it go back and forth.
@test "long words and runs take no longer than others" {
	local c m n=$((bytes / 20))
	{ bpe llama-bpe && echo 'key tokenizer.ggml.bos_token_id u32 0'; } | mkmodel >bpe.gguf
	spm | mkmodel >spm.gguf
	wpm | mkmodel >wpm.gguf
	for c in ' ' A 7 '!' $'\n' $'\xcc\x81' $'\xe4\xb8\xad'; do
		yes "$c" | head -n $((n / ${#c})) | tr -d "$([ "$c" = $'\n' ] || echo '\n')" >run
		try timeout 20 apr-tok encode --count bpe.gguf <run
		quiet
	done
	texts -w $n >words
	for m in "$model" bpe.gguf spm.gguf wpm.gguf; do
		try timeout 20 apr-tok encode --count "$m" <words
		quiet
	done
}

# Each name, so that each pattern is one, with text that tells many apart.
@test "each pre-tokenizer that is known cuts text that comes back" {
	local pre n=0
	set +T # bats traces each command
	texts 8000 3 >text
	for pre in default gpt-2 phi-2 mpt olmo jais trillion granite-docling exaone4 gigachat \
		a.x-4.0 mellum modern-bert jina-es jina-de jina-v2-es jina-v2-de jina-v1-en \
		jina-v2-code roberta-bpe llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral \
		midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe glm4 chatglm-bpe minicpm5 qwen2 \
		deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2 qwen35 \
		laguna seed-coder bailingmoe bailingmoe2 llada-moe starcoder refact command-r \
		smollm codeshell exaone minerva-7b mellum2 falcon deepseek-llm deepseek-coder \
		deepseek-v3 hunyuan-dense joyai-llm tekken gpt-4o llama4 kanana2 talkie \
		minimax-m2 granite-embed-multi-97m poro-chat bloom gpt3-finnish viking superbpe \
		chameleon; do
		{ bpe $pre; echo 'key tokenizer.ggml.add_bos_token bool 0'; } | mkmodel >$pre.gguf
		back $pre.gguf text
		n=$((n + 1))
	done
	[ $n -gt 70 ]
}

# Merges of digits show how many a pattern leaves together.
@test "pre-tokenizers differ in how they cut" {
	local pre want
	while read -r pre want; do
		{ bpe $pre; echo 'key tokenizer.ggml.add_bos_token bool 0'; } | mkmodel >m.gguf
		ids "$want" m.gguf '12312'
	done <<-END
		gpt-2 262 261
		llama-bpe 262 261
		qwen2 49 50 51 49 50
		starcoder 49 50 51 49 50
		superbpe 261 51 261
		falcon 262 261
	END
}

@test "patterns are Unicode's" {
	# "a" and the first byte of U+00C5 are a token. A capital begins a word.
	a_capital() {
		bpe "$1" | sed 's/ er / a\\xc3\\x83 /; s/ e.sr / a\\s\\xc3\\x83 /'
		echo 'key tokenizer.ggml.add_bos_token bool 0'
	}
	a_capital tekken | mkmodel >m.gguf
	ids '97 195 133' m.gguf $'a\xc3\x85'
	a_capital llama-bpe | mkmodel >m.gguf
	ids '259 133' m.gguf $'a\xc3\x85'
	# So are a blank and the first byte of U+180E, which is no white space.
	bpe gpt-2 | sed 's/ er / \\xc4\\xa0\\xc3\\xa1 /; s/ e.sr / \\xc4\\xa0\\s\\xc3\\xa1 /' | mkmodel >m.gguf
	ids '97 259 160 142 98' m.gguf $'a \xe1\xa0\x8eb'
	# U+2003 is.
	bpe gpt-2 | sed 's/ er / \\xc4\\xa0\\xc3\\xa2 /; s/ e.sr / \\xc4\\xa0\\s\\xc3\\xa2 /' | mkmodel >m.gguf
	ids '97 32 226 128 131 98' m.gguf $'a \xe2\x80\x83b'
}

@test "BERT's accents are marks without a width" {
	# U+0915 U+093F U+0902: a letter, a mark with a width, one without.
	{ wpm | sed 's/\\xe4\\xb8\\xad$/& \\xe2\\x96\\x81\\xe0\\xa4\\x95\\xe0\\xa4\\xbf/; s/ 1$/ 1 1/'; } |
		mkmodel >m.gguf
	ids '2 10 3' m.gguf $'\xe0\xa4\x95\xe0\xa4\xbf\xe0\xa4\x82'
	{ wpm | sed 's/\\xe4\\xb8\\xad$/& \\xe2\\x96\\x81\\xe1\\x84\\x80 \\xe1\\x85\\xa1/; s/ 1$/ 1 1 1/'; } |
		mkmodel >m.gguf
	ids '2 10 11 3' m.gguf $'\xea\xb0\x80'
}

@test "a pre-tokenizer that is not known is refused, or told" {
	bpe my-own | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	said 4 'pre-tokenizer my-own is not supported'
	grep -q '^hint: --any-tokenizer' "$err"
	try apr-tok encode --any-tokenizer -p the m.gguf
	[ "$status" -eq 0 ]
	grep -q 'not known: the default pattern' "$err"
	[ "$(cat "$out")" = 257 ]
	bpe '' | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	[ "$status" -eq 0 ]
	grep -q 'names no pre-tokenizer' "$err"
}

@test "what has no token is left out, and told" {
	# The letter of byte 0 is spelt otherwise.
	bpe gpt-2 | sed 's/ \\xc4\\x80 / nothing /' | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	quiet
	printf 'the\0the' >text
	try apr-tok encode m.gguf <text
	[ "$status" -eq 0 ]
	[ "$(cat "$out")" = '257 257' ]
	grep -q '1 bytes have no token' "$err"
}

@test "roles" {
	{ bpe gpt-2 && echo 'key tokenizer.ggml.add_bos_token bool 1'; } | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	said 4 'there is none'
	{ bpe gpt-2 && echo 'key tokenizer.ggml.add_bos_token bool 1' &&
		echo 'key tokenizer.ggml.bos_token_id u32 7' &&
		echo 'key tokenizer.ggml.add_eos_token bool 1' &&
		echo 'key tokenizer.ggml.eos_token_id u16 8'; } | mkmodel >m.gguf
	ids '7 257 8' m.gguf the
	ids 257 m.gguf the --bare
	{ bpe gpt-2 && echo 'key tokenizer.ggml.padding_token_id u32 264'; } | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	[ "$status" -eq 0 ]
	grep -q 'is none and is left out' "$err"
	for key in bos eos unknown; do
		{ bpe gpt-2 && echo "key tokenizer.ggml.${key}_token_id u32 264"; } | mkmodel >m.gguf
		try apr-tok encode -p the m.gguf
		said 4 "${key}_token_id is not a token: there are 264"
	done
	# The token that ends a text is a control token, even if the list of types differs.
	bpe gpt-2 | sed 's/ 3$/ 1/' | mkmodel >m.gguf
	[ "$(apr-tok decode --tokens 257,263 m.gguf)" = the ]
}

@test "odd vocabularies that are read" {
	spm | sed 's/ abc / \\e /' | mkmodel >m.gguf
	ids '1 265 264' m.gguf abc
	[ "$(apr-tok decode --tokens 1,267,265 m.gguf)" = ' a' ]
	spm | sed 's/^\(key tokenizer.ggml.token_type array:i32 2 3 3\) 6/\1 0/' | mkmodel >m.gguf
	ids '1 265' m.gguf a
	spm | grep -v token_type | mkmodel >m.gguf
	ids '1 265' m.gguf a
}

# fault SED TEXT: a vocabulary changed so is refused with that text.
fault() {
	"$kind" gpt-2 | sed "$1" | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	said 4 "$2"
}

@test "vocabularies with a fault are refused" {
	local kind=bpe
	fault 's/ the he / the the /' 'has the text of token 257 (E002)'
	fault 's/he\\s*e\\sr/&/; s/array:string t.sh/array:string t\\sq/' 'merge 0: its result is not a token'
	fault 's/ 12.s3$/ 12\\sxx/' 'merge 6: its right side is not a token'
	fault 's/ 12.s3$/ xx\\s3/' 'merge 6: its left side is not a token'
	fault 's/ 12.s3$/ 123/' 'merge 6 is not a pair'
	fault '/merges/d' 'has no tokenizer.ggml.merges'
	fault 's/\(merges\) array:string.*/\1 array:u32 1/' 'merges: is of type array:u32, not array:string'
	fault 's/^key tokenizer.ggml.tokens.*/key tokenizer.ggml.tokens array:u32 1/' 'tokens: is of type'
	fault '/ggml.tokens/d' 'has no tokenizer.ggml.tokens'
	fault 's/^\(key tokenizer.ggml.tokens array:string\).*/\1/' 'has an empty vocabulary'
	fault 's/ 3$//' '263 items for 264 tokens'
	fault 's/ 3$/ 7/' 'token 263 is of type 7'
	fault 's/ 3$/ -1/' 'token 263 is of type -1'
	fault 's/model string gpt2/model string rwkv/' 'tokenizer rwkv is not supported (E001)'
	fault 's/model string gpt2/model string none/' 'has no vocabulary (E001)'
	fault 's/model string gpt2/model u32 1/' 'is of type u32, not string'
	kind=spm
	fault '/scores/d' 'has no tokenizer.ggml.scores'
	fault 's/ -10 0$/ nan 0/' 'the score of token 268 is not a number'
	fault 's/ -10 0$/ -10/' '269 items for 270 tokens'
	fault 's/<0x41>/<0xG1>/' 'token 68 is a byte, but not spelt like <0x0A>'
	kind=wpm
	fault 's/array:string/& '"$(printf 'x%.0s' {1..300})"'/; s/array:i32/& 1/' 'a token of a word has 300 bytes'
	printf 'key general.architecture string llama\n' | mkmodel >m.gguf
	try apr-tok encode -p the m.gguf
	said 4 'has no vocabulary (E001)'
}

# ---- tokenizer.json ----

# A BPE of characters, as Llama's: PARTS are members that come before the model.
characters() {
	cat <<-END
		{"added_tokens":[{"id":0,"content":"<unk>","special":true},
		 {"id":1,"content":"<s>","special":true},{"id":9,"content":"<user>","special":false,
		  "normalized":false}],
		$1
		"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":${2:-true},
		 "vocab":{"<unk>":0,"<s>":1,"▁":2,"a":3,"b":4,"▁a":5,"ab":6,"<0xC3>":7,"<0xA9>":8},
		 "merges":["▁ a",["a","b"]]}}
	END
}

llama='"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
 {"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
 "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
 {"Sequence":{"id":"A","type_id":0}}],"special_tokens":{"<s>":{"id":"<s>","ids":[1]}}},
 "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
 {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},'

@test "tokenizer.json: characters with bytes for the rest" {
	characters "$llama" >t.json
	ids '1 5 4 5' t.json 'ab a'
	ids '1 2 7 8' t.json é
	ids '1 2 0 6' t.json 'xyab'
	ids '1 5 9 5' t.json 'a<user>a'
	[ "$(apr-tok decode --tokens 1,5,4,5,7,8 t.json)" = 'ab aé' ]
	characters "$llama" false >t.json
	ids '1 2 0' t.json é
	sed -i 's/"fuse_unk":true/"fuse_unk":false/' t.json
	ids '1 2 0 0' t.json xy
}

@test "tokenizer.json: WordPiece" {
	cat >t.json <<-END
		{"added_tokens":[{"id":0,"content":"[UNK]","special":true},{"id":1,"content":"[CLS]","special":true},
		{"id":2,"content":"[SEP]","special":true}],
		"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
		"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},
		"post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},
		"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
		"max_input_chars_per_word":8,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"un":3,"##aff":4,
		"##able":5,",":6,"##s":7}}}
	END
	ids '1 3 4 6 3 2' t.json 'UNÄff, un'
	ids '1 3 0 2' t.json 'un unaffable'
	ids '1 3 4 7 2' t.json 'unaffs'
	[ "$(apr-tok decode --tokens 1,3,4,6,3,2 t.json)" = 'unaff, un' ]
}

@test "tokenizer.json: how a text can be cut" {
	local pre want
	while IFS=$'\t' read -r pre want; do
		cat >t.json <<-END
			{"pre_tokenizer":$pre,"model":{"type":"BPE","vocab":{"a":0,"b":1," ":2,"1":3,"2":4,
			".":5,"ab":6,"a ":7," a":8,"12":9,"..":10,"a.":11,".a":12,"▁":13,"▁a":14},
			"merges":["a b",["a"," "],[" ","a"],"1 2",". .","a .",". a","▁ a"]}}
		END
		ids "$want" t.json 'ab a12..a a' || fail "$pre"
	done <<-'END'
		null	6 8 9 10 7 0
		{"type":"WhitespaceSplit"}	6 0 9 10 0 0
		{"type":"Whitespace"}	6 0 9 10 0 0
		{"type":"Digits","individual_digits":true}	6 8 3 4 10 7 0
		{"type":"Digits","individual_digits":false}	6 8 9 10 7 0
		{"type":"Punctuation"}	6 8 9 5 5 7 0
		{"type":"Punctuation","behavior":"Contiguous"}	6 8 9 10 7 0
		{"type":"Punctuation","behavior":"Removed"}	6 8 9 7 0
		{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious"}	6 2 0 9 10 7 0
		{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithNext"}	6 8 9 10 0 8
		{"type":"Split","pattern":{"Regex":"\\s"},"behavior":"Removed"}	6 0 9 10 0 0
		{"type":"Split","pattern":{"Regex":"a"},"behavior":"Isolated"}	0 1 2 0 9 10 0 2 0
		{"type":"Split","pattern":{"Regex":"[ab1]+"},"behavior":"Removed","invert":true}	6 0 3 0 0
		{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true}]}	6 0 3 4 10 0 0
		{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}	6 14 9 10 0 14
	END
}

@test "tokenizer.json: what is not known is refused by its name" {
	local part text
	while IFS=$'\t' read -r part text; do
		characters "$part," >t.json
		try apr-tok encode -p a t.json
		said 4 "$text" || fail "$part"
	done <<-'END'
		"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]}	normalizer Nmt is not supported
		"pre_tokenizer":{"type":"UnicodeScripts"}	pre-tokenizer UnicodeScripts is not supported
		"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"}	a group without its )
		"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Odd"}	behavior Odd is not supported
		"pre_tokenizer":{"type":"Metaspace","replacement":"_"}	replacement _ is not supported
		"post_processor":{"type":"Odd"}	post-processor Odd is not supported
		"post_processor":{"type":"BertProcessing","sep":["x",99],"cls":["y",1]}	adds something that is not a token
		"decoder":{"type":"CTC"}	decoder CTC is not supported
		"decoder":{"type":"ByteLevel"}	decoder ByteLevel without its pre-tokenizer
		"normalizer":7	normalizer  is not supported
	END
	characters '' | sed 's/"BPE"/"WordLevel"/' >t.json
	try apr-tok encode -p a t.json
	said 4 'model WordLevel is not supported (E001)'
	while IFS=$'\t' read -r part text; do
		characters '' | sed "$part" >t.json
		try apr-tok encode -p a t.json
		said 4 "$text" || fail "$part"
	done <<-'END'
		s/"a":3/"a":4/	two tokens have
		s/"a":3/"a":99999999/	far beyond the number of tokens
		s/"a":3/"a":-3/	is not a number
		s/"a":3/"a":"3"/	is not a number
		s/"▁ a"/"▁ x"/	merge 0: its right side is not a token
		s/"▁ a"/"▁a"/	merge 0 is not a pair
		s/"▁ a"/7/	merge 0 is not a pair
		s/"unk_token":"<unk>"/"unk_token":"x"/	unk_token x is not a token
		s/"fuse_unk":true/"fuse_unk":1/	fuse_unk is neither true nor false
		s/"fuse_unk":true/"end_of_word_suffix":"x"/	end_of_word_suffix x is not supported
		s/"fuse_unk":true/"dropout":0.5/	dropout is not supported
		s/"model"/"odd"/	is not a tokenizer
		s/"id":9/"id":4/	two tokens have the id 4
	END
}

@test "added tokens" {
	characters '"normalizer":null,' | sed 's/"content":"<user>"/"content":"aba"/' >t.json
	ids '9 4' t.json 'abab'
	characters '"normalizer":null,' |
		sed 's/"content":"<user>","special":false/"content":"b","special":false,"lstrip":true,"rstrip":true/;
			s/"b":4/"q":4/; s/"ab":6/"rr":6/; s/,\["a","b"\]//; s/"id":9/"id":9/' >t.json
	ids '3 9 3' t.json 'a  b a'
	characters '"normalizer":null,' |
		sed 's/"content":"<user>","special":false/"content":"ab","single_word":true,"special":false/; s/"id":9/"id":6/' >t.json
	ids '3 6' t.json 'aab'
	ids '6' t.json 'ab'
	# A lower-cased text never holds "<USER>".
	characters '"normalizer":{"type":"Lowercase"},' |
		sed 's/"<user>"/"<USER>"/; s/"normalized":false/"normalized":true/' >t.json
	try apr-tok encode -p a t.json
	said 4 'an added token that is normalized: <USER> is not supported'
}

# ---- what a hostile file asks for ----

# asks NORMALIZER PRE-TOKENIZER: a vocabulary of "a" and "b" with those.
asks() {
	printf '{"normalizer":%s,"pre_tokenizer":%s,"model":{"type":"BPE","vocab":{"a":0,"b":1,"é":2},"merges":[]}}' \
		"$1" "$2" >t.json
}

# cuts PATTERN...: in JSON's spelling.
cuts() {
	local p list=
	for p; do
		list+=",{\"type\":\"Split\",\"pattern\":{\"Regex\":\"$p\"},\"behavior\":\"Isolated\"}"
	done
	printf '{"type":"Sequence","pretokenizers":[%s]}' "${list#,}"
}

# replaces TIMES PATTERN TEXT: a pattern as an object.
replaces() {
	local i list=
	for ((i = 0; i < $1; i++)); do
		list+=",{\"type\":\"Replace\",\"pattern\":$2,\"content\":\"$3\"}"
	done
	printf '{"type":"Sequence","normalizers":[%s]}' "${list#,}"
}

# ends STATUS TEXT ARG...: soon, in little memory.
ends() {
	local status=$1 text=$2
	shift 2
	try env APR_RAM_LIMIT="${limit-256M}" timeout 20 apr-tok encode --count t.json "$@"
	said "$status" "$text"
}

@test "a pattern from a file is of a stated kind" {
	local p text
	while IFS=$'\t' read -r p text; do
		asks null "$(cuts "$p" a)"
		ends 4 "$text" -p ab
		asks "$(replaces 1 "{\"Regex\":\"$p\"}" b)" null
		ends 4 "$text" -p é
	done <<-'END'
		(?<=(?1))b|(\\Ka)	character 5 of the pattern: (?1 is not read here (E001)
		(?<=(?1))(?:)|(\\Ka)	character 5 of the pattern: (?1 is not read here (E001)
		^\\C|	character 2 of the pattern: \C is not read here (E001)
		(*UTF)a	character 1 of the pattern: (*U is not read here (E001)
		(a)\\1	character 4 of the pattern: \1 is not read here (E001)
		a{2,1}	character 2 of the pattern: at least 2 and at most 1 repeats (E002)
		\\p{Odd}	is not a pattern: unknown property
	END
	asks null "$(cuts "$(printf 'a%.0s' {1..8193})")"
	ends 4 'a pattern of 8193 bytes is not read'
	asks null "$(cuts "$(printf '(%.0s' {1..40})")"
	ends 4 'more than 32 groups within each other (E001)'
	asks null "$(cuts '(?:(?:a{1000}){1000})')"
	ends 4 'it compares more than 8192 characters (E001)'
	asks null "$(cuts '[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}'{,,,})"
	ends 4 'all patterns together compare more than 16384 characters (E001)'
}

@test "patterns of files mean what they mean to Oniguruma" {
	local p want
	while IFS=$'\t' read -r p want; do
		printf '{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"%s"},"behavior":"Removed"},
			"model":{"type":"BPE","vocab":{"a":0,"b":1,"(":2,"\\n":3},"merges":[]}}' "$p" >t.json
		ids "$want" t.json $'aab(\nb'
	done <<-'END'
		[^(\\s|[.a])]+	0 0 2 3
		a{1,2}+b	2 3 1
		a{1}?b	0 2 3
		^b	0 0 1 2 3
		\\($	0 0 1 3 1
		(?i:A)+	1 2 3 1
		\\u0061|\\x62	2 3
	END
}

@test "patterns share what a text may cost" {
	local p
	head -c 100000 /dev/zero | tr '\0' a >as
	for p in '(?:.*x)?a' '(?:a+)+[xy]' 'a(?=.*[xy])' '(?:a?){60}[xy]'; do
		asks null "$(cuts "$p")"
		ends 1 'takes too long to match (E008)' <as
		asks "$(replaces 1 "{\"Regex\":\"$p\"}" b)" null
		ends 1 'takes too long to match (E008)' <as
	done
	# A short text is still free to try.
	asks null "$(cuts '(?:.*x)?a')"
	try apr-tok encode --count -p aaaaaaaaaaaaaaaa t.json
	quiet
	[ "$(cat "$out")" = 16 ]
}

@test "a text does not grow without end" {
	asks "$(replaces 40 '{"String":"a"}' aa)" null
	ends 1 'make the text more than 32 times as long (E008)' -p a
	asks "$(replaces 40 '{"Regex":"a"}' aa)" null
	ends 1 'a: takes too long to match (E008)' -p a
	printf 'b%.0s' {1..8000} >bs
	yes a | head -n 50000 | tr -d '\n' >as
	asks "$(replaces 1 '{"Regex":"(?:)"}' "$(<bs)")" null
	ends 1 'make the text more than 32 times as long (E008)' <as
	asks '{"type":"Prepend","prepend":"'"$(<bs)b"'"}' null
	try apr-tok encode --count -p a t.json
	quiet
	printf 'b%.0s' {1..1000000} >bs
	asks "$(replaces 1 '{"Regex":"(?:)"}' "$(<bs)")" null
	ends 4 'a step has a text of more than 8192 bytes (E001)' -p ab
	# A blank in front of each piece, each made a piece that is not a blank.
	asks null "$(for i in {1..40}; do
		printf '{"type":"ByteLevel","use_regex":false},{"type":"Metaspace","split":false},%s,' "$(cuts '[^x]')"
	done | sed 's/^/{"type":"Sequence","pretokenizers":[/; s/,$/]}/')"
	ends 1 'make the text more than 32 times as long (E008)' <as
}

@test "steps of a tokenizer are counted" {
	asks "$(replaces 129 '{"String":"a"}' a)" null
	ends 4 'more than 128 steps normalize the text (E001)' -p a
	asks null "$(cuts a{,,,,,,,,}{,,,,}{,,}a)"
	ends 4 'more than 128 steps cut the text (E001)' -p a
}

@test "texts that are almost added tokens of many lengths" {
	local i
	head -c 100000 /dev/zero | tr '\0' a >as
	as=$(<as)
	{
		printf '{"added_tokens":['
		for ((i = 10; i < 4000; i++)); do
			printf '{"id":%d,"content":"%.*sb"},' $((i - 9)) "$i" "$as"
		done
		printf '{"id":0,"content":"aa"}],"model":{"type":"BPE","vocab":{"aa":0},"merges":[]}}'
	} >t.json
	ends 1 'finding added tokens in the text takes too long (E008)' <as
}

@test "a model has the ids of its GGUF form" {
	need_data
	local m=$APR_TEST_DATA/models
	head -c 60000 "$APR_TEST_DATA/text/wikitext-2.test.txt" >text
	texts 60000 5 >>text
	apr-tok encode "$m/shakespeare/shakespeare-Q8_0.gguf" <text >want
	for form in shakespeare shakespeare/tokenizer.json; do
		apr-tok encode "$m/$form" <text | cmp - want
	done
	apr-tok encode "$m/stories260K/stories260K-Q4_0.gguf" <text >want
	for form in stories260K stories260K/tokenizer.model; do
		apr-tok encode "$m/$form" <text | cmp - want
	done
	apr-tok encode "$APR_TEST_DATA/vocab/ggml-vocab-gpt-2.gguf" <text >want
	for form in gpt2-layout gpt2-layout/tokenizer.json; do
		apr-tok encode "$m/$form" <text | cmp - want
	done
	# Unigram; its folder also cuts at white space that its character map leaves.
	m=$APR_TEST_DATA/convert/t5
	head -c 60000 "$APR_TEST_DATA/text/wikitext-2.test.txt" | tr '\n' ' ' >line
	apr-tok encode "$m/expected.gguf" <line >want
	for form in hf hf/tokenizer.json hf/spiece.model; do
		apr-tok encode "$m/$form" <line | cmp - want
	done
}

# ---- tokenizer.model ----

# A piece of SentencePiece: TEXT KIND [SCORE], the score as four bytes.
piece() {
	local n=${#1}
	# shellcheck disable=SC2059
	printf "\\x0a\\x$(printf %02x $((n + 9)))\\x0a\\x$(printf %02x "$n")%s\\x15${3-\\x00\\x00\\x80\\xbf}\\x18\\x0$2" "$1"
}

# PIECES TRAINER NORMALIZER: the last two as bytes. Type 2 is BPE.
sentencepiece() {
	piece '<unk>' 2
	piece '<s>' 3
	piece '</s>' 3
	piece '<0x41>' 6
	piece a 1
	piece b 1
	piece ab 1 '\x00\x00\x00\x00'
	piece $'\xe2\x96\x81' 1
	piece $'\xe2\x96\x81a' 1
	eval "$1"
	# shellcheck disable=SC2059
	printf "${2-\\x12\\x05\\x18\\x02\\xc0\\x02\\x00}${3-\\x1a\\x02\\x18\\x01}"
}

@test "tokenizer.model: pieces, and what is refused" {
	sentencepiece '' >t.model
	ids '1 7 6 7 3' t.model 'ab A'
	ids '1 8' t.model 'a'
	ids '1 8 0 5' t.model 'axyb'
	[ "$(apr-tok decode --tokens 1,7,6,7,3 t.model)" = 'ab A' ]
	# No blank in front.
	sentencepiece '' '\x12\x05\x18\x02\xc0\x02\x00' '\x1a\x02\x18\x00' >t.model
	ids '1 6' t.model 'ab'
	while IFS=$'\t' read -r more trainer normalizer text; do
		sentencepiece "$more" "$trainer" "$normalizer" >t.model
		try apr-tok encode -p a t.model
		said 4 "$text" || fail "$more $trainer $normalizer"
	done <<-'END'
		true	\x12\x02\x18\x03	\x1a\x02\x18\x01	a SentencePiece model WORD is not supported (E001)
		true	\x12\x02\x18\x04	\x1a\x02\x18\x01	a SentencePiece model CHAR is not supported
		true	\x12\x02\x18\x02	\x1a\x03\x12\x01x	a normalizer with a table
		true	\x12\x05\x18\x02\xc0\x01\x01	\x1a\x02\x18\x01	blanks that are not in front
		true	\x12\x02\x18\x02	\x1a\x02\x28\x00	blanks that are not in front
		true	\x12\x05\x18\x02\xc8\x02\x63	\x1a\x02\x18\x01	token 99 has a role
		piece a 1	\x12\x02\x18\x02	\x1a\x02\x18\x01	has the text of token 4
		piece x 7	\x12\x02\x18\x02	\x1a\x02\x18\x01	is of no known type
		piece x 1 '\x00\x00\xc0\x7f'	\x12\x02\x18\x02	\x1a\x02\x18\x01	its score not a number
		piece x 6	\x12\x02\x18\x02	\x1a\x02\x18\x01	is a byte, but not spelt like
		printf '\x0b'	\x12\x02\x18\x02	\x1a\x02\x18\x01	a field of form 3
		printf '\x0a\x7f'	\x12\x02\x18\x02	\x1a\x02\x18\x01	(E002)
	END
	sentencepiece '' | head -c 40 >t.model
	try apr-tok encode -p a t.model
	said 4 '(E002)'
	printf '\n' >t.model
	try apr-tok encode -p a t.model
	said 4 '(E002)'
}
