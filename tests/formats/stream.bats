# The stream itself: what a reader may meet, and what passes it untouched.
load ../helper

setup_file() {
	vectors stream_good "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	made=$BATS_TEST_TMPDIR/made
}

@test "stream vectors: passed on, each is itself or its twin" {
	local name twin n=0
	while IFS=$'\t' read -r name twin; do
		apr-unpack "$name" | cmp - "$twin"
		pipe "cat '$name' | apr-unpack - | cmp - '$twin'"
		rm -f "$made"
		apr-unpack -o "$made" "$name"
		cmp "$made" "$twin"
		n=$((n + 1))
	done <MANIFEST
	[ $n -ge 8 ]
}

@test "stream vectors: through APR2 and back" {
	local name twin
	while IFS=$'\t' read -r name twin; do
		case $name in
		stream_dtype_255 | stream_unknown_frames | stream_gaps) continue ;;
		stream_named_folder) twin=stream_of_everything ;; # no file has the name
		esac
		rm -f "$made"
		apr-pack -o "$made" "$name"
		apr-unpack "$made" | cmp - "$twin"
	done <MANIFEST
}

@test "APR2 keeps the unknown frames that come after the tensors" {
	try apr-pack -o "$made" stream_unknown_frames
	[ "$status" -eq 0 ]
	grep -qx 'apr-pack: frames that APR2 has no place for are dropped' "$err"
	frames <stream_unknown_frames | tac | awk '$1 == "TENS" { before = 1 }
		!before || !/^(aaaa|xyZZ)/' | tac >"$made.want"
	[ "$(grep -c xyZZ "$made.want")" -eq 3 ]
	apr-unpack "$made" | frames | diff "$made.want" -
}

@test "zeros that a stream leaves out are bytes of the tensor" {
	local format
	for format in apr2 gguf safetensors apr1 apr2-64; do
		rm -f "$made" "$made.all"
		APR_LOG_LEVEL=error apr-pack -t $format -o "$made" stream_gaps
		APR_LOG_LEVEL=error apr-pack -t $format -o "$made.all" stream_no_gaps
		cmp "$made" "$made.all"
	done
	apr-unpack "$made" | apr-sum | cmp - <(apr-sum <stream_no_gaps)
	apr-sum <stream_gaps | cmp - <(apr-sum <stream_no_gaps)
	apr-unpack --only b stream_gaps | frames | cut -f1 | tr '\n' ' ' |
		grep -qx 'APRS GAPS DONE '
	# A changed byte is found in each of the frames.
	try apr-unpack < <(sed 's/56/57/' stream_gaps)
	said 4 'GAPS: the CRC of its body differs'
}

@test "stream vectors: through GGUF and back" {
	local name
	for name in stream_of_everything stream_other_spelling stream_unknown_frames; do
		rm -f "$made"
		APR_LOG_LEVEL=error apr-pack -t gguf -o "$made" "$name"
		apr-unpack "$made" | cmp - stream_of_everything
	done
}

@test "types and shapes that GGUF lacks come back from it" {
	# 8 axes, U8 and BOOL: carried as bytes. A row of no values has no blocks.
	local name
	for name in stream_shapes stream_every_dtype; do
		rm -f "$made"
		apr-pack -t gguf -o "$made" "$name"
		apr-unpack "$made" | frames | sed '/^APRS/d' >"$made.frames"
		frames <$name | sed '/^APRS/d' | diff - "$made.frames"
		apr-unpack "$made" | digests | diff - <(digests <$name)
	done
}

@test "frames of unknown kind pass a filter, in their places" {
	apr-unpack --only '^a$' stream_unknown_frames 2>/dev/null >"$made.1"
	apr-unpack <"$made.1" >"$made.2"
	frames <"$made.2" | cut -f1 | tr '\n' ' ' >"$made.kinds"
	echo 'APRS aaaa blob xyZZ blob xyZZ lice xyZZ TENS xyZZ xyZZ prov xyZZ xyZZ prov DONE ' |
		tr -d '\n' | diff - "$made.kinds"
	# Head and body are unchanged, including spaces.
	frames <stream_unknown_frames | grep -E '^(aaaa|xyZZ)' >"$made.before"
	frames <"$made.2" | grep -E '^(aaaa|xyZZ)' | diff "$made.before" -
}

@test "a plan's unknown member passes a filter" {
	apr-unpack --only '^a$' stream_unknown_member 2>/dev/null | frames |
		grep -qF '"later":{"x":[1,"y"]}'
}

@test "what GGUF cannot carry is said" {
	try apr-pack -t gguf -o "$made" stream_unknown_frames
	[ "$status" -eq 0 ]
	grep -q '^apr-pack: a frame of unknown kind has no place in GGUF' "$err"
}
