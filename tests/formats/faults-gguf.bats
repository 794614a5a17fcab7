# GGUF files with one fault each: exit status, message, no output, little memory.
load ../helper

setup_file() {
	vectors gguf_faults "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 32768
}

from_file() {
	try apr-unpack "$1" && said "$2" "$3"
}

from_pipe() {
	try apr-unpack < <(cat "$1") && said "$2" "$4"
}

@test "gguf faults: the file from which they are made is sound" {
	local f
	for f in good good_unpadded; do
		pipe "apr-unpack $f | apr-pack -t gguf | cmp - $f"
	done
	[ "$(wc -l <MANIFEST)" -gt 100 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

@test "gguf faults: each is named, from a file" {
	rows from_file
}

@test "gguf faults: each is named, from a pipe" {
	rows from_pipe
}

into_nothing() {
	rm -f "$BATS_TEST_TMPDIR"/made*
	try apr-unpack -o "$BATS_TEST_TMPDIR/made" "$1" && said "$2" "$3" &&
		[ ! -e "$BATS_TEST_TMPDIR/made" ] || return
	try_pipe "apr-unpack '$1' 2>/dev/null | apr-pack -t gguf >'$BATS_TEST_TMPDIR/made'" &&
		said "$2" '(E002)' && [ ! -s "$BATS_TEST_TMPDIR/made" ]
}

# bats test_tags=repeats
@test "gguf faults: none leaves an output, named or not" {
	rows into_nothing
}

by_child() {
	try apr-pack -t gguf -o "$BATS_TEST_TMPDIR/made" "$1" && said "$2" "$3" &&
		grep -q '^apr-unpack: ' "$err" && [ ! -e "$BATS_TEST_TMPDIR/made" ]
}

# bats test_tags=repeats
@test "gguf faults: a filter's FILE fails with the words and status of its reader" {
	rows by_child
}

# A truncated file is refused, except at one length: the end of the last tensor. Some writers
# omit the padding after it, so it is optional.
# bats test_tags=repeats
@test "gguf faults: cut at every byte" {
	local n size whole
	set +T
	size=$(wc -c <good)
	whole=$(wc -c <good_unpadded)
	[ "$size" -gt "$whole" ]
	for ((n = 0; n < size; n++)); do
		head -c $n good >"$BATS_TEST_TMPDIR/cut"
		try apr-unpack "$BATS_TEST_TMPDIR/cut"
		if [ $n -eq "$whole" ]; then
			quiet
			continue
		fi
		said 4 || fail "cut to $n bytes"
		try apr-unpack < <(cat "$BATS_TEST_TMPDIR/cut")
		said 4 || fail "cut to $n bytes, from a pipe"
	done
}

# In a pipe the end is not known in advance: the plan has announced padding by then, so its
# absence is noted.
@test "gguf faults: missing end padding is noticed in a pipe" {
	try_pipe 'cat good_unpadded | apr-unpack'
	[ "$status" -eq 0 ]
	grep -q 'padding at the end, which the file lacks' "$err"
	apr-pack -t gguf <"$out" | cmp - good
}

@test "gguf: big-endian, and formats that are not read, are refused by name (CHECK-010)" {
	try apr-unpack gguf_big_endian
	said 4 'big-endian GGUF file, which is not read (E001)'
	printf 'PK\3\4 and so on' >"$BATS_TEST_TMPDIR/zip"
	try apr-unpack "$BATS_TEST_TMPDIR/zip"
	said 4 'a zip archive'
	printf 'APRN and so on' >"$BATS_TEST_TMPDIR/aprn"
	try apr-unpack "$BATS_TEST_TMPDIR/aprn"
	said 4 'ends here, in its header'
}
