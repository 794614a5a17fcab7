# APR version 1 files (-t apr1): those of other programs are read to their values and
# written to their bytes; any model goes in and comes out again.
load ../helper

setup_file() {
	export APR_LOG_LEVEL=warning
	vectors apr1_good "$BATS_FILE_TMPDIR/good"
	vectors apr1_faults "$BATS_FILE_TMPDIR/bad"
	vectors gguf_good "$BATS_FILE_TMPDIR/gguf"
	vectors stream_good "$BATS_FILE_TMPDIR/stream"
	apr-unpack "$model" >"$BATS_FILE_TMPDIR/m.aprs"
	apr-quant --pure q4_0 <"$BATS_FILE_TMPDIR/m.aprs" 2>/dev/null >"$BATS_FILE_TMPDIR/q4.aprs"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	made=$BATS_TEST_TMPDIR/made
	set +T # each command of a loop would be traced: six times slower
}

# Name, type, shape of each tensor, as the manifest has them.
listing() {
	local text
	text=$(awk '{ printf "%s%s %s %s", (NR > 1) ? ";" : "", $1, $2, $3 }' <"$1")
	echo "${text:--}"
}

key() {
	apr-header --json "$1" 2>/dev/null | grep -o "\[\"$2\",\"[a-z0-9:]*\",[^]]*" | sed 's/^[^,]*,[^,]*,//; s/"//g'
}

same_content() {
	apr-unpack "$1" 2>/dev/null | apr-sum >"$made.a"
	apr-unpack "$2" 2>/dev/null | apr-sum >"$made.b"
	diff "$made.a" "$made.b"
}

# ---- files of others ----

is_read() {
	try apr-header -l "$1"
	[ "$status" -eq 0 ] && [ "$(listing "$out")" = "$4" ] || fail "$(cat "$err")" "$(listing "$out")" || return
	[ "$3" = - ] || [ "$(key "$1" apr1.payload)" = "$3" ] || fail "$(key "$1" apr1.payload)" || return
	try apr-unpack -f -o "$made" "$1"
	[ "$status" -eq 0 ] || fail "$(cat "$err")" || return
	if [ "$5" = - ]; then
		[ ! -s "$err" ] || fail "it spoke: $(cat "$err")" || return
		apr-unpack --strict "$1" | cmp - "$made" || return
	else
		grep -qF -e "$5" "$err" || fail "not said: $5" || return
		try apr-unpack --strict "$1" && said 4 || return
	fi
	pipe "cat '$1' | apr-unpack 2>/dev/null | cmp - '$made'" || return
	try apr-pack -t apr1 -f -o "$made.1" "$made" && [ "$status" -eq 0 ] || return
	case $2 in
	same) cmp "$1" "$made.1" || return ;;
	*) ! cmp -s "$1" "$made.1" || fail "the same" || return ;;
	esac
	same_content "$1" "$made.1" || return
	pipe "apr-unpack '$made.1' 2>/dev/null | apr-pack -t apr1 | cmp - '$made.1'"
}

@test "apr1: payloads and metadata of every kind are read, and written to their bytes" {
	cd good
	rows is_read
	[ "$(wc -l <MANIFEST)" -gt 55 ]
}

values() {
	[ "$(apr-get --text "$2" "$1" | tr -s ' \n' ' ' | sed 's/ $//')" = "$3" ] ||
		fail "$1 $2: $(apr-get --text "$2" "$1" | tr '\n' ' ')"
}

@test "apr1: tensors have the values that were written" {
	cd good
	values apr1_logistic coefficients '0.25 0.375 0.5 0.625'
	values apr1_logistic intercept 0.0625
	values apr1_logistic max_iter 100
	values apr1_linear fit_intercept 1
	values apr1_kmeans centroids '1 1.125 1.25 1.375 1.5 1.625'
	values apr1_kmeans labels '0 1 2 3 4'
	values apr1_kmeans random_state 18446744073709551615
	# ((leaf leaf) leaf), node after node, left before right
	values apr1_class_tree node_features '2 7 -1 -1 -1'
	values apr1_class_tree node_thresholds '2.5 7.5 0 0 0'
	values apr1_class_tree node_classes '0 0 0 1 2'
	values apr1_class_tree node_samples '0 0 10 11 12'
	values apr1_class_tree node_left_child '1 2 -1 -1 -1'
	values apr1_class_tree node_right_child '4 3 -1 -1 -1'
	values apr1_value_tree node_values '0 0 0 0.5 1'
	values apr1_class_forest tree_count 2
	values apr1_class_forest tree_1_node_classes '0 0 0 1 2'
	values apr1_class_forest oob_indices '1 2 3'
	values apr1_class_forest oob_indices_lengths '3 0'
	values apr1_value_forest y_train '0 0.125 0.25 0.375'
	values apr1_markov ngrams_lengths '3 2'
	values apr1_markov ngrams_sizes '2 0'
	values apr1_markov ngrams_next_lengths '6 0'
	values apr1_markov ngrams_counts '5 1'
	values apr1_markov command_freq_counts 77
	values apr1_experts gating_weights '0 0.125 0.25 0.375 0.5 0.625'
	values apr1_lz4 coefficients "$(apr-get --text coefficients apr1_zstd | tr -s ' \n' ' ' | sed 's/ $//')"
	# strides that are those of columns: gathered into rows
	values apr1_aligned layer.0.weight '0 1 2 3 4 5'
	values apr1_aligned_columns layer.0.weight '0 1 2 3 4 5'
}

@test "apr1: metadata keeps its types, and its bytes where it is not edited" {
	cd good
	[ "$(key apr1_types single)" = 0.100000001 ]
	[ "$(key apr1_types double)" = 0.10000000000000001 ]
	[ "$(key apr1_types largest)" = 18446744073709551615 ]
	[ "$(key apr1_types minus)" = -32 ]
	apr-header --json apr1_types | grep -qF '["metrics","json","{\"accuracy\":0.1,\"loss\":\"nan\"}"]'
	apr-header --json apr1_types | grep -qF '["bytes","array:u8",[1,2,3]]'
	apr-header --json apr1_types | grep -qF '["list","json","[1,0.1,\"x\"]"]'
	apr-header --json apr1_card | grep -qF '\"intended_users\":[\"researchers\",\"students\"]'
	[ "$(key apr1_inference inference_protocol)" = x25519-aes256gcm-v1 ]
	[ "$(key apr1_array model_name)" = digits ]
	# through GGUF, which has no place for bytes: made again from the keys
	for f in apr1_logistic apr1_inference apr1_kmeans apr1_class_forest apr1_markov apr1_experts; do
		apr-pack -t gguf -f -o "$made" $f 2>/dev/null
		apr-pack -t apr1 -z none "$made" | cmp - $f || fail $f
	done
}

# bats test_tags=repeats
@test "apr1: the golden file and the files of the reference data" {
	need_data
	local d=$APR_TEST_DATA/upstream-apr
	cmp "$d/reconstructed/golden_v1.reconstructed.apr" good/golden_v1
	apr-unpack "$d/mnist_784x2.apr" | apr-pack -t apr1 | cmp - "$d/mnist_784x2.apr"
	cat "$d/mnist_784x2.apr" | apr-unpack - | apr-pack -t apr1 | cmp - "$d/mnist_784x2.apr"
	apr-header "$d/mnist_784x2.apr" >"$out"
	grep -Eqx 'model_type +LOGISTIC_REGRESSION' "$out"
	grep -Eqx 'type +LOGISTIC_REGRESSION' "$out"
	grep -Eqx 'checksum +0xf38814fe \(valid\)' "$out"
	grep -Eqx ' +created_at +string +1764278947' "$out"
	grep -Eqx ' +aprender_version +string +0.11.0' "$out"
	[ "$(apr-header -l "$d/mnist_784x2.apr" | awk '{ printf "%s %s %s %s;", $1, $2, $3, $4 }')" = \
		'coefficients F32 784 88;intercept F32 scalar 3224;learning_rate F32 scalar 3228;max_iter U64 scalar 3232;tol F32 scalar 3240;' ]
	[ "$(apr-get --text coefficients "$d/mnist_784x2.apr" | tr -s ' ' '\n' | head -n 4 | tr '\n' ' ')" = \
		'0.0025542672 0.005053022 0.008666236 0.0030067666 ' ]
	[ "$(apr-get --text coefficients "$d/mnist_784x2.apr" | tr -s ' ' '\n' | sort -g | sed -n '1p;$p' | tr '\n' ' ')" = \
		'0.001847042 0.009422958 ' ]
	values "$d/mnist_784x2.apr" intercept 0.01117097
	values "$d/mnist_784x2.apr" learning_rate 0.01
	values "$d/mnist_784x2.apr" max_iter 100
	values "$d/mnist_784x2.apr" tol 0.0001
	# From one container to the next and back: the same bytes.
	for t in gguf apr2 safetensors apr2-64; do
		apr-pack -t $t -f -o "$made" "$d/mnist_784x2.apr" 2>/dev/null
		apr-pack -t apr1 -z none "$made" | cmp - "$d/mnist_784x2.apr" || fail $t
	done
}

@test "apr1: scalers, which have no model type, by the name of their layout" {
	try apr-unpack --payload StandardScaler good/apr1_scaler
	quiet
	apr-pack -t apr1 "$out" | cmp - good/apr1_scaler
	[ "$(apr-unpack --payload RobustScaler good/apr1_scaler | apr-header -l | cut -d' ' -f1 | tr '\n' ' ')" = \
		'median iqr with_centering with_scaling ' ]
	try apr-unpack --payload KMeans good/apr1_scaler
	said 5 'ModelTypeMismatch: its payload does not have the layout KMeans'
	try apr-unpack --payload Unheard good/apr1_scaler
	said 5 'ModelTypeMismatch: no payload is called Unheard'
}

# ---- any model ----

ways=('' '-z none' '-z lz4' '-z zstd' '-z zstd:19' '--streaming' '--streaming -z none'
	'--streaming -z lz4' '--streaming -z zstd:19' '--trueno-native'
	'--trueno-native --streaming')

@test "apr1: a model in every form is read back, from a file and from a pipe" {
	local way options
	for way in "${ways[@]}"; do
		read -ra options <<<"$way"
		apr-pack -t apr1 "${options[@]}" -f -o "$made" q4.aprs 2>/dev/null || fail "$way"
		apr-unpack --strict "$made" | apr-pack -t gguf | cmp - <(apr-pack -t gguf q4.aprs) || fail "$way"
		# what it was is kept, without options
		apr-unpack "$made" | apr-pack -t apr1 2>/dev/null | cmp - "$made" || fail "$way again"
		pipe "apr-pack -t apr1 $way <q4.aprs 2>/dev/null | cmp - '$made'" || fail "$way to a pipe"
		pipe "cat '$made' | apr-unpack --only '^output' | apr-sum" >"$made.one"
		cmp "$made.one" <(apr-unpack --only '^output' q4.aprs 2>/dev/null | apr-sum) || fail "$way --only"
	done
}

flags_of() {
	apr-header "$1" | sed -n 's/^flags *//p'
}

@test "apr1: the four combinations of TRUENO_NATIVE and STREAMING" {
	apr-pack -t apr1 -o "$made.0" m.aprs
	apr-pack -t apr1 --streaming -o "$made.s" m.aprs
	apr-pack -t apr1 --trueno-native -o "$made.t" m.aprs
	apr-pack -t apr1 --trueno-native --streaming -o "$made.ts" m.aprs
	[ "$(flags_of "$made.0")" = none ]
	[ "$(flags_of "$made.s")" = STREAMING ]
	[ "$(flags_of "$made.t")" = TRUENO_NATIVE ]
	[ "$(flags_of "$made.ts")" = 'STREAMING TRUENO_NATIVE' ]
	apr-header "$made.0" | grep -Eqx 'compression +zstd'
	apr-header "$made.s" | grep -Eqx 'compression +zstd'
	apr-header "$made.t" | grep -Eqx 'compression +none'
	# every tensor from a multiple of 64, and its bytes lie there
	apr-header -l "$made.ts" | awk '$4 % 64 { bad = 1 } END { exit bad || NR < 30 }'
	local at bytes
	read -r _ _ _ at bytes < <(apr-header -l "$made.t" | grep '^output.weight')
	tail -c +$((at + 1)) "$made.t" | head -c "$bytes" | cmp - <(apr-get output.weight m.aprs)
	try apr-pack -t apr1 --trueno-native -z lz4 m.aprs
	said 2 'TRUENO_NATIVE and compression exclude each other'
	try apr-pack -t apr1 -z zstd:5 m.aprs
	said 2 'zstd at the levels 3 and 19, not 5'
	try apr-pack -t apr1 --align 32 --trueno-native m.aprs
	said 2 'aligns tensors to 64 bytes'
}

# Bytes that COMMAND reads and its children read; what it writes is in $made.out.
bytes_read() {
	# shellcheck disable=SC2016
	bash -c 'out=$1; shift; "$@" >"$out" || exit
		while read -r what n; do [ "$what" != rchar: ] || echo "$n"; done </proc/self/io' \
		- "$made.out" "$@"
}

@test "apr1: --only reads the chunks that it needs" {
	local way n all
	[ -e big.gguf ] || llama 2 512 1408 4000 1 >big.gguf
	for way in '' '-z none' '-z lz4' --trueno-native; do
		# shellcheck disable=SC2086
		apr-pack -t apr1 --streaming $way -f -o "$made" big.gguf
		all=$(wc -c <"$made")
		[ "$all" -gt 8000000 ]
		n=$(bytes_read apr-unpack --only '^blk.1.attn_k' "$made" 2>"$err")
		[ "$n" -lt 1000000 ] || fail "$way: $n of $all bytes are read"
		grep -qF "$made: only a part of it is read, so its checksum is not verified" "$err"
		[ "$(wc -l <"$err")" -eq 1 ]
		apr-unpack --only '^blk.1.attn_k' big.gguf | apr-sum >want
		apr-sum "$made.out" | cmp - want || fail "$way"
		n=$(bytes_read apr-unpack --except '^(token_embd|blk)' "$made" 2>/dev/null)
		[ "$n" -lt $((all / 2)) ] || fail "$way: $n of $all bytes are read"
		n=$(bytes_read apr-unpack "$made")
		[ "$n" -ge "$all" ]
	done
}

@test "apr1: --only verifies the chunks that it reads, or the whole file" {
	local at bytes name
	export APR_LOG_LEVEL=error
	apr-keygen -W -o key >/dev/null
	for way in --streaming '--streaming --trueno-native'; do
		# shellcheck disable=SC2086
		apr-pack -t apr1 $way -f -o "$made" m.aprs
		read -r name _ _ at bytes _ < <(apr-header -l "$made")
		cp "$made" "$made.bad"
		printf 'damage' | dd of="$made.bad" bs=1 seek=$((at + bytes / 2)) conv=notrunc status=none
		try apr-unpack --only "^output" "$made.bad"
		quiet
		cmp "$out" <(apr-unpack --only '^output' "$made")
		try apr-unpack --only "^$name\$" "$made.bad"
		said 4 "ChecksumMismatch: the chunk of $name is damaged"
		try apr-unpack "$made.bad"
		said 4 'ChecksumMismatch: its CRC is'
		try apr-unpack --strict --only '^output' "$made.bad"
		said 4 'ChecksumMismatch: its CRC is'
		try_pipe "cat '$made.bad' | apr-unpack --only ^output"
		said 4 'ChecksumMismatch: its CRC is'
		try apr-unpack --trusted-key key.pub --only '^output' "$made"
		said 1 'SignatureInvalid: it is not signed'
		# a signature and a licence block are over all bytes, or lie behind them
		# shellcheck disable=SC2086
		apr-pack -t apr1 $way --sign-key key -f -o "$made.signed" m.aprs
		try apr-unpack --trusted-key key.pub --only '^output' "$made.signed"
		quiet
		cp "$made.signed" "$made.bad"
		read -r _ _ _ at _ < <(apr-header -l "$made.signed")
		apr1_flip "$at" <"$made.signed" >"$made.bad"
		try apr-unpack --only '^output' "$made.bad"
		said 1 'SignatureInvalid'
		# a file that ends too early is a fault, whatever is wanted of it
		head -c -1 "$made" >"$made.bad"
		try apr-unpack --only '^output' "$made.bad"
		said 4 'it was cut short'
	done
	# STREAMING of others: nobody says what the index is
	try apr-unpack --only . bad/apr1_flag_streaming
	quiet
	cmp "$out" <(apr-unpack bad/apr1_flag_streaming | apr-unpack --only .)
	APR_LOG_LEVEL=warning try apr-unpack --only . bad/apr1_flag_streaming
	[ "$status" -eq 0 ]
	[ "$(cat "$err")" = "apr-unpack: bad/apr1_flag_streaming: $(sed -n 's/.*: is marked/is marked/p' "$err")" ]
}

@test "apr1: what is compressed is smaller, by the codec's own reckoning" {
	apr-pack -t apr1 -z none -o "$made.n" m.aprs
	apr-pack -t apr1 -z zstd -o "$made.z" m.aprs
	[ "$(wc -c <"$made.z")" -lt "$(($(wc -c <"$made.n") * 9 / 10))" ]
	# The payload is one zstd frame, which the program of that name opens.
	local at n
	at=$((32 + $(apr-header --json "$made.z" | grep -o '"metadata_bytes":[0-9]*' | cut -d: -f2)))
	n=$(apr-header --json "$made.z" | grep -o '"payload_bytes":[0-9]*' | cut -d: -f2)
	tail -c +$((at + 1)) "$made.z" | head -c "$n" | zstd -dcq >"$made.p"
	at=$((32 + $(apr-header --json "$made.n" | grep -o '"metadata_bytes":[0-9]*' | cut -d: -f2)))
	tail -c +$((at + 1)) "$made.n" | head -c -4 | cmp - "$made.p"
}

@test "apr1: backend hints are stored, kept, and shown" {
	apr-pack -t apr1 --trueno-native --backend-hint avx-512 -o "$made" m.aprs
	apr-header "$made" >header
	grep -Eqx "backend_hints +avx-512 $(apr-header -l "$made" | wc -l)" header
	apr-header --json "$made" >header
	grep -q '"backend_hints":{"avx-512":[1-9]' header
	apr-pack -t apr1 --trueno-native m.aprs | apr-header >header
	! grep backend_hints header || fail "hints that nobody gave"
	[ "$(apr-unpack "$made" | head -c 4000 | grep -ao '"output.weight":5')" ]
	apr-unpack "$made" | apr-pack -t apr1 | cmp - "$made"
	try apr-pack -t apr1 --trueno-native --backend-hint abacus m.aprs
	said 2 'unknown backend: abacus'
	try apr-pack -t apr1 --backend-hint gpu m.aprs
	said 2 '--backend-hint needs --trueno-native'
	try apr-pack -t gguf --trueno-native m.aprs
	said 2 '--trueno-native needs -t apr1'
}

@test "apr1: the model type is asked for, kept, and never contradicts the model" {
	apr-pack -t apr1 --model-type neural-sequential -o "$made" m.aprs
	apr-header "$made" | grep -Eqx 'model_type +NEURAL_SEQUENTIAL'
	apr-unpack --expect-type NeuralSequential "$made" | apr-pack -t apr1 | cmp - "$made"
	apr-pack -t apr1 m.aprs | apr-header | grep -Eqx 'model_type +CUSTOM'
	try apr-pack -t apr1 --model-type KMeans good/apr1_linear
	said 5 'ModelTypeMismatch: the model is LINEAR_REGRESSION'
	try apr-pack -t apr1 --model-type Soup m.aprs
	said 2 'no model type is called Soup'
	try apr-unpack --expect-type KMeans "$made"
	said 5 'ModelTypeMismatch: its model type is NEURAL_SEQUENTIAL, not KMeans'
	try apr-unpack --expect-type KMeans m.aprs
	said 5 'ModelTypeMismatch: --expect-type needs a file of format apr1'
}

@test "apr1: what no longer fits its layout becomes records, and says so" {
	apr-unpack --except '^tol$' good/apr1_logistic 2>/dev/null >"$made"
	try apr-pack -t apr1 -o "$made.1" "$made"
	[ "$status" -eq 0 ] && grep -qF 'no longer have the layout LogisticRegression, and become records: there is no tensor tol' "$err"
	same_content "$made" "$made.1"
	apr-unpack --except '_samples$' good/apr1_class_tree 2>/dev/null | try apr-pack -t apr1 -f -o "$made.1"
	grep -qF 'there is no tensor node_samples' "$err"
}

into_apr1() {
	apr-pack -t apr1 -f -o "$made" "$1" 2>/dev/null || return
	same_content "$1" "$made" || return
	pipe "apr-unpack '$made' | apr-pack -t apr1 2>/dev/null | cmp - '$made'"
}

@test "apr1: everything that GGUF and streams hold" {
	cd gguf
	rows into_apr1
	cd ../stream
	rows into_apr1
}

@test "apr1: a signature over the content, side files and licence come back" {
	apr-keygen -W -o "$made.key" 2>/dev/null
	apr-sign "$made.key" m.aprs 2>/dev/null | apr-pack -t apr1 -o "$made"
	apr-verify -q "$made.key.pub" "$made"
	# of a payload of another program too, whose bytes stay
	apr-sign "$made.key" good/apr1_logistic 2>/dev/null | apr-pack -t apr1 -f -o "$made"
	apr-verify -q "$made.key.pub" "$made"
	tail -c +$((33 + $(apr-header --json "$made" | grep -o '"metadata_bytes":[0-9]*' | cut -d: -f2))) "$made" |
		head -c -4 | cmp - <(tail -c +80 good/apr1_logistic | head -c -4)
	apr-pack -t apr1 --plain "$made" 2>/dev/null | cmp - good/apr1_logistic
}

@test "apr1: more than 4 GiB is refused before anything comes, with a hint" {
	mkplan '' '["a","F32",[1073741824]]' >"$made.aprs"
	try apr-pack -t apr1 -o "$made" <"$made.aprs"
	said 5 'the model exceeds 4 GiB'
	grep -qF 'hint: -t apr2 holds it' "$err"
	[ ! -e "$made" ]
	# one byte less passes that door, and stops at the end of the stream
	mkplan '' '["a","U8",[4294967294]]' >"$made.aprs"
	try apr-pack -t apr1 -o "$made" <"$made.aprs"
	said 4
	try apr-pack -t apr1 -z lz4 -o "$made" <"$made.aprs"
	said 5 'a block of lz4 holds no more than 2 GiB'
}

@test "apr1: same input, same bytes; no date that the model has not" {
	apr-pack -t apr1 m.aprs >"$made"
	apr-pack -t apr1 m.aprs | cmp - "$made"
	SOURCE_DATE_EPOCH=1700000000 apr-pack -t apr1 m.aprs | cmp - "$made"
}
