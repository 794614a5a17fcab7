# Files of ONNX with one fault each: exit status, message, no output.
load ../helper

setup_file() {
	vectors onnx_faults "$BATS_FILE_TMPDIR"
	vectors onnx_good "$BATS_FILE_TMPDIR/good"
	cd "$BATS_FILE_TMPDIR" || return
	ln -s data.bin link.bin
	mkdir folder
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	limit_memory 131072
}

from_file() {
	try apr-unpack --from onnx -o "$BATS_TEST_TMPDIR/made" "$1" && said "$2" "$3" &&
		[ ! -e "$BATS_TEST_TMPDIR/made" ]
}

from_pipe() {
	try apr-unpack --from onnx < <(cat "$1") && said 4 "$4"
}

@test "onnx faults: each is named, from a file, and leaves no output" {
	rows from_file
	[ "$(wc -l <MANIFEST)" -gt 95 ]
	[ "$(cut -f1 MANIFEST | sort -u | wc -l)" -eq "$(wc -l <MANIFEST)" ]
}

@test "onnx faults: each is named, from a pipe" {
	rows from_pipe
}

@test "onnx faults: cut at every byte" {
	local n
	set +T
	for ((n = 1; n < $(wc -c <good/good); n++)); do
		head -c $n good/good >"$BATS_TEST_TMPDIR/cut"
		try apr-unpack --from onnx "$BATS_TEST_TMPDIR/cut"
		if [ "$status" -ne 0 ]; then
			said 4 || fail "cut to $n bytes"
		else
			# A whole field less: the list of operators at the end.
			[ $n -ge $(($(wc -c <good/good) - 4)) ] || fail "cut to $n bytes"
		fi
	done
}

@test "onnx faults: external data is not found from a pipe" {
	try apr-unpack < <(cat good/external)
	said 4 'has its values in another file, which cannot be found from a pipe'
	try apr-unpack <good/external
	said 4 'which cannot be found from a pipe'
}
