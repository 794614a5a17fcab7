# Sealed models that were changed by somebody who cannot open them: whatever is changed
# and however well, nothing that was not sealed comes out.
load ../helper

identity=AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX
me=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
she=age19d4z5e9x9uzrfzeyuhhf0t4cqgu7me8tfga2uhn2we3udwpd25wqv6a4h0

setup_file() {
	export sealed=$BATS_FILE_TMPDIR
	cd "$sealed" || return
	PATH=$PATH:$APR_GEN
	echo $identity >me.key
	apr-keygen -W -o key >key.id
	tamper mother | apr-sign key >mother.plain 2>/dev/null
	mkmodel <<-'END' | apr-unpack - >big.plain
		tensor a I8 3145735 ramp
		tensor b I8 3145735 ramp
	END
	for m in mother big; do
		apr-encrypt -r $me -r $she $m.plain >$m
		apr-encrypt -r $me -r $she $m.plain >$m.other
	done
	reseal list >MANIFEST
	[ "$(wc -l <MANIFEST)" -ge 50 ]
}

setup() {
	cd "$sealed" || return
	PATH=$PATH:$APR_GEN
}

# The output is a prefix of the sealed content.
is_prefix() {
	local n
	n=$(wc -c <"$out")
	[ "$n" -le "$(wc -c <"$1")" ] && cmp -n "$n" "$out" "$1"
}

changed() {
	reseal "$1" "$2.other" <"$2" >"$BATS_TEST_TMPDIR/changed"
	try apr-decrypt -i me.key "$BATS_TEST_TMPDIR/changed"
	if [ "$3" -eq 0 ]; then
		[ "$status" -eq 0 ] && grep -qF "${4-}" <(cat "$err"; echo)
	else
		said "$3" "$4" && is_prefix "$2.plain"
	fi
}

@test "each change of a stream is refused, and nothing that was not sealed comes out" {
	rows changed
}

# Before the first tensor has been proved nothing comes out at all.
silent() {
	[[ $4 == *'does not hold' || $4 == *'opens it'* || $3 = 4 ]] || return 0
	[[ $1 != chunk_missing && $1 != seal_is_tensor && $1 != holds_nothing && \
		$1 != head_differs ]] || return 0
	reseal "$1" "$2.other" <"$2" >"$BATS_TEST_TMPDIR/changed"
	try apr-decrypt -i me.key <"$BATS_TEST_TMPDIR/changed"
	said "$3"
	[ ! -s "$out" ]
}

@test "what the seal binds is checked before a byte comes out" {
	rows silent
}

# Those that a container can hold fail there as well.
packed() {
	[ "$3" -ne 4 ] || return 0
	reseal "$1" "$2.other" <"$2" | apr-pack -f -o "$BATS_TEST_TMPDIR/changed.apr" - 2>/dev/null
	try apr-decrypt -i me.key "$BATS_TEST_TMPDIR/changed.apr"
	if [ "$3" -eq 0 ]; then
		[ "$status" -eq 0 ]
	else
		said "$3" "$4" && is_prefix "$2.plain"
	fi
}

@test "each change that APR2 can hold is refused from there" {
	rows packed
}

@test "another program, written from the description, opens what is sealed" {
	unseal key "$(printf '42%.0s' {1..32})" <mother | diff - <(unseal list <mother.plain)
	unseal key "$(printf '42%.0s' {1..32})" <big | diff - <(unseal list <big.plain)
	echo 'open, sesame' >"$BATS_TEST_TMPDIR/word"
	apr-encrypt --passphrase-file "$BATS_TEST_TMPDIR/word" mother.plain |
		unseal word 'open, sesame' | diff - <(unseal list <mother.plain)
	# It does look: a changed stream does not pass it.
	run -1 unseal key "$(printf '42%.0s' {1..32})" < <(reseal value_changed <mother)
	[[ $output == *'the mac does not hold'* ]]
}

@test "vectors of the pages, by the program that shares no code with the tools" {
	local name value
	# The content there as hexadecimal digits, without names and line ends.
	for page in apr-stream.5 apr-seal.1; do
		sed -nE 's/^([a-z]+)? +([0-9a-f]+)$/\2/p' "$root/man/$page"
	done | tr -d '\n' >"$BATS_TEST_TMPDIR/digits"
	unseal vectors >"$BATS_TEST_TMPDIR/vectors"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/vectors")" -eq 8 ]
	while read -r name value; do
		grep -qF "$value" "$BATS_TEST_TMPDIR/digits" || fail "$name $value"
	done <"$BATS_TEST_TMPDIR/vectors"
}

@test "a stanza that was made to open for three passphrases opens for one" {
	local n
	cd "$BATS_TEST_TMPDIR"
	for n in one two three four; do
		echo $n >$n
	done
	apr-encrypt --passphrase-file one "$sealed/mother.plain" | multikey seal one two three >all
	# To an attacker, two of the three give the same error as any wrong key.
	for n in two three four; do
		try apr-decrypt --passphrase-file $n all
		said 1 'no key that is given opens it (E005)'
		[ ! -s "$out" ]
	done
	try apr-decrypt --passphrase-file one all
	said 1 'does not hold'
	[ ! -s "$out" ]
}

@test "what a seal leaves open goes no further than it must" {
	local n
	for n in nothing member_added frame_added; do
		reseal $n <mother | apr-decrypt -i me.key 2>/dev/null | cmp - mother.plain
	done
	# The first container is shown, but the seal does not cover it.
	reseal source_changed <mother | apr-decrypt -i me.key | apr-verify -q key.pub 2>/dev/null
}

# bats test_tags=repeats
@test "cut anywhere, it fails and leaves no file" {
	local n size
	size=$(wc -c <mother)
	set +T
	for ((n = 1; n < size; n += 97)); do
		head -c $n mother >"$BATS_TEST_TMPDIR/cut"
		try apr-decrypt -i me.key -o "$BATS_TEST_TMPDIR/made" "$BATS_TEST_TMPDIR/cut"
		said 4 || fail "after $n bytes"
		[ ! -e "$BATS_TEST_TMPDIR/made" ]
	done
}

# bats test_tags=repeats
@test "a byte changed anywhere, without a checksum's knowing: nothing else comes out" {
	local n
	set +T
	for ((n = 0; n < 150; n++)); do
		flip $n <mother >"$BATS_TEST_TMPDIR/flipped"
		try apr-decrypt -i me.key "$BATS_TEST_TMPDIR/flipped"
		[ "$status" -eq 4 ] || fail "flip $n: status $status" || return
		is_prefix mother.plain
	done
}
