# APR2 files with one fault each: exit status, message, no output, little memory.
load ../helper

setup_file() {
	vectors apr2_faults "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 32768
	made=$BATS_TEST_TMPDIR/made
}

@test "apr2 faults: the file from which they are made is what our writer makes" {
	apr-unpack good | apr-pack | cmp - good
	pipe "cat good | apr-unpack | apr-pack -o '$made'"
	cmp "$made" good
	[ "$(wc -l <MANIFEST)" -gt 100 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

from_file() {
	[ "$2" -ne 0 ] || return 0
	try apr-unpack "$1" && said "$2" "$3"
}

from_pipe() {
	[ "$2" -ne 0 ] || return 0
	try apr-unpack < <(cat "$1") && said "$2" "$4"
}

@test "apr2 faults: each is named, from a file" {
	rows from_file
}

@test "apr2 faults: each is named, from a pipe" {
	rows from_pipe
}

into_nothing() {
	[ "$2" -ne 0 ] || return 0
	rm -f "$made"
	try apr-unpack -o "$made" "$1" && said "$2" "$3" && [ ! -e "$made" ] || return
	try_pipe "apr-unpack '$1' 2>/dev/null | apr-pack --plain -t gguf >'$made'" &&
		said "$2" '(E002)' && [ ! -s "$made" ]
}

# bats test_tags=repeats
@test "apr2 faults: none leaves an output, named or not" {
	rows into_nothing
}

by_child() {
	[ "$2" -ne 0 ] || return 0
	rm -f "$made"
	try apr-pack -o "$made" "$1" && said "$2" "$3" &&
		grep -q '^apr-unpack: ' "$err" && [ ! -e "$made" ]
}

# bats test_tags=repeats
@test "apr2 faults: a filter's FILE fails with the words and status of its reader" {
	rows by_child
}

odd() {
	[ "$2" -eq 0 ] || return 0
	try apr-unpack "$1"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$err")" -eq 1 ] || fail "$status: $(cat "$err")" || return
	grep -qF -e "$1: " "$err" && grep -qF -e "$3" "$err" || fail "not said: $3" || return
	apr-pack <"$out" | cmp - good || return
	try apr-unpack --strict "$1" && said 4 "$3" || return
	try apr-unpack --strict < <(cat "$1") && said 4 "$3"
}

@test "apr2: what is odd is warned about, and refused by --strict" {
	rows odd
}

# Of the tensors and the data after them, apr-header reads only the end.
@test "apr2: apr-header warns of bytes after the footer, or of one that is missing" {
	local name
	for name in apr2_odd_trailing_byte apr2_odd_trailing_file; do
		try apr-header $name
		[ "$status" -eq 0 ] || fail "$status"
		grep -qx "apr-header: $name: does not end with its footer: bytes follow it, or are missing" "$err"
		grep -q '^format  *apr2$' "$out"
	done
	head -c -1 good >"$BATS_TEST_TMPDIR/short"
	try apr-header "$BATS_TEST_TMPDIR/short"
	grep -q 'does not end with its footer' "$err"
	try apr-header good
	quiet
}

# The footer comes last: nothing shorter is a file.
# bats test_tags=repeats
@test "apr2 faults: cut at every byte" {
	local n size
	set +T
	try apr-unpack --strict good_small
	quiet
	size=$(wc -c <good_small)
	for ((n = 0; n < size; n++)); do
		head -c $n good_small >"$BATS_TEST_TMPDIR/cut"
		try apr-unpack "$BATS_TEST_TMPDIR/cut"
		said 4 || fail "cut to $n bytes"
		try apr-unpack < <(cat "$BATS_TEST_TMPDIR/cut")
		said 4 || fail "cut to $n bytes, from a pipe"
	done
}

# One bit in each byte: whatever it hits, a checksum or a rule notices.
# bats test_tags=repeats
@test "apr2 faults: no changed byte passes" {
	local n size byte bytes
	set +T
	size=$(wc -c <good_small)
	mapfile -t bytes < <(od -An -v -tu1 -w1 good_small)
	for ((n = 0; n < size; n++)); do
		printf -v byte '\\x%x' $((bytes[n] ^ 1 << n % 8))
		cp good_small "$BATS_TEST_TMPDIR/flipped"
		printf %b "$byte" |
			dd of="$BATS_TEST_TMPDIR/flipped" bs=1 seek=$n conv=notrunc status=none
		try apr-unpack "$BATS_TEST_TMPDIR/flipped"
		[ "$status" -eq 4 ] || fail "byte $n: exit status $status"
	done
}
