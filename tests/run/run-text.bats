# apr-run: generated text, and the perplexity of a text
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The text that llama.cpp makes of the shipped model after "ROMEO:", and two line breaks
# that are none of it.
recorded() {
	head -c -2 "$root/tests/data/greedy.ROMEO.n120.txt"
}

# text_of FILE: the texts of lines of JSON, one after another.
text_of() {
	local all
	all=$(sed 's/.*"text":"\(.*\)","logprob".*/\1/; s/\\"/\\042/g' "$1" | tr -d '\n')
	printf '%b' "$all"
}

@test "greedy text is the recorded one, on any number of threads, at any level" {
	recorded >want
	for threads in 1 2 3; do
		apr-run -p ROMEO: -n 120 -t $threads "$model" | cmp - want
	done
	APR_CPU=ref apr-run -p ROMEO: -n 40 "$model" >short
	[ -s short ]
	cmp -n "$(wc -c <short)" short want
}

@test "greedy text of a model of stories is the recorded one" {
	need_data
	of=$APR_TEST_DATA/models/stories260K
	apr-run -n 200 "$of/stories260K-f32.gguf" </dev/null | cmp - "$of/stories260K.expected_t0_n200.txt"
	apr-unpack "$of/stories260K-f32.gguf" | apr-pack >m.apr
	: | apr-run -n 200 m.apr | cmp - "$of/stories260K.expected_t0_n200.txt"
}

@test "a prompt comes by option, from a file, and by standard input" {
	apr-run -p ROMEO: -n 20 "$model" >want
	printf 'ROMEO:\n' >prompt
	apr-run -f prompt -n 20 "$model" | cmp - want
	apr-run -f - -n 20 "$model" <prompt | cmp - want
	apr-run -n 20 "$model" <prompt | cmp - want
	echo ROMEO: | apr-run -n 20 "$model" | cmp - want
	printf 'ROMEO:\r\n' | apr-run -n 20 "$model" | cmp - want
	try apr-run -p ROMEO: -n 20 "$model"
	quiet
	# Two line breaks are one, and another text.
	printf 'ROMEO:\n\n' | apr-run -n 20 "$model" >other
	! cmp -s other want || fail "a line break of the prompt is lost"
	apr-run --tokens 47,44,42,34,44,25 -n 20 "$model" >/dev/null
}

@test "a model in the pipe, a prompt beside it" {
	apr-quant q8_0 "$model" | apr-pack -o m.apr
	apr-run -p Hello -n 30 m.apr >want
	pipe "echo Hello | apr-run m.apr -n 30 | cmp - want"
	pipe "apr-unpack m.apr | apr-run - -p Hello -n 30 | cmp - want"
	pipe "apr-unpack '$model' | apr-quant q4_k_m 2>/dev/null | apr-run - -p Hello -n 30 >text"
	[ -s text ]
	try apr-run - -n 30 <m.apr
	said 2 "standard input is the model"
	try apr-run -f - -n 30 - <m.apr
	said 2 "standard input is the model"
}

@test "text ends before a stop text" {
	apr-run -p ROMEO: -n 120 --stop banish "$model" >text
	printf '\nI'\''ll not, I'\''ll not be a ' | cmp - text
	apr-run -p ROMEO: -n 120 --stop nothing --stop $'\n\nROM' --stop $'.\n\nR' "$model" >text
	printf '\nI'\''ll not, I'\''ll not be a banish' | cmp - text
	apr-run -p ROMEO: -n 120 --stop banish --json "$model" >lines
	text_of lines >text
	printf '\nI'\''ll not, I'\''ll not be a ' | cmp - text
	try apr-run -p x --stop '' "$model"
	said 2 --stop
}

@test "lines of JSON are the same tokens and text" {
	apr-run -p ROMEO: -n 50 --json "$model" >lines
	[ "$(wc -l <lines)" -eq 50 ]
	! grep -qv '^{"id":[0-9]*,"text":".*","logprob":-[0-9.e+-]*}$' lines
	text_of lines >text
	apr-run -p ROMEO: -n 50 "$model" | cmp - text
	# The logarithm is that of the logits.
	apr-run -p ROMEO: --logits --json "$model" | tail -n 1 | sed 's/.*\[//; s/\].*//' |
		tr , '\n' | awk -v want="$(head -n 1 lines | sed 's/.*"logprob":\([^}]*\)}/\1/')" '
			{ sum += exp($1); most = NR == 1 || $1 > most ? $1 : most }
			END { d = most - log(sum) - want; exit !(d < 1e-5 && d > -1e-5) }'
}

@test "a line of JSON tells the token it stands for, also where text was held back" {
	# The text comes to the beginning of a stop text, and never to its end.
	apr-run -p ROMEO: -n 60 --json "$model" >want
	apr-run -p ROMEO: -n 60 --json --stop $'\nI\'ll not, I\'ll not be a vanished' \
		--stop $'.\n\nnobody' "$model" | cmp - want
	# The tokens of a stop text are listed, without text.
	apr-run -p ROMEO: -n 60 --json --stop banish "$model" >lines
	sed 's/"text":".*",//' lines >same
	sed 's/"text":".*",//' want | head -n "$(wc -l <lines)" | cmp - same
	tail -n 1 lines | grep -q '"text":"",'
}

@test "a line of JSON tells the token it stands for, where characters take several" {
	# Without its vocabulary, nothing is held back.
	apr-quant --override-kv tokenizer.ggml.model=str:none bf16 "$model" 2>/dev/null |
		apr-pack -t gguf -o mute.gguf
	ask=(-n 200 --temp 100 --top-k 0 --top-p 1 --min-p 0 --json)
	for seed in 1 2 3; do
		apr-run --tokens 5 "${ask[@]}" --seed $seed mute.gguf >want
		apr-run --tokens 5 "${ask[@]}" --seed $seed "$model" >lines
		grep -q $'\xef\xbf\xbd' lines # something began like a character
		sed 's/"text":".*",//' lines >same
		head -n "$(wc -l <lines)" want | cmp - same
		text_of lines >text
		apr-run --tokens 5 -n 200 --temp 100 --top-k 0 --top-p 1 --min-p 0 --seed $seed \
			"$model" | cmp - text
	done
}

@test "an empty prompt stands for the token that begins a text" {
	apr-run --tokens 1023 -n 20 "$model" >want
	[ -s want ]
	apr-run -p '' -n 20 "$model" | cmp - want
	: | apr-run -n 20 "$model" | cmp - want
	try apr-tok encode -p '' "$model"
	quiet
	[ "$(cat "$out")" = "$(: | apr-tok encode "$model")" ]
}

@test "weights of a model folder are read with the files beside them" {
	need_data
	of=$APR_TEST_DATA/models/shakespeare
	mkdir folder cache
	cp "$of"/{config,tokenizer}.json folder/
	cp "$of/model.safetensors" cache/
	apr-run -p ROMEO: -n 20 "$of" >want 2>/dev/null
	apr-unpack "$of/model.safetensors" |
		apr-pack -t safetensors --shard-size 2M -o cache/model.safetensors
	mv cache/model-*-of-*.safetensors cache/model.safetensors.index.json folder/
	parts=(folder/model-*.safetensors)
	[ ${#parts[@]} -gt 1 ]
	for file in "${parts[1]}" folder/model.safetensors.index.json; do
		try apr-run -p ROMEO: -n 20 "$file"
		[ "$status" -eq 0 ] || fail "$(cat "$err")"
		cmp "$out" want
		grep -qF "apr-run: $file is read with the files of its folder" "$err"
		[ "$(apr-tok encode -p Hello "$file" 2>/dev/null)" = "$(apr-tok encode -p Hello "$model")" ]
	done
	rm folder/model*
	mv cache/model.safetensors folder/
	apr-run -p ROMEO: -n 20 folder/model.safetensors 2>/dev/null | cmp - want
	(cd folder && apr-run -p ROMEO: -n 20 model.safetensors 2>/dev/null) | cmp - want
	(cd folder && apr-tok encode -p Hello model.safetensors 2>/dev/null) >ids
	apr-tok encode -p Hello "$model" | cmp - ids
	# It is unknown to which of the two weights the files belong.
	mv folder/model.safetensors folder/one.safetensors
	apr-run -p ROMEO: -n 20 folder/one.safetensors 2>/dev/null | cmp - want
	cp folder/one.safetensors folder/other.safetensors
	try apr-run -p ROMEO: folder/one.safetensors
	said 4 'has no vocabulary'
}

@test "tokens are drawn: a seed gives its text, another gives another" {
	ask=(apr-run -p ROMEO: -n 40 --temp 1)
	"${ask[@]}" --seed 1 "$model" >one
	"${ask[@]}" --seed 1 -t 1 "$model" | cmp - one
	"${ask[@]}" --seed 2 "$model" >two
	! cmp -s one two || fail "seeds make no difference"
	"${ask[@]}" "$model" >zero
	"${ask[@]}" --seed 0 "$model" | cmp - zero
	apr-run -p ROMEO: -n 40 "$model" >greedy
	"${ask[@]}" --top-k 1 "$model" | cmp - greedy
	"${ask[@]}" --top-p 0 "$model" | cmp - greedy
	"${ask[@]}" --min-p 1 "$model" | cmp - greedy
	apr-run -p ROMEO: -n 40 --repeat-penalty 1.5 "$model" >other
	! cmp -s other greedy || fail "the penalty makes no difference"
}

@test "what is written is always UTF-8" {
	for seed in 1 2 3; do
		apr-run -p x -n 200 --temp 100 --top-k 0 --top-p 1 --min-p 0 --seed $seed "$model" >text
		[ -s text ]
		iconv -f utf-8 -t utf-16 text >/dev/null
		apr-run -p x -n 200 --temp 100 --top-k 0 --top-p 1 --min-p 0 --seed $seed --json \
			"$model" | iconv -f utf-8 -t utf-16 >/dev/null
	done
}

# Four tokens: ESC, the two bytes of U+009B, and a line break, as byte-level BPE spells them.
terminal_model() {
	cat <<-'END'
		key general.architecture string llama
		key llama.block_count u32 1
		key llama.context_length u32 512
		key llama.embedding_length u32 8
		key llama.attention.head_count u32 2
		key llama.attention.layer_norm_rms_epsilon f32 1e-5
		key tokenizer.ggml.model string gpt2
		key tokenizer.ggml.pre string gpt-2
		key tokenizer.ggml.tokens array:string \xc4\x9b \xc3\x82 \xc4\xbd \xc4\x8a
		key tokenizer.ggml.merges array:string *0
		tensor token_embd.weight F32 4x8 noise
		tensor output_norm.weight F32 8 values 1
		tensor blk.0.attn_norm.weight F32 8 values 1
	END
	for name in attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down; do
		echo "tensor blk.0.$name.weight F32 8x8 noise"
	done
	echo tensor blk.0.ffn_norm.weight F32 8 values 1
}

@test "control characters of a vocabulary are escaped on a terminal, and nowhere else" {
	terminal_model | mkmodel >m.gguf
	ask=(apr-run --tokens 0 -n 300 --temp 50 --top-k 0 --top-p 1 --min-p 0 m.gguf)
	"${ask[@]}" >raw
	grep -q $'\033' raw
	grep -q $'\302\233' raw
	on_terminal "${ask[@]}" >shown
	! grep -q $'[\033\302\233]' shown || fail "$(cat -v shown)"
	# The same text, and the line break that a terminal gets.
	{ sed $'s/\033/\\\\x1b/g; s/\302\233/\\\\xc2\\\\x9b/g' raw; echo; } | cmp - shown
}

@test "a reader that goes ends it without a word" {
	try bash -c "apr-run -p ROMEO: -n 200 '$model' | head -c 5"
	quiet
	[ "$(wc -c <"$out")" -eq 5 ]
}

@test "an interrupt tells what was done" {
	mkfifo pipe
	APR_CPU=ref apr-run -p ROMEO: -n 240 -t 1 "$model" >pipe 2>told 3>&- &
	exec 7<pipe
	head -c 1 <&7 >text
	kill -INT $!
	status=0
	wait $! || status=$?
	cat <&7 >>text
	exec 7<&-
	[ $status -eq 130 ]
	grep -q 'generated: [0-9]* tokens, [0-9.]* a second' told
	recorded | cmp -n "$(wc -c <text)" - text
}

@test "the context ends a text (CHECK-049)" {
	try apr-run -p ROMEO: -n 100 -c 20 "$model"
	[ "$status" -eq 0 ]
	grep -q 'context of 20 tokens is full' "$err"
	recorded | cmp -n "$(wc -c <"$out")" - "$out"
	try apr-run -p "$(printf 'word %.0s' {1..30})" -c 20 "$model"
	said 5 "there is room for 20"
	try apr-run -p x -c 100000 "$model"
	said 5 "longer than the model's"
}

@test "wrong usage" {
	for wrong in "-p a -f b" "-p a --tokens 1" "--logits --bench" "--bench -p a" \
		"--perplexity x -p a" "--logits -n 3" "--perplexity x -n 3" "--bench-prompt 3" \
		"--temp -1" "--temp x" "--temp 1e3" "--top-p 1.5" "--min-p ." "--repeat-penalty 0" \
		"--top-k -1" "--seed a" "-n 0" "--cache q8"; do
		# shellcheck disable=SC2086
		try apr-run $wrong "$model" </dev/null
		[ "$status" -eq 2 ] || fail "$wrong: $status" "$(cat "$err")"
		[ ! -s "$out" ]
	done
	try apr-run -f missing "$model"
	said 3 missing
	try apr-run -f . "$model"
	said 1
	try apr-run -p x missing
	said 3 missing
	head -c 100000 "$model" >cut
	try apr-run -p x cut
	said 4
	[ ! -s "$out" ]
}

# near PERPLEXITY: the last try's, within half of one percent
near() {
	[ "$status" -eq 0 ] || fail "$(cat "$err")" || return
	awk -v want="$1" '{ d = $2 / want - 1; exit !(d < 0.005 && d > -0.005) }' "$out" ||
		fail "perplexity of $1:" "$(cat "$out")"
}

# bats test_tags=repeats
@test "perplexities of real files are those of llama.cpp" {
	need_data
	of=$APR_TEST_DATA/models/stories260K
	count=0
	while read -r file _ _ value _; do
		try apr-run --perplexity "$APR_TEST_DATA/text/tinystories-sample.txt" -c 128 "$of/$file"
		near "$value"
		count=$((count + 1))
	done <"$of/perplexity-llama.cpp.txt"
	[ $count -eq 9 ]
}

# bats test_tags=repeats
@test "perplexities of types made here are those of llama.cpp" {
	need_data
	of=$APR_TEST_DATA/models/shakespeare
	for type in q4_k_m q3_k_m iq4_xs; do
		apr-quant $type "$model" >stream 2>/dev/null
		try apr-run --perplexity "$of/validation.txt" -c 256 <stream
		near "$(tr -d ' \n' <"$of/perplexity.json" | sed "s/.*\"$type\":\[\([0-9.]*\),.*/\1/")"
	done
}

@test "perplexities with each type of cache are close" {
	export APR_LOG_LEVEL=error
	for seed in 1 2 3; do apr-run -p ROMEO: -n 240 --temp 0.7 --seed $seed "$model"; done >text
	for type in f16 f32 q8_0; do
		apr-run --perplexity text -c 128 --cache $type "$model" | sed "s/^/$type /" >>told
	done
	awk '{ v[NR] = $3 } END { for (i = 2; i <= 3; i++) {
		d = v[i] / v[1] - 1; if (NR != 3 || d == 0 || d > 0.002 || d < -0.002) exit 1 } }' told
}

@test "a perplexity is told as JSON, and of too short a text refused" {
	for i in {1..60}; do echo "And so it was, the $i. time."; done >text
	try apr-run --perplexity text -c 64 --json "$model"
	quiet
	grep -q '^{"perplexity":[0-9.]*,"error":[0-9.]*,"tokens":[0-9]*,"context":64,"parts":[0-9]*,"counted":[0-9]*}$' "$out"
	try apr-run --perplexity text -c 256 "$model" </dev/null
	[ "$status" -eq 0 ]
	head -c 200 text >short
	try apr-run --perplexity short -c 64 "$model"
	said 5 "fewer than twice the context"
	try apr-run --perplexity - "$model" <short
	said 5 "fewer than twice"
	try apr-run --perplexity missing "$model"
	said 3 missing
}

@test "a perplexity shows its progress, with what it is so far" {
	for i in {1..60}; do echo "And so it was, the $i. time."; done >text
	try apr-run --perplexity text -c 64 --progress "$model"
	[ "$status" -eq 0 ]
	value=$(sed 's/^perplexity \([0-9.]*\) .*/\1/' "$out")
	[[ $(tail -n 1 "$err") =~ ^apr-run:\ ([0-9]+)\ of\ ([0-9]+)\ parts,\ perplexity\ $value,\ 0\ s\ left$ ]]
	[ "${BASH_REMATCH[1]}" -ge 10 ]
	[ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ]
	try apr-run --perplexity text -c 64 "$model"
	quiet
	# On a terminal without being asked, and then it is gone.
	for i in {1..200}; do echo "And so it was, the $i. time."; done >text
	on_terminal env APR_CPU=ref apr-run --perplexity text -c 64 -t 1 "$model" >shown
	grep -q $'\rapr-run: [0-9]* of [0-9]* parts, perplexity [0-9.]*, [0-9]* s left\033\\[K' shown
	tail -n 1 shown | grep -q $'\r\033\\[Kperplexity '
	try apr-run --progress -p x "$model"
	said 2 '--progress goes with --perplexity'
}

@test "a bench tells rates" {
	try apr-run --bench -n 8 --bench-prompt 20 "$model"
	quiet
	grep -q '^prompt  *20 tokens  *[0-9.]* tokens/s$' "$out"
	grep -q '^decode  *8 tokens  *[0-9.]* tokens/s$' "$out"
	try apr-run --bench -n 8 --bench-prompt 20 --json "$model"
	quiet
	grep -q '^{"prompt_tokens":20,"prompt_rate":[0-9.e+]*,"decode_tokens":8,.*"read_fraction":[0-9.e-]*,"cache":"f16","cache_bytes":[0-9]*}$' "$out"
	# Three blocks, four heads of 32, keys and values, 64 positions.
	for type in "f16 2" "f32 4" "q8_0 1.0625"; do
		apr-run --bench -n 8 --bench-prompt 20 -c 64 --cache "${type% *}" --json "$model" |
			sed 's/.*"cache":"\([^"]*\)","cache_bytes":\([0-9]*\)}/\1 \2/' >told
		awk -v want="${type#* }" '{ exit $2 != 3 * 4 * 32 * 2 * 64 * want }' told || fail "$(cat told)"
		grep -q "^${type% *} " told
	done
	apr-run --bench -n 8 --bench-prompt 20 -c 64 --cache q8_0 "$model" | grep -q '^cache   q8_0 .* MB$'
	try apr-run --bench -c 100 "$model"
	said 5 "more than the context"
}
