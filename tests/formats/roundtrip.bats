# Round trips: GGUF -> stream -> GGUF, and through APR2.
load ../helper

setup_file() {
	vectors gguf_good "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	made=$BATS_TEST_TMPDIR/made
	set +T # each command of a loop would be traced: six times slower
}

file_to_file() {
	rm -f "$made"
	pipe "apr-unpack '$1' | apr-pack -t gguf -o '$made'" && cmp "$made" "$2"
}

@test "gguf vectors: file -> file" {
	[ "$(wc -l <MANIFEST)" -gt 40 ]
	rows file_to_file
}

file_to_pipe() {
	[ "$4" = both ] || return 0
	pipe "apr-unpack '$1' | apr-pack -t gguf | cmp - '$2'"
}

# bats test_tags=repeats
@test "gguf vectors: file -> pipe" {
	rows file_to_pipe
}

pipe_to_file() {
	[ "$3" = both ] || return 0
	rm -f "$made"
	pipe "cat '$1' | apr-unpack - | apr-pack -t gguf -o '$made'" && cmp "$made" "$2"
}

# bats test_tags=repeats
@test "gguf vectors: pipe -> file" {
	rows pipe_to_file
}

# The stream is the same, wherever its bytes were found.
pipe_and_file_alike() {
	[ "$3" = both ] || return 0
	apr-unpack "$1" >"$made.1" && pipe "cat '$1' | apr-unpack >'$made.2'" &&
		cmp "$made.1" "$made.2"
}

@test "gguf vectors: a file and a pipe give one stream" {
	rows pipe_and_file_alike
}

stream_to_itself() {
	apr-unpack "$1" >"$made" && apr-unpack "$made" | cmp - "$made" &&
		pipe "cat '$made' | apr-unpack | cmp - '$made'"
}

@test "gguf vectors: the stream of each is a stream" {
	rows stream_to_itself
}

# (The reader takes types by number up to 255, APR2 has codes for GGML's up to 63.)
through_apr2() {
	[ "$1" != gguf_unknown_type_255 ] || return 0
	rm -f "$made"*
	pipe "apr-unpack '$1' | apr-pack -o '$made.apr'" &&
		pipe "apr-unpack '$made.apr' | apr-pack -t gguf -o '$made'" && cmp "$made" "$2"
}

@test "gguf vectors: by way of APR2 (CHECK-081)" {
	rows through_apr2
}

through_apr2_pipes() {
	[ "$3$4" = bothboth ] && [ "$1" != gguf_unknown_type_255 ] || return 0
	pipe "cat '$1' | apr-unpack | apr-pack | apr-unpack | apr-pack -t gguf | cmp - '$2'"
}

# bats test_tags=repeats
@test "gguf vectors: by way of APR2, in pipes" {
	rows through_apr2_pipes
}

@test "a type without an APR2 code is refused by name" {
	try apr-pack -o "$made" gguf_unknown_type_255
	said 4 'x: APR2 has no code for type GGML_255'
	[ ! -e "$made" ]
}

@test "an unknown type at the end needs a file: its size is that of the rest" {
	try_pipe 'cat gguf_unknown_type_last | apr-unpack'
	said 4 'x: its type is not known, and so its size from a pipe'
}

@test "20 MiB of arrays pass through a pipe in little memory" {
	limit_memory 65536
	try_pipe "cat gguf_arrays_of_20_mib | apr-unpack -o '$made'"
	quiet
	try apr-pack -t gguf -o "$made.gguf" <"$made"
	quiet
	cmp "$made.gguf" gguf_arrays_of_20_mib
}

whole() {
	pipe "apr-unpack '$1' | apr-pack -t gguf | cmp - '$1'" &&
		pipe "cat '$1' | apr-unpack | apr-pack -t gguf | cmp - '$1'" || fail "$1"
}

by_apr2() {
	pipe "apr-unpack '$1' | apr-pack -o '$made.apr'" &&
		pipe "apr-unpack '$made.apr' | apr-pack -t gguf | cmp - '$1'" &&
		pipe "cat '$1' | apr-unpack | apr-pack | cmp - '$made.apr'" || fail "$1" || return
	rm "$made.apr"
}

@test "the model that is shipped: GGUF, and by way of APR2" {
	whole "$model"
	by_apr2 "$model"
}

# bats test_tags=repeats
@test "every GGUF file of the reference data: GGUF" {
	need_data
	local f n=0
	while IFS= read -r f; do
		whole "$f"
		n=$((n + 1))
	done < <(find "$APR_TEST_DATA/" -name '*.gguf')
	[ $n -gt 30 ]
}

# bats test_tags=repeats
@test "every GGUF file of the reference data: by way of APR2" {
	need_data
	local f
	while IFS= read -r f; do
		by_apr2 "$f"
	done < <(find "$APR_TEST_DATA/" -name '*.gguf')
}
