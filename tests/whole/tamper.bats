# Nothing that was signed can be changed unnoticed, by whoever can compute
# checksums but has not got the key (tests/gen/tamper.c), or by chance.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	apr-keygen -W -o key >key.id
	pipe 'tamper mother | apr-sign key' >mother.aprs 2>/dev/null
	tamper list >list
	[ "$(wc -l <list)" -gt 120 ]
}

# What apr-verify says of the file $1 is what the row ($2: status, $3: text)
# expects, for the change $4.
expect() {
	try apr-verify -q key.pub "$1"
	if [ "$2" -eq 0 ]; then
		quiet || fail "$4"
	else
		said "$2" "$3" || fail "$4"
	fi
}

# Every change, packed as $1 where it can be packed.
through() {
	local name status_wanted says rows=0
	while IFS=$'\t' read -r name status_wanted says; do
		tamper "$name" <mother.aprs >changed.aprs
		rm -f changed
		try env APR_LOG_LEVEL=error apr-pack -t "$1" -o changed changed.aprs
		if [ "$status_wanted" -eq 4 ] && [ "$status" -ne 0 ]; then
			# Contradictory in itself: no file comes of it.
			said 4 || fail "$name"
			[ ! -e changed ]
		else
			quiet || fail "$name"
			expect changed "$status_wanted" "$says" "$name"
		fi
		rows=$((rows + 1))
	done <list
	[ $rows -eq "$(wc -l <list)" ]
}

@test "every change of a stream is found and named; what is no change is none" {
	local name status_wanted says rows=0
	while IFS=$'\t' read -r name status_wanted says; do
		tamper "$name" <mother.aprs >changed.aprs
		[ "$name" = nothing ] || run ! cmp -s changed.aprs mother.aprs
		expect changed.aprs "$status_wanted" "$says" "$name"
		[ "$status_wanted" -ne 1 ] || grep -qF '(E006)' "$err" || fail "$name: not E006"
		rows=$((rows + 1))
	done <list
	[ $rows -eq "$(wc -l <list)" ]
}

# bats test_tags=repeats
@test "every change is found and named through GGUF" {
	through gguf
}

# bats test_tags=repeats
@test "every change is found and named through APR2" {
	through apr2
}

# bats test_tags=repeats
@test "every change is found and named through APR2 with a header of 64 bytes" {
	through apr2-64
}

@test "every type of metadata has its change, and every part of a signature" {
	local type
	for type in u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string json \
		array:u8 array:i8 array:u16 array:i16 array:u32 array:i32 array:u64 array:i64 \
		array:f32 array:f64 array:bool array:string array:array:u8; do
		apr-header --json mother.aprs | grep -qF ",\"$type\"," || fail "no key of type $type"
	done
	for type in key root metadata blobs licence tensors signature; do
		grep -q "^sign_$type	" list || fail "no change of $type"
	done
	# Each key of the mother is in the list.
	apr-header mother.aprs | grep -Eqx "metadata +$(grep -c ^value: list) keys"
}

# bats test_tags=repeats
@test "300 flipped bits in an .apr: never a silent pass" {
	local n
	export APR_LOG_LEVEL=error
	apr-pack -o mother.apr mother.aprs
	apr-verify -q key.pub mother.apr
	for ((n = 0; n < 300; n++)); do
		flip $n <mother.apr >flipped
		if apr-verify -q key.pub flipped 2>why; then
			fail "flip $n: verified"
		fi
		[ -s why ] || fail "flip $n: not a word"
		if bash -o pipefail -c 'apr-unpack flipped | apr-verify key.pub | apr-pack -o out' 2>why; then
			fail "flip $n: the pipe succeeded"
		fi
		[ ! -e out ] || fail "flip $n: out is left"
		# Not by its checksum alone: from a pipe the data went on before that came.
		if cat flipped | apr-unpack 2>why | apr-verify -q key.pub 2>>why; then
			fail "flip $n: verified from a pipe"
		fi
	done
}

# bats test_tags=repeats
@test "100 flipped bits in a stream: never a silent pass" {
	local n
	for ((n = 0; n < 100; n++)); do
		flip $n <mother.aprs >flipped
		if apr-verify -q key.pub flipped 2>why; then
			fail "flip $n: verified"
		fi
		if apr-verify key.pub flipped 2>why | apr-pack -o out 2>>why; then
			fail "flip $n: the pipe succeeded"
		fi
		[ ! -e out ] || fail "flip $n: out is left"
	done
}

# GGUF has no checksum, and padding that is not content: a flip there may pass,
# but only if the content is what was signed, to the bit.
# bats test_tags=repeats
@test "200 flipped bits in a GGUF file: what verifies is what was signed" {
	local n passed=0
	export APR_LOG_LEVEL=error
	apr-pack -t gguf -o mother.gguf mother.aprs
	apr-verify key.pub mother.gguf >want
	digests <want >want.digests
	apr-header --json want | sed 's/.*"metadata"://' >want.metadata
	for ((n = 0; n < 200; n++)); do
		flip $n <mother.gguf >flipped
		if apr-verify key.pub flipped >got 2>why; then
			passed=$((passed + 1))
			digests <got | cmp - want.digests
			apr-header --json got | sed 's/.*"metadata"://' | cmp - want.metadata
		else
			[ -s why ] || fail "flip $n: not a word"
			[ ! -s got ] || fail "flip $n: something was sent"
		fi
	done
	# Most of the file is content.
	[ $passed -lt 20 ] || fail "$passed of 200 passed"
}
