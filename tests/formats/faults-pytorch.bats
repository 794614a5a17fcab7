# Files of PyTorch with one fault each, and hostile pickles: exit status, message, no output.
load ../helper

setup_file() {
	vectors torch_faults "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 131072
}

from_file() {
	try apr-unpack "$1" && said "$2" "$3"
}

from_pipe() {
	try apr-unpack < <(cat "$1") && said "$2" "$4"
}

@test "pytorch faults: the files from which they are made are sound" {
	local f
	for f in good good_old; do
		pipe "apr-unpack $f | apr-get --npy a >$BATS_TEST_TMPDIR/$f.npy"
	done
	cmp "$BATS_TEST_TMPDIR/good.npy" "$BATS_TEST_TMPDIR/good_old.npy"
	[ "$(wc -l <MANIFEST)" -gt 360 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

@test "pytorch faults: each is named, from a file (CHECK-077)" {
	rows from_file
}

@test "pytorch faults: each is named, from a pipe" {
	rows from_pipe
}

into_nothing() {
	try apr-unpack -o "$BATS_TEST_TMPDIR/made" "$1" && said "$2" "$3" &&
		[ ! -e "$BATS_TEST_TMPDIR/made" ]
}

# bats test_tags=repeats
@test "pytorch faults: none leaves an output" {
	rows into_nothing
}

# apr-header reports what apr-unpack refuses, unless the file is damaged.
reported() {
	[[ $3 == *": its pickle calls "* && $1 != torch_old_calls_in_* ]] || return 0
	try apr-header --json "$1"
	[ "$status" -eq 0 ] || fail "$(cat "$err")" || return
	grep -qF "${3#*calls }" <(jq -r '.would_call[]' "$out" | sed 's/$/ (E001)/')
}

@test "pytorch faults: apr-header shows what a pickle would call" {
	rows reported
	try apr-header torch_calls_os_system
	grep -q "^would_call  *.*os.system('id')" "$out"
}

# bats test_tags=repeats
@test "pytorch faults: cut at every byte" {
	local n f
	set +T
	for f in good good_old; do
		for ((n = 0; n < $(wc -c <$f); n++)); do
			head -c $n $f >"$BATS_TEST_TMPDIR/cut"
			try apr-unpack "$BATS_TEST_TMPDIR/cut"
			said 4 || fail "$f cut to $n bytes"
		done
	done
}
