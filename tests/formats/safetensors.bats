# safetensors in and out: the format of a file, what it carries of other containers
load ../helper

# Tensors (name, dtype, shape, bytes) and typed keys of a model file, in their order.
content() {
	apr-header --list --json "$1" | sed 's/,"offset":[0-9]*//' &&
		apr-header --json "$1" | sed 's/.*"metadata"://'
}

same_content() {
	content "$1" >"$BATS_TEST_TMPDIR/content.1"
	content "$2" | diff "$BATS_TEST_TMPDIR/content.1" - ||
		fail "$2 differs from $1" || return
	[ -s "$BATS_TEST_TMPDIR/content.1" ] || fail "$1 has no content"
}

# rows COMMAND: call it with each line of the manifest.
rows() {
	local name code says piped
	set +T # each command of a loop would be traced: six times slower
	while IFS=$'\t' read -r name code says piped; do
		"$1" "$name" "$code" "$says" "$piped" || fail "$name"
	done <MANIFEST
}

from_file() {
	try apr-unpack -o made "$1" && said "$2" "$3" && [ ! -e made ]
}

from_pipe() {
	rm -f made
	try apr-unpack < <(cat "$1") && said "$2" "$4" &&
		try_pipe "apr-unpack $1 2>/dev/null | apr-pack -t safetensors >made" &&
		said "$2" '(E002)' && [ ! -s made ]
}

@test "every fault is named, in a file and from a pipe, and leaves no output" {
	vectors safetensors_faults "$BATS_TEST_TMPDIR/faults"
	cd "$BATS_TEST_TMPDIR/faults"
	[ "$(wc -l <MANIFEST)" -gt 170 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
	limit_memory 32768
	rows from_file
	rows from_pipe
	export APR_LOG_LEVEL=error
	pipe "apr-unpack good | apr-pack -t safetensors | cmp - good"
	pipe "apr-unpack good_ours | apr-pack -t safetensors | cmp - good_ours"
}

@test "every spelling comes back, or in the reference library's" {
	local name back n=0
	vectors safetensors_good "$BATS_TEST_TMPDIR/good"
	cd "$BATS_TEST_TMPDIR/good"
	set +T
	while IFS=$'\t' read -r name back; do
		n=$((n + 1))
		pipe "apr-unpack $name | apr-pack -t safetensors -f -o made"
		cmp made "$back"
		pipe "cat $name | apr-unpack | cat | apr-pack -t safetensors | cmp - $back"
		pipe "apr-unpack $name | apr-pack | apr-unpack | apr-pack -t safetensors | cmp - $back"
	done <MANIFEST
	[ $n -ge 35 ] || fail "only $n files"
}

@test "through GGUF and back every tensor and key is the same" {
	local name back
	export APR_LOG_LEVEL=error
	vectors safetensors_good "$BATS_TEST_TMPDIR/good"
	cd "$BATS_TEST_TMPDIR/good"
	while IFS=$'\t' read -r name back; do
		[ "$name" != safetensors_eight_axes ] || continue # GGUF has 4
		pipe "apr-unpack $name | apr-pack -t gguf -f -o made.gguf"
		pipe "apr-unpack made.gguf | apr-pack -t safetensors -f -o made"
		same_content "$name" made
	done <MANIFEST
}

# llama.cpp reads no GGUF whose index is in another order than the data; gguf-hash neither.
@test "a GGUF made of it has its index in the order of the data" {
	local name
	export APR_LOG_LEVEL=error
	vectors safetensors_good "$BATS_TEST_TMPDIR/good"
	cd "$BATS_TEST_TMPDIR/good"
	for name in safetensors_index_backwards safetensors_index_mixed; do
		pipe "apr-unpack $name | apr-pack -t gguf -f -o made.gguf"
		pipe "apr-sum --gguf-hash made.gguf >made"
		pipe "apr-sum --gguf-hash $name | sed 's/$name/made.gguf/' | diff made -"
	done
}

@test "a GGUF comes back from it byte for byte, its signature with it" {
	cd "$BATS_TEST_TMPDIR"
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack $model | apr-sign key | apr-pack -t gguf -o signed.gguf"
	pipe "apr-unpack signed.gguf | apr-pack -t safetensors -o signed.safetensors"
	try apr-verify -q key.pub signed.safetensors
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	pipe "apr-unpack signed.safetensors | apr-pack -t gguf -o again.gguf"
	cmp signed.gguf again.gguf
	pipe "apr-unpack signed.safetensors | apr-pack -t apr2 -o signed.apr"
	pipe "apr-unpack signed.apr | apr-pack -t safetensors -o again.safetensors"
	cmp signed.safetensors again.safetensors
	same_content signed.gguf signed.safetensors
	same_content signed.apr signed.safetensors
}

@test "quantized tensors are bytes there, and it says so" {
	cd "$BATS_TEST_TMPDIR"
	try_pipe "apr-unpack $model | apr-quant q4_0 2>/dev/null | apr-pack -o q.apr"
	quiet
	try apr-pack -t safetensors -o q.safetensors q.apr
	[ "$status" -eq 0 ]
	grep -qF 'stored as U8, because safetensors does not have their type: 23' "$err"
	try apr-pack -t safetensors --plain q.apr
	said 5 'safetensors has no type Q4_0, and --plain forbids a carrier'
	pipe "apr-unpack q.safetensors | apr-pack | cmp - q.apr"
}

@test "a signature needs an output that can seek, or --plain" {
	cd "$BATS_TEST_TMPDIR"
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack $model | apr-sign key >signed 2>/dev/null"
	try_pipe "apr-pack -t safetensors signed | cat"
	said 2 'a signature is written last'
	grep -q '^hint: -o FILE, or --plain' "$err"
	[ ! -s "$out" ]
	try_pipe "apr-pack -t safetensors --plain signed | cat >plain.safetensors"
	[ "$status" -eq 0 ]
	grep -q 'signatures left out: 1' "$err"
	try apr-header --json plain.safetensors
	grep -q '"signatures":0' "$out"
	! grep -q 'apr\.' plain.safetensors || fail "--plain left a key of ours"
}

@test "46 000 tensors in little time and memory" {
	local began=$SECONDS
	limit_memory 262144
	vectors safetensors_good "$BATS_TEST_TMPDIR/good"
	cd "$BATS_TEST_TMPDIR/good"
	try apr-header safetensors_many
	quiet
	grep -Eq '^tensors +46000$' "$out"
	try_pipe "apr-unpack safetensors_many | apr-pack -t safetensors | cmp - safetensors_many"
	quiet
	[ $((SECONDS - began)) -lt 20 ] || fail "$((SECONDS - began)) s"
}

# endless PREFIX TEXT: a header of 100 000 000 bytes: PREFIX, then TEXT forever.
endless() {
	printf '\0\341\365\5\0\0\0\0'
	{ printf %s "$1"; yes "$2" | tr -d '\n'; } 2>/dev/null | head -c 100000000
}

@test "a header of any length needs little memory until it is wrong" {
	limit_memory 131072
	cd "$BATS_TEST_TMPDIR"
	endless '{"a":{"dtype":"' xxxxxxxx >dtype
	try apr-unpack dtype
	said 4 'a dtype of more than 64 bytes'
	endless '{"' xxxxxxxx >name
	try apr-unpack name
	said 4 'a name of more than 65535 bytes'
	endless '{"__metadata__":{"a":"' '\u20ac' >value
	try_pipe "cat value | apr-unpack"
	said 4 'ends where the end of a string is expected'
	endless '{"a":{"shape":[' 1, >shape
	try apr-unpack shape
	said 4 'more than 8 numbers'
	endless '' '{"a":' >deep
	try apr-unpack deep
	said 4 'a, which no tensor has'
	endless '{' ' ' >blank
	try apr-unpack blank
	said 4 'ends where'
	endless '{"__metadata__":{"a":""' ',"a":""' >keys
	try apr-unpack keys
	said 4 'more than 1048576 keys'
	printf '\0\302\353\13\0\0\0\0{' >over
	try apr-unpack over
	said 4 'a header of 200000000 bytes, at most 100000000 are allowed'
}

@test "apr-unpack and apr-pack pass the exam with it" {
	exam_in=$BATS_TEST_TMPDIR/in.safetensors
	pipe "apr-unpack $model | apr-pack -t safetensors -o $exam_in"
	exam_prepare source
	exam_input apr-unpack
	exam_trailing apr-unpack
	exam_named_output apr-unpack
	exam_same_file apr-unpack
	exam_dead_upstream apr-unpack
	exam_signal apr-unpack
	rm -r "$exam_folder"
	unset exam_in exam_cut
	exam_prepare sink
	export APR_LOG_LEVEL=error
	exam_output apr-pack -t safetensors
	exam_named_output apr-pack -t safetensors
	exam_same_file apr-pack -t safetensors
	exam_dead_upstream apr-pack -t safetensors
	exam_signal apr-pack -t safetensors
}

# bats test_tags=repeats
@test "every safetensors file of the reference data comes back byte for byte" {
	local f n=0
	need_data
	cd "$BATS_TEST_TMPDIR"
	while IFS= read -r -d '' f; do
		n=$((n + 1))
		pipe "apr-unpack '$f' | apr-pack -t safetensors | cmp - '$f'"
		pipe "cat '$f' | apr-unpack | apr-pack -f -o a.apr"
		pipe "apr-unpack a.apr | apr-pack -t safetensors | cmp - '$f'"
		same_content "$f" a.apr
		# GGUF has no room for the names of T5.
		! apr-header -l a.apr | grep -qE '^[^ ]{64}' || continue
		APR_LOG_LEVEL=error pipe "apr-unpack a.apr | apr-pack -t gguf -f -o a.gguf"
		pipe "apr-unpack a.gguf | apr-pack -t safetensors -f -o a.safetensors"
		same_content "$f" a.safetensors
		# A shard stands for the whole model: safetensors-folders.bats has those.
	done < <(find "$APR_TEST_DATA" -name '*.safetensors' ! -name '*-of-*' -print0)
	[ $n -ge 7 ] || fail "only $n files"
}

# bats test_tags=repeats
@test "every GGUF of the reference data comes back from it byte for byte" {
	local f n=0
	need_data
	export APR_LOG_LEVEL=error
	cd "$BATS_TEST_TMPDIR"
	while IFS= read -r -d '' f; do
		n=$((n + 1))
		pipe "apr-unpack '$f' | apr-pack -t safetensors -f -o a.safetensors"
		pipe "apr-unpack a.safetensors | apr-pack -t gguf | cmp - '$f'"
		pipe "apr-unpack a.safetensors | apr-pack | apr-unpack | apr-pack -t safetensors | cmp - a.safetensors"
		same_content "$f" a.safetensors
	done < <(find "$APR_TEST_DATA" -name '*.gguf' -print0)
	[ $n -ge 30 ] || fail "only $n files"
}
