# Compressed APR2 files with one fault each: exit status, message, no output,
# little memory.
load ../helper

setup_file() {
	vectors apr2_packed "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 32768
	made=$BATS_TEST_TMPDIR/made
}

@test "packed faults: the file from which they are made is sound" {
	try apr-unpack --strict good
	quiet
	apr-pack <"$out" | apr-unpack | cmp - "$out"
	[ "$(wc -l <MANIFEST)" -gt 30 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

from_file() {
	[ "$2" -ne 0 ] || return 0
	try apr-unpack -o "$made" "$1" && said "$2" "$3" && [ ! -e "$made" ]
}

@test "packed faults: each is named, from a file" {
	rows from_file
}

from_pipe() {
	[ "$2" -ne 0 ] || return 0
	try apr-unpack < <(cat "$1") && said "$2" "$4"
}

@test "packed faults: each is named, from a pipe" {
	rows from_pipe
}

by_child() {
	[ "$2" -ne 0 ] || return 0
	try apr-pack -z zstd -o "$made" "$1" && said "$2" "$3" &&
		grep -q '^apr-unpack: ' "$err" && [ ! -e "$made" ]
}

# bats test_tags=repeats
@test "packed faults: a filter's FILE fails with the words and status of its reader" {
	rows by_child
}

odd() {
	[ "$2" -eq 0 ] || return 0
	try apr-unpack "$1"
	[ "$status" -eq 0 ] && grep -qF -e "$3" "$err" || fail "$status: $(cat "$err")" || return
	apr-unpack good | cmp - "$out" || return
	try apr-unpack --strict "$1" && said 4 "$3" || return
	try apr-unpack --strict < <(cat "$1") && said 4 "$3"
}

@test "packed: what is odd is warned about, and refused by --strict" {
	rows odd
}

# bats test_tags=repeats
@test "packed faults: cut at every byte" {
	local n size
	set +T
	size=$(wc -c <good)
	for ((n = 0; n < size; n++)); do
		head -c $n good >"$BATS_TEST_TMPDIR/cut"
		try apr-unpack "$BATS_TEST_TMPDIR/cut"
		said 4 || fail "cut to $n bytes"
		try apr-unpack < <(cat "$BATS_TEST_TMPDIR/cut")
		said 4 || fail "cut to $n bytes, from a pipe"
	done
}

# bats test_tags=repeats
@test "packed faults: no changed byte passes" {
	local n size byte bytes
	set +T
	export APR_LOG_LEVEL=error # a note is no message
	size=$(wc -c <good)
	mapfile -t bytes < <(od -An -v -tu1 -w1 good)
	for ((n = 0; n < size; n++)); do
		printf -v byte '\\x%x' $((bytes[n] ^ 1 << n % 8))
		cp good "$BATS_TEST_TMPDIR/flipped"
		printf %b "$byte" |
			dd of="$BATS_TEST_TMPDIR/flipped" bs=1 seek=$n conv=notrunc status=none
		try apr-unpack "$BATS_TEST_TMPDIR/flipped"
		[ "$status" -ne 0 ] && said "$status" || fail "byte $n: exit status $status"
	done
}
