# Models of TensorFlow in the tools, which cannot open files themselves; faults: t_tensorflow and
# t_tensorflow_graph.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

@test "TensorFlow: a SavedModel goes through the tools, with its files" {
	tensorflow_model .
	try apr-unpack saved
	[ "$status" -eq 0 ]
	[ ! -s "$err" ]
	cmp "$out" <(apr-unpack saved/saved_model.pb)
	pipe "apr-pack -o m.apr '$out'"
	[ "$(apr-header --json m.apr | jq -r '.files[][0]' | paste -sd ' ')" = \
		"saved_model.pb assets/words.txt" ]
	[ "$(apr-meta get tensorflow.tensors m.apr | jq -c '."dense/kernel"')" = \
		'{"path":"layer-0/kernel","layout":"IO"}' ]
	[ "$(apr-get dense/bias m.apr | od -An -tf4 -v | xargs)" = "-1 -0.875 -0.75 -0.625" ]
	cmp <(apr-get dense/kernel m.apr) <(apr-get dense/kernel frozen.pb)
	apr-stats saved | grep 'dense/kernel.* F32 .* 12 '
	apr-check saved | grep '^0 errors'
	try apr-header --json saved/variables/variables.index
	jq -e '.format == "tensorflow" and .form == "checkpoint" and .checksum' "$out"
	try apr-header --json saved
	jq -e '.form == "SavedModel" and .tensors == 2 and .data_files == 1' "$out"
}

@test "TensorFlow: a frozen graph from a file and a pipe" {
	tensorflow_model .
	cmp <(apr-unpack frozen.pb) <(apr-unpack <frozen.pb)
	[ "$(apr-unpack frozen.pb | apr-header --json - | jq -c '[.tensors, .files[][0]]')" = \
		'[1,"tensorflow.graph"]' ]
}

@test "TensorFlow: files of values are found by their names, and only in the folder" {
	tensorflow_model .
	try apr-unpack <saved/variables/variables.index
	[ "$status" -eq 4 ]
	grep 'cannot be found from a pipe (E001)' "$err"
	mv saved/variables/variables.data-00000-of-00001 away
	try apr-unpack -o new saved
	[ "$status" -eq 3 ]
	grep 'saved/variables/variables.data-00000-of-00001: cannot be opened' "$err"
	ln -s ../../away saved/variables/variables.data-00000-of-00001
	try apr-unpack -o new saved
	[ "$status" -eq 4 ]
	grep 'is a link, which is not followed' "$err"
	rm saved/variables/variables.data-00000-of-00001
	LC_ALL=C sed 's/\xbf/\xbe/' away >saved/variables/variables.data-00000-of-00001
	cmp -s away saved/variables/variables.data-00000-of-00001 && return 1
	try apr-unpack -o new saved
	[ "$status" -eq 4 ]
	grep 'whose checksum (CRC-32C) is wrong (E004)' "$err"
	[ ! -e new ]
}

# bats test_tags=repeats
@test "TensorFlow: 256 MiB of values in constant memory" {
	tensorflow_model . 256
	pipe 'peak unpack apr-unpack large.index >/dev/null'
	[ "$(cat unpack)" -lt 32768 ] || fail "$(cat unpack) KiB"
}
