# apr-unpack: any model file -> stream
load ../helper

setup_file() {
	vectors stream_good "$BATS_FILE_TMPDIR"
	vectors gguf_good "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	vectors=$BATS_FILE_TMPDIR
}

# The names of a stream's tensors, in its order.
tensors() {
	frames | sed -n 's/^TENS.*"name":"\([^"]*\)".*/\1/p'
}

@test "apr-unpack passes the exam" {
	exam source apr-unpack
}

@test "apr-unpack passes the exam with APR2 and with a stream" {
	apr-pack -o m.apr "$model"
	exam_in=$PWD/m.apr
	exam_prepare source
	exam_input apr-unpack
	exam_same_file apr-unpack
	exam_dead_upstream apr-unpack
	exam_signal apr-unpack
	cd "$BATS_TEST_TMPDIR" || return
	apr-unpack "$model" >m.aprs
	exam_in=$PWD/m.aprs
	exam source apr-unpack
}

@test "--only and --except choose tensors" {
	apr-unpack "$model" | tensors >all
	apr-unpack --only '^blk\.1\.' "$model" | tensors >one
	grep '^blk\.1\.' all | diff - one
	[ "$(wc -l <one)" -gt 5 ]
	apr-unpack --except 'norm' --only '^blk\.0\.' --only output "$model" | tensors >two
	grep -E '^blk\.0\.|output' all | grep -v norm | diff - two
	apr-unpack --except '^blk\.' --except token "$model" | tensors >three
	grep -Ev '^blk\.|token' all | diff - three
	# The rest is unchanged, byte for byte.
	apr-unpack "$model" | digests | grep '^blk\.1\.' >want
	apr-unpack --only '^blk\.1\.' "$model" | digests | diff want -
	apr-unpack --only '^blk\.1\.' - <"$model" | digests | diff want -
}

@test "a chosen part is a model that can be packed" {
	apr-unpack --only 'attn' "$model" | apr-pack -t gguf -o part.gguf
	apr-unpack part.gguf | apr-pack -t gguf | cmp - part.gguf
	# The index keeps its order among those that stay: third before first.
	apr-unpack --except second "$vectors/gguf_index_order" | apr-pack -t gguf -o part2.gguf
	apr-unpack part2.gguf | tensors | diff - <(printf '%s\n' first third fourth)
	[ "$(grep -aobE 'third|first|fourth' part2.gguf | cut -d: -f2 | tr '\n' ' ')" = \
		'third first fourth ' ]
	apr-unpack part2.gguf | apr-pack -t gguf | cmp - part2.gguf
}

@test "a pattern that matches nothing is a fault, and named" {
	try apr-unpack --only '^blk' --only 'no.such' "$model"
	said 2 'no.such: matches no tensor'
	try apr-unpack --except nowhere -o made "$model"
	said 2 'nowhere: matches no tensor'
	[ ! -e made ]
	# Also where another pattern has taken all there was.
	try apr-unpack --only 'attn' --except 'ffn_norm' "$model"
	quiet
}

@test "a pattern is PCRE2, within limits" {
	try apr-unpack --only '(' "$model"
	said 2 '(: is not a pattern at character'
	try apr-unpack --only '(?i)^BLK\.0\.(?!attn)' "$model"
	quiet
	tensors <"$out" | grep -q 'blk.0.ffn'
	run ! grep -aq 'blk.0.attn' "$out"
	try apr-unpack --only '^((.+)+)+[^a-z]$' "$model"
	said 2 'takes too long to match'
	try apr-unpack --only "$(printf '\033[31m')" "$model"
	said 2 '\x1b[31m: '
}

@test "a choice ends a signature, and a record of it takes its place" {
	local root=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
	try apr-unpack --only '^a$' "$vectors/stream_of_everything"
	[ "$status" -eq 0 ]
	[ "$(cat "$err")" = 'apr-unpack: the content changes: its signature, which was not verified, is dropped, and a record of its claims kept' ]
	frames <"$out" >list
	[ "$(cut -f1 list | tr '\n' ' ')" = 'APRS blob blob lice TENS prov prov DONE ' ]
	grep -qF '"signatures":0' list
	tail -n 2 list | head -n 1 >prov
	grep -qF "{\"operation\":\"apr-unpack --only ^a\$\",\"claimed_parent\":\"$root\",\"claimed_key\":\"0123456789abcdef\"}" prov
	# Without a choice it goes on.
	try apr-unpack "$vectors/stream_of_everything"
	quiet
	cmp "$out" "$vectors/stream_of_everything"
	# Where there was none, nothing is recorded.
	try apr-unpack --only attn "$model"
	quiet
	run ! grep -aq '"operation"' "$out"
}

@test "--strict fails where an APR2 file is only odd" {
	apr-pack -o m.apr "$model"
	printf 'extra' >>m.apr
	try apr-unpack m.apr
	[ "$status" -eq 0 ]
	[ "$(wc -l <"$err")" -eq 1 ]
	cmp "$out" <(apr-unpack "$model")
	try apr-unpack --strict m.apr
	said 4
	try_pipe 'cat m.apr | apr-unpack --strict'
	said 4
}

@test "--progress speaks of what passes, on standard error" {
	try apr-unpack --progress "$model"
	[ "$status" -eq 0 ]
	grep -Eq '^apr-unpack: 4\.4 MiB of 4\.4 MiB, .*/s, 0 s left$' "$err"
	cmp "$out" <(apr-unpack "$model")
}

@test "a file is read whatever it is called, and by several operands it is not" {
	cp "$model" ./-o
	apr-unpack -- -o | cmp - <(apr-unpack "$model")
	mkfifo pipe
	cat "$model" >pipe 3>&- &
	apr-unpack pipe | cmp - <(apr-unpack "$model")
	wait $!
	try apr-unpack "$model" "$model"
	said 2 'one operand too many'
}

@test "--version, --help and errors do not depend on the locale or the terminal" {
	try env LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm apr-unpack --nosuch
	said 2
	run ! grep -q $'\033' "$err"
}
