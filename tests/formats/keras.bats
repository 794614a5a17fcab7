# Files of Keras: real ones, and where they lead. Hostile ones: t_keras.
load ../helper

@test "Keras: a whole model from a file and a pipe, with its configuration" {
	need_data
	local file=$APR_TEST_DATA/import/keras/str_ww_ref_model.h5
	cd "$BATS_TEST_TMPDIR" || return
	try apr-unpack "$file"
	[ "$status" -eq 0 ]
	[ "$(cat "$err")" = "apr-unpack: left out: 37 tensors of the optimizer; --all reads them" ]
	cmp "$out" <(apr-unpack 2>/dev/null <"$file")
	pipe "apr-pack -t gguf -o m.gguf '$out'"
	cmp <(apr-get conv2d/kernel:0 m.gguf) <(apr-get conv2d/kernel:0 "$file" 2>/dev/null)
	[ "$(apr-meta get keras.tensors m.gguf | jq -c '."conv2d/kernel:0"')" = '{"layout":"HWIO"}' ]
	apr-meta get keras.model_config m.gguf | jq -e '.class_name == "Functional"'
}

@test "Keras: an archive, and the variables of its optimizer" {
	need_data
	local file=$APR_TEST_DATA/import/keras/mnist_ann_baseline.keras
	try apr-header --json "$file"
	[ "$status" -eq 0 ]
	jq -e '.format == "keras" and .form == "archive" and .tensors == 6' "$out"
	[ "$(apr-unpack --all "$file" | apr-header --json - | jq .tensors)" = 20 ]
}

@test "Keras: weights in several files are refused by name" {
	local file
	cd "$BATS_TEST_TMPDIR" || return
	echo '{"metadata":{},"weight_map":{"/layers/a/vars":"m_00000.weights.h5"}}' >one.weights.json
	echo '{"metadata":{},"weight_map":{"/layers/a/vars":["m_00000.weights.h5"]}}' >list.weights.json
	for file in one list; do
		try apr-unpack $file.weights.json
		said 4 'is the list of weights of Keras in several files, which is not read'
		grep -q '^hint: Model.save_weights' "$err"
	done
}
