# APR files with the header of 64 bytes (-t apr2-64): read in all generations,
# written as both of the programs that read them take them.
load ../helper

setup_file() {
	export APR_LOG_LEVEL=warning
	vectors apr64_good "$BATS_FILE_TMPDIR/good"
	vectors gguf_good "$BATS_FILE_TMPDIR/gguf"
	vectors safetensors_good "$BATS_FILE_TMPDIR/safetensors"
	vectors stream_good "$BATS_FILE_TMPDIR/stream"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	made=$BATS_TEST_TMPDIR/made
	set +T # each command of a loop would be traced: six times slower
}

# Name, type, shape of each tensor, as the manifest has them.
listing() {
	awk '{ printf "%s%s %s %s", (NR > 1) ? ";" : "", $1, $2, $3 }' <"$out"
}

same_content() {
	apr-unpack "$1" 2>/dev/null | apr-sum >"$made.a"
	apr-unpack "$2" 2>/dev/null | apr-sum >"$made.b"
	diff "$made.a" "$made.b"
}

generation() {
	try apr-header -l "$1"
	[ "$status" -eq 0 ] && [ "$(listing)" = "${3/#-/}" ] || fail "$(cat "$err")" "$(listing)" || return
	# From a file and from a pipe the same, and what is odd is told.
	try apr-unpack -f -o "$made" "$1"
	[ "$status" -eq 0 ] || fail "$(cat "$err")" || return
	if [ "$2" = - ]; then
		[ ! -s "$err" ] || fail "it spoke: $(cat "$err")" || return
		apr-unpack --strict "$1" | cmp - "$made" || return
	else
		grep -qF -e "$2" "$err" || fail "not said: $2" || return
		try apr-unpack --strict "$1" && said 4 || return
	fi
	pipe "cat '$1' | apr-unpack 2>/dev/null | cmp - '$made'" || return
	# Written again it has the same content, and then the same bytes.
	try apr-pack -t apr2-64 -f -o "$made.1" "$made" && [ "$status" -eq 0 ] || return
	case $4 in
	same) cmp "$1" "$made.1" || return ;;
	*) ! cmp -s "$1" "$made.1" || fail "the same" || return ;;
	esac
	same_content "$1" "$made.1" || return
	pipe "apr-unpack --strict '$made.1' 2>/dev/null | apr-pack -t apr2-64 2>/dev/null | cmp - '$made.1'" ||
		[ "$1" = apr64_rows_padded ] || [ "$1" = apr64_two_names ]
}

@test "apr2-64: every generation is read, and what is odd is told" {
	cd good
	rows generation
}

@test "apr2-64: the golden files are read to their values and written to their bytes" {
	cd good
	[ "$(wc -c <golden_v2)" -eq 1092 ]
	[ "$(wc -c <golden_v2_current)" -eq 516 ]
	for f in golden_v2 golden_v2_current; do
		pipe "apr-unpack $f | apr-pack -t apr2-64 | cmp - $f"
		pipe "cat $f | apr-unpack | apr-pack -t apr2-64 -f -o '$made'" && cmp "$made" $f
		[ "$(apr-get --text weights $f | tr -s ' \n' ' ')" = '1 2 0.5 -0.5 4 -2 0.25 8 ' ]
		[ "$(apr-get --text bias $f)" = 0.125 ]
		apr-header --json $f | grep -qF '["created_at","json","\"1700000000\""]'
	done
	[ "$(apr-header golden_v2 | grep -c ' null$')" -eq 29 ]
	[ "$(apr-header golden_v2_current | grep -c ' null$')" -eq 3 ]
}

@test "apr2-64: files of the reference data" {
	need_data
	local d=$APR_TEST_DATA/upstream-apr
	cmp "$d/reconstructed/golden_v2.reconstructed.apr" good/golden_v2
	cmp "$d/reconstructed/golden_v2_current.reconstructed.apr" good/golden_v2_current
	for f in att48 berlin52 eil51; do
		try apr-unpack "$d/$f-aco.apr"
		said 4 'is a model of aprender-tsp, which plans routes (magic APR\0, type TSP), which is not read here (E001)'
		grep -q '^hint: it holds the parameters of a search, and no tensors$' "$err"
	done
}

@test "apr2-64: blocks that pad each row travel as bytes, and come back as they were" {
	cd good
	try apr-unpack -o "$made" apr64_rows_padded
	grep -qF 'has 2 tensors whose rows do not fill blocks: they travel as bytes' "$err"
	apr-pack -t apr2-64 "$made" | cmp - apr64_rows_padded
	# Without one of them, and by way of another container.
	pipe "apr-unpack --only '^[ac]' apr64_rows_padded 2>/dev/null | apr-pack -f -o '$made.apr'"
	apr-pack -t apr2-64 -f -o "$made.64" "$made.apr"
	[ "$(apr64_rules "$made.64" | grep -E '^[abc] ')" = $'a 12 2 300\nc 14 1 512' ]
}

# ---- written ----

@test "apr2-64: what both programs ask for, in one spelling" {
	apr-pack -t apr2-64 -o "$made" "$model"
	try apr64_rules "$made"
	quiet
	diff - <(grep -E '^(flags |[a-z_.]+: )' "$out") <<-'END'
		flags 0x0600
		model_type: "llama"
		name: "Shakespeare 2.3M"
		license: "CC0-1.0"
		architecture: "llama"
		data_source: null
		data_license: null
		original_format: "gguf"
		total_size: 4594688
		param_count: 2295552
		hidden_size: 256
		num_layers: 3
		num_heads: 8
		num_kv_heads: 4
		intermediate_size: 512
		max_position_embeddings: 256
		rope_theta: 10000
		rope_type: 0
		rms_norm_eps: 1e-5
		vocab_size: 1024
		tokenizer.vocab_size: 1024
		tokenizer.vocabulary: 1024 items
		tokenizer.merges: 767 items
		tokenizer.model_type: "gpt2"
		tokenizer.pre_type: "gpt-2"
		tokenizer.bos_token_id: 1023
		tokenizer.eos_token_id: 1023
		tokenizer.add_bos_token: false
	END
	[ "$(grep -cE ' (0|30) [0-9]' "$out")" -eq 30 ]
	# The same from a file, a pipe, and with a file of its own before it.
	pipe "cat '$model' | apr-unpack | apr-pack -t apr2-64 | cmp - '$made'"
	apr-pack -t apr2-64 "$made" | cmp - "$made"
}

@test "apr2-64: a member that is there stays the only one of its meaning" {
	mkplan '["n_embd","json","7"],["hidden_size","json","8"],["general.architecture","string","x"],["x.embedding_length","u32",9],["license","json","{}"],["name","json"," 1"],["general.name","string","n"]' '' >"$made"
	apr-pack -t apr2-64 -f -o "$made.64" "$made"
	! grep -aq '"hidden_size":[^"]' "$made.64" || fail "two spellings"
	grep -aq '"n_embd":7' "$made.64"
	grep -aq '"license":{}' "$made.64"
	grep -aq '"name":"n"' "$made.64"
	apr-unpack "$made.64" | cmp - "$made"
}

@test "apr2-64: tokens that are no text, tokens beyond reason" {
	cd gguf
	apr-pack -t apr2-64 -f -o "$made" gguf_strings
	apr64_rules "$made" >/dev/null
	apr-unpack "$made" | apr-pack -t gguf | cmp - gguf_strings
	mkmodel >"$made.gguf" <<-'END'
		key general.architecture string qwen2
		key qwen2.rope.freq_base f32 1000000
		key tokenizer.ggml.tokens array:string a b\x00c \xff\xfe\xc3\xa9
	END
	apr-pack -t apr2-64 -f -o "$made" "$made.gguf"
	grep -aqF '"rope_theta":1e+06,"rope_type":2,"vocab_size":3,"tokenizer.vocab_size":3,"tokenizer.vocabulary":["a","b\u0000c",'$'"\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9"]' "$made"
	mkplan '["tokenizer.ggml.tokens","array:string",["a","b\""]],["tokenizer.ggml.merges","string","x"]' '' >"$made.s"
	apr-pack -t apr2-64 -f -o "$made" "$made.s"
	grep -aqF '"vocab_size":2,"tokenizer.vocab_size":2,"tokenizer.vocabulary":["a","b\""],"apr_stream"' "$made"
	[ "$(apr64_rules "$made" | head -n 1)" = 'flags 0x0600' ]
}

# ---- round trips ----

by_apr64() {
	rm -f "$made"*
	try_pipe "apr-unpack '$1' 2>/dev/null | apr-pack -t apr2-64 -o '$made.64' 2>/dev/null"
	# A name that it cannot hold; nothing else may be refused.
	if [ "$status" -ne 0 ]; then
		try apr-pack -t apr2-64 -o "$made.64" "$1"
		said 5 'apr2-64 has at most 256'
		return
	fi
	apr64_rules "$made.64" >/dev/null || return
	apr-unpack "$1" >"$made.a" 2>/dev/null && apr-unpack --strict "$made.64" | cmp - "$made.a" || return
	pipe "cat '$made.64' | apr-unpack | cmp - '$made.a'"
}

@test "apr2-64: GGUF vectors, and back to the same stream" {
	cd gguf
	rows by_apr64
}

@test "apr2-64: safetensors vectors, and back to the same stream" {
	cd safetensors
	rm -f safetensors_many # its 46 000 tensors have a test of their own
	sed -i /^safetensors_many/d MANIFEST
	rows by_apr64
}

@test "apr2-64: streams of every kind, and back" {
	local f n=0
	cd stream
	for f in stream_*; do
		[ "$f" != stream_unknown_frames ] || continue # told, and left out
		[ "$f" != stream_named_folder ] || continue # a file has a name of its own
		# Zeros that a stream leaves out are bytes in the file.
		if [ "$f" = stream_gaps ]; then
			apr-pack -t apr2-64 -f -o "$made" "$f"
			cmp <(apr-sum "$made" | grep ' tensor ') <(apr-sum "$f" | grep ' tensor ')
			continue
		fi
		by_apr64 "$f" || fail "$f" || return
		n=$((n + 1))
	done
	[ $n -gt 5 ]
}

@test "apr2-64: every GGUF file of the reference data, and back" {
	need_data
	local f n=0
	while IFS= read -r f; do
		pipe "apr-unpack '$f' | apr-pack -t apr2-64 -f -o '$made'" || fail "$f" || return
		apr64_rules "$made" >/dev/null || fail "$f" || return
		pipe "apr-unpack '$made' | apr-pack -t gguf | cmp - '$f'" || fail "$f" || return
		n=$((n + 1))
	done < <(find "$APR_TEST_DATA/vocab" "$APR_TEST_DATA/models/stories260K" -name '*.gguf')
	[ $n -gt 15 ]
}

@test "apr2-64: signed once, it verifies there and everywhere" {
	cd "$BATS_TEST_TMPDIR"
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack $model | apr-quant q4_0 2>/dev/null | apr-sign key 2>/dev/null >s.aprs"
	try apr-pack -t apr2-64 -o s.64 s.aprs
	[ "$status" -eq 0 ]
	grep -qF 'tensors stored as U8, because readers of such files share no code for their type: 22' "$err"
	apr64_rules s.64 >/dev/null
	apr-unpack s.64 | cmp - s.aprs
	try apr-verify -q key.pub s.64
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	apr-pack -t gguf -o s.gguf s.64
	apr-pack -t gguf s.aprs >t.gguf
	cmp s.gguf t.gguf
	apr-pack -t safetensors -o s.st s.gguf
	apr-pack -t apr2-64 -o t.64 s.st
	try apr-verify -q key.pub t.64
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
}

@test "apr2-64: a signature needs an output that can seek, or --plain" {
	cd "$BATS_TEST_TMPDIR"
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack $model | apr-sign key 2>/dev/null >s.aprs"
	try_pipe "apr-pack -t apr2-64 s.aprs | cat"
	said 2 'a signature is written last into the metadata of an apr2-64 file'
	grep -q '^hint: -o FILE, or --plain' "$err"
	[ ! -s "$out" ]
	try_pipe "apr-pack -t apr2-64 --plain s.aprs | cat >plain"
	[ "$status" -eq 0 ]
	grep -q 'signatures left out: 1' "$err"
	apr64_rules plain | grep -q '^hidden_size: 256$'
	! grep -aqE 'apr[._]' plain || fail "--plain left a key of ours"
	apr-pack -t apr2-64 plain | cmp - plain
}

@test "apr2-64: what it does not hold is refused before the first byte" {
	cd "$BATS_TEST_TMPDIR"
	pipe "apr-unpack $model | apr-quant --pure q8_0 2>/dev/null >q.aprs"
	try apr-pack -t apr2-64 --plain -o made q.aprs
	said 5 'apr2-64 has no type Q8_0, and --plain forbids a carrier'
	grep -qF 'hint: it has F32, F16, BF16, Q4_K, Q6_K, APR_Q4 and APR_Q8: apr-quant makes them' "$err"
	printf -v name '%257s' ''
	mkmodel <<<"tensor ${name// /x} F32 8 noise" >n.gguf
	try apr-pack -t apr2-64 -o made n.gguf
	said 5 'a name of 257 bytes, apr2-64 has at most 256'
	try apr-pack -t apr2-64 --align 32 -o made "$model"
	said 2 'aligns tensors to 64 bytes, not 32'
	apr-pack -t apr2-64 --align 64 -o made "$model"
	try apr-pack -t apr2-64 -z zstd -f -o made "$model"
	said 2 'apr2-64 has no compression'
	rm made
	[ ! -e made ]
}

@test "apr2-64: 20 MiB of arrays in little memory" {
	limit_memory 65536
	cd gguf
	try apr-pack -t apr2-64 -o "$made" gguf_arrays_of_20_mib
	quiet
	try apr-pack -t gguf -o "$made.gguf" "$made"
	quiet
	cmp "$made.gguf" gguf_arrays_of_20_mib
	rm "$made"*
}

@test "apr2-64: the exams" {
	exam sink apr-pack -t apr2-64
	unset exam_in exam_cut
	apr-pack -t apr2-64 -o "$made.64" "$model"
	exam_in=$made.64
	rm -rf "$BATS_TEST_TMPDIR/exam"
	exam source apr-unpack
}
