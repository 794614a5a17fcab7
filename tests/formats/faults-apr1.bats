# APR version 1 files, and what only shares their magic, with one fault each: exit
# status, message, no output, little memory.
load ../helper

setup_file() {
	vectors apr1_faults "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	export APR_LOG_LEVEL=error
	limit_memory 65536
	made=$BATS_TEST_TMPDIR/made
	mothers=(good good_records good_chunks good_index)
}

@test "apr1 faults: the files from which they are made are what our writer makes" {
	local f
	for f in "${mothers[@]}"; do
		apr-unpack --strict $f | apr-pack -t apr1 -f -o "$made"
		cmp "$made" $f
		pipe "cat $f | apr-unpack --strict | apr-pack -t apr1 | cmp - $f"
	done
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

@test "apr1 faults: each is named, from a file" {
	rows from_file
}

@test "apr1 faults: each is named, from a pipe" {
	rows from_pipe
}

# Where chunks are read one by one, the same faults are found.
from_part() {
	[[ $1 == apr1_chunk* ]] || return 0
	try apr-unpack --only . "$1" && said "$2" "$3"
}

@test "apr1 faults: each of an index of chunks is named, where only a part is read" {
	rows from_part
	[ "$(grep -c ^apr1_chunk MANIFEST)" -gt 10 ]
}

into_nothing() {
	[ "$2" -ne 0 ] || return 0
	rm -f "$made"
	try apr-unpack -o "$made" "$1" && said "$2" "$3" && [ ! -e "$made" ]
}

# bats test_tags=repeats
@test "apr1 faults: none leaves an output" {
	rows into_nothing
}

odd() {
	[ "$2" -eq 0 ] || return 0
	APR_LOG_LEVEL=warning try apr-unpack "$1"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$err")" -eq 1 ] || fail "$status: $(cat "$err")" || return
	grep -qF -e "$1: " "$err" && grep -qF -e "$3" "$err" || fail "not said: $3" || return
	try apr-unpack --strict "$1" && said 4 "$3" || return
	try apr-unpack --strict < <(cat "$1") && said 4 "$3"
}

@test "apr1: what is odd is warned about, and refused by --strict" {
	rows odd
}

# The Andon cord: each signal of the specification has a message of its own.
@test "apr1: InvalidFormat, ChecksumMismatch, DecryptionFailed, UnsupportedVersion, ModelTypeMismatch are distinct" {
	try apr-unpack apr1_type_0 && said 4 'InvalidFormat: '
	try apr-unpack apr1_changed && said 4 'ChecksumMismatch: '
	try apr-unpack apr1_major_2 && said 4 'UnsupportedVersion: '
	try apr-unpack apr1_encrypted && said 1 'DecryptionFailed: '
	try apr-unpack --expect-type KMeans good && said 5 'ModelTypeMismatch: its model type is LINEAR_REGRESSION, not KMeans'
	try apr-unpack --payload Ridge good && said 5 'ModelTypeMismatch: its payload does not have the layout Ridge'
	try apr-unpack --expect-type linear-regression --payload LinearRegression good
	quiet
	cmp "$out" <(apr-unpack good)
	try apr-unpack --payload opaque good
	quiet
	try apr-unpack --expect-type Soup good && said 2 'no model type is called Soup'
	try apr-unpack --payload KMeans good_records && said 5 'ModelTypeMismatch: its payload is known'
}

# bats test_tags=repeats
@test "apr1 faults: cut at every byte" {
	local n size f
	set +T
	for f in "${mothers[@]}"; do
		size=$(wc -c <$f)
		for ((n = 0; n < size; n += f == good ? 1 : 13)); do
			head -c $n $f >"$BATS_TEST_TMPDIR/cut"
			try apr-unpack "$BATS_TEST_TMPDIR/cut"
			said 4 || fail "cut to $n bytes"
		done
	done
}

# One bit in each byte: the checksum or a rule notices.
# bats test_tags=repeats
@test "apr1 faults: no changed byte passes" {
	local n size byte bytes
	set +T
	size=$(wc -c <good)
	mapfile -t bytes < <(od -An -v -tu1 -w1 good)
	for ((n = 0; n < size; n++)); do
		printf -v byte '\\x%x' $((bytes[n] ^ 1 << n % 8))
		cp good "$BATS_TEST_TMPDIR/flipped"
		printf %b "$byte" |
			dd of="$BATS_TEST_TMPDIR/flipped" bs=1 seek=$n conv=notrunc status=none
		try apr-unpack "$BATS_TEST_TMPDIR/flipped"
		[ "$status" -eq 4 ] || fail "byte $n: exit status $status"
	done
}
