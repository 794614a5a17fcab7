#!/usr/bin/env bats
# The kernels for 64-bit ARM, built by a cross compiler and run by an emulator. What they
# are built with does not depend on the mode of the build under test.
load ../helper

setup() {
	! grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-quant" ||
		skip 'the same as without sanitizers'
	command -v aarch64-linux-gnu-gcc >/dev/null || skip 'no aarch64-linux-gnu-gcc'
	command -v qemu-aarch64 >/dev/null || skip 'no qemu-aarch64'
}

@test "halves, kernels, products and their choice: NEON gives what plain C gives" {
	cd "$root" || return
	env -u MAKEFLAGS -u MAKELEVEL make -s neon >"$BATS_TEST_TMPDIR/log" 2>&1 || {
		grep -v '^ok' "$BATS_TEST_TMPDIR/log"
		return 1
	}
	grep -q '^ok .* neon gives the same bytes and is used' "$BATS_TEST_TMPDIR/log"
	grep -q '^ok .* neon: IQ4_XS: encodes by importance to GGML' "$BATS_TEST_TMPDIR/log"
	# A CPU without sums of four products of bytes, and one with them and more.
	grep -q '^ok .* level neon multiplies with neon$' "$BATS_TEST_TMPDIR/log"
	grep -q '^ok .* level neon multiplies with i8mm$' "$BATS_TEST_TMPDIR/log"
	grep -q '^ok .* Q4_K: the largest codes give what plain C gives (sdot)' "$BATS_TEST_TMPDIR/log"
	grep -q '^ok .* Q4_K: the largest codes give what plain C gives (i8mm)' "$BATS_TEST_TMPDIR/log"
}
