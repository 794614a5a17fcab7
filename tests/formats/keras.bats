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
