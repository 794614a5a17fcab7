# apr-run --serve-stdin: a model that is loaded once
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	model=$root/tests/data/shakespeare-BF16.gguf
}

@test "answers have the text of a run of their own, whatever came before" {
	printf '%s\n' '{"request":"a","prompt":"ROMEO:","n":12}' '' \
		'{"request":2,"prompt":"JULIET:","n":9,"temp":0.9,"seed":7,"top_k":0}' \
		'{"tokens":[82,25,532],"n":3,"stream":true}' '{"prompt":"ROMEO:"}' \
		'{"request":"a","prompt":"ROMEO:","n":12}' >requests
	try apr-run --serve-stdin -n 5 --stop "'ll" "$model" <requests
	quiet
	[ "$(wc -l <"$out")" -eq 8 ]
	# The stop text of the command line ends the first.
	want=$(apr-run -p ROMEO: -n 12 --stop "'ll" "$model" | tr '\n' '|')
	sed -n 1p "$out" | grep -qF "\"request\":\"a\",\"text\":\"${want//|/\\n}\",\"tokens\":["
	sed -n 1p "$out" | grep -q '"prompt_tokens":2,"end":"stop"}$'
	want=$(apr-run -p JULIET: -n 9 --temp 0.9 --seed 7 --top-k 0 --json "$model" |
		sed 's/.*"id":\([0-9]*\),.*/\1/' | paste -sd,)
	sed -n 2p "$out" | grep -q "^{\"request\":2,.*\"tokens\":\[$want\].*\"end\":\"count\"}$"
	apr-run --tokens 82,25,532 -n 3 --json "$model" | cmp - <(sed -n 3,5p "$out")
	sed -n 6p "$out" | grep -q '^{"text":.*"tokens":\[[0-9]*,[0-9]*,[0-9]*\],"prompt_tokens":3,"end":"count"}$'
	cmp <(sed -n 1p "$out") <(sed -n 8p "$out")
}

@test "an answer comes before the next request" {
	coproc apr-run --serve-stdin -n 2 "$model"
	for i in 1 2 3; do
		echo "{\"request\":$i,\"prompt\":\"ROMEO:\"}" >&"${COPROC[1]}"
		read -r -t 60 answer <&"${COPROC[0]}"
		[[ $answer == "{\"request\":$i,"* ]]
	done
	pid=$COPROC_PID
	exec {COPROC[1]}>&-
	wait "$pid"
}

@test "a request that cannot be answered is an answer, and the next one is read" {
	{
		printf '%s\n' '{"request":1,"prompt":"a","temp":-1}' '{no' '{"tokens":[999999]}' \
			'{"request":[3],"prompt":"a","tokens":[1]}'
		head -c 1053569 /dev/zero | tr '\0' ' '
		printf '\n%s' '{"prompt":"ROMEO:","n":1}'
	} >requests
	try apr-run --serve-stdin -c 64 "$model" <requests
	quiet
	sed -i "s|${model}|m|" "$out"
	cmp - "$out" <<-'END'
		{"request":1,"error":"usage","message":"temp: is not between 0 and 100"}
		{"error":"E002","message":"the request: is not valid JSON at byte 3: string or '}' expected near 'no'"}
		{"error":"invalid","message":"m: token 999999 is not in the vocabulary of 1024"}
		{"request":[3],"error":"usage","message":"the request: has both prompt and tokens"}
		{"error":"E008","message":"the request: is longer than 1053568 bytes"}
		{"text":"\n","tokens":[198],"prompt_tokens":2,"end":"count"}
	END
	{ printf '{"tokens":[1'; printf ',%d' {1..64}; echo ']}'; } >long
	try apr-run --serve-stdin -c 64 "$model" <long
	quiet
	grep -q '^{"error":"invalid","message":"the prompt has 65 tokens, and there is room for 64' "$out"
}

@test "an answer that memory is too small for is reported, and the next request is read" {
	if grep -q -e __asan_init "$APR_BIN/apr-run"; then
		skip 'a sanitizer has memory of its own'
	fi
	{
		printf '{"tokens":[1],"request":"'
		head -c 1000000 /dev/zero | tr '\0' x
		printf '"}\n{"request":2,"tokens":[1]}'
	} >requests
	failed=0
	for room in 13 14 15 16 17 18 20 40; do
		try env APR_RAM_LIMIT=${room}M apr-run --serve-stdin -n 1 "$model" <requests
		[ "$status" -eq 0 ] || continue # too small for the model
		quiet
		[ "$(sed -n '2,$p' "$out")" = '{"request":2,"text":"i","tokens":[72],"prompt_tokens":1,"end":"count"}' ]
		case $(head -c 16 "$out") in
		'{"error":"E008",') failed=$((failed + 1)) ;;
		*) [ $(head -n 1 "$out" | wc -c) -gt 1000000 ] ;;
		esac
	done
	[ "$status" -eq 0 ]
	[ "$failed" -gt 0 ]
}

@test "a request takes memory as the context does, whatever its length" {
	{
		printf '{"prompt":"%s"}\n' "$(head -c 50000000 /dev/zero | tr '\0' 'a')"
		printf '{"tokens":[1%s]}\n' "$(head -c 50000000 /dev/zero | sed 's/\x0\x0/,1/g')"
		head -c 50000000 /dev/zero | tr '\0' '['
		printf '\n{"prompt":"%s"}\n' "$(head -c 1052000 /dev/zero | tr '\0' 'a')"
		printf '{"tokens":[1%s]}\n' "$(printf ',1%.0s' {1..4200})"
		# Commas of a text are no values.
		printf '{"request":"%s\\"%s","tokens":[1],"n":1}\n' "$(head -c 5000 /dev/zero | tr '\0' ',')" '[,'
	} >requests
	room=24M
	if grep -q -e __asan_init "$APR_BIN/apr-run"; then
		room= # a sanitizer has memory of its own
	fi
	try env APR_RAM_LIMIT=$room apr-run --serve-stdin -c 64 "$model" <requests
	quiet
	sed -i 's/,,*\\"\[,/commas/' "$out"
	cmp - "$out" <<-'END'
		{"error":"E008","message":"the request: is longer than 1053568 bytes"}
		{"error":"E008","message":"the request: is longer than 1053568 bytes"}
		{"error":"E008","message":"the request: is longer than 1053568 bytes"}
		{"error":"invalid","message":"the prompt has 1052000 bytes, and 1049408 are the most for 64 tokens","hint":"-c N makes room for N"}
		{"error":"E008","message":"the request: has more than 4160 values"}
		{"request":"commas","text":"i","tokens":[72],"prompt_tokens":1,"end":"count"}
	END
}

@test "a signal ends the wait for a request" {
	mkfifo in
	apr-run --serve-stdin -n 1 "$model" <in >answer &
	pid=$!
	exec 9>in
	echo '{"prompt":"ROMEO:"}' >&9
	for _ in {1..300}; do
		[ ! -s answer ] || break
		sleep 0.1
	done
	[ -s answer ]
	kill -INT $pid
	status=0
	wait $pid || status=$?
	exec 9>&-
	[ $status -eq 130 ]
}

@test "requests and other tasks exclude each other" {
	for other in --bench --logits "--perplexity x" "-p x" "--tokens 1"; do
		# shellcheck disable=SC2086 # words
		try apr-run --serve-stdin $other "$model" </dev/null
		said 2 serve-stdin
	done
	try apr-run --serve-stdin --json "$model" </dev/null
	said 2 'always answers in JSON'
	try apr-run --serve-stdin - <"$model"
	said 2 'standard input has the requests'
	try apr-run --serve-stdin "$model" </dev/null
	quiet
	[ ! -s "$out" ]
}
