# Streams with one fault each: exit status, message, no output, little memory.
load ../helper

setup_file() {
	vectors stream_faults "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 32768
	made=$BATS_TEST_TMPDIR/made
	export APR_LOG_LEVEL=error # a note is no message
}

@test "stream faults: the stream from which they are made is sound" {
	apr-unpack good | cmp - good
	apr-unpack good | apr-pack -t gguf -o "$made"
	apr-unpack "$made" | cmp - good
	[ "$(wc -l <MANIFEST)" -gt 150 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

passed_on() {
	rm -f "$made"
	try apr-unpack "$1" && said "$2" "$3" || return
	try apr-unpack -o "$made" < <(cat "$1") && said "$2" "$4" && [ ! -e "$made" ]
}

@test "stream faults: each stops where it is passed on" {
	rows passed_on
}

into_gguf() {
	# Input that does not begin with a plan is not a stream, and this tool reads only streams.
	[ "$1" != stream_without_plan ] || set -- "$1" 4 "is not a stream" "is not a stream"
	rm -f "$made"
	try apr-pack -t gguf -o "$made" <"$1" && said "$2" "$3" && [ ! -e "$made" ] || return
	try_pipe "cat '$1' | apr-pack --plain -t gguf >'$made'" && said "$2" "$4" &&
		[ ! -s "$made" ]
}

# bats test_tags=repeats
@test "stream faults: each stops before it becomes a GGUF file" {
	rows into_gguf
}

into_apr2() {
	rm -f "$made"
	try apr-pack -o "$made" <"$1" && said "$2" && [ ! -e "$made" ] || return
	try_pipe "cat '$1' | apr-pack >'$made'" && said "$2" && [ ! -s "$made" ]
}

# bats test_tags=repeats
@test "stream faults: each stops before it becomes an APR2 file" {
	rows into_apr2
}

by_child() {
	rm -f "$made"
	try apr-pack -o "$made" "$1" && said "$2" "$3" &&
		grep -q '^apr-unpack: ' "$err" && [ ! -e "$made" ]
}

# bats test_tags=repeats
@test "stream faults: a filter's FILE fails with the words and status of its reader" {
	rows by_child
}

# Nothing shorter than a stream is one: it ends in DONE.
# bats test_tags=repeats
@test "stream faults: cut at every byte" {
	local n size
	set +T
	apr-unpack good_small | cmp - good_small
	size=$(wc -c <good_small)
	for ((n = 0; n < size; n++)); do
		head -c $n good_small >"$BATS_TEST_TMPDIR/cut"
		try apr-unpack "$BATS_TEST_TMPDIR/cut"
		said 4 || fail "cut to $n bytes"
		try apr-pack -o "$made" < <(cat "$BATS_TEST_TMPDIR/cut")
		said 4 || fail "cut to $n bytes, from a pipe"
		[ ! -e "$made" ]
	done
}
