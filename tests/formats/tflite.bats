# Files of TensorFlow Lite: real ones, and where they lead. Hostile ones: t_tflite.
load ../helper

@test "TensorFlow Lite: a quantized model from a file and a pipe, with its scales" {
	need_data
	local file=$APR_TEST_DATA/import/tflite/micro_speech/micro_speech_quantized.tflite
	cd "$BATS_TEST_TMPDIR" || return
	try apr-unpack "$file"
	[ "$status" -eq 0 ]
	[ "$(cat "$err")" = "apr-unpack: left out: 4 operators" ]
	cmp "$out" <(apr-unpack 2>/dev/null <"$file")
	pipe "apr-pack -t gguf -o m.gguf '$out'"
	cmp <(apr-get final_fc_weights/read/transpose m.gguf) \
		<(apr-get final_fc_weights/read/transpose "$file" 2>/dev/null)
	[ "$(apr-meta get tflite.tensors m.gguf |
		jq -c '."first_weights/read" | [.axis, .layout, (.scale | length)]')" = '[3,"1HWO",8]' ]
	apr-header --json m.gguf | jq -e '.metadata[] | select(.[0] == "tflite.graph.inputs")[2] ==
		["Reshape_1: INT8 [1, 1960], scale 0.101715684, zero point -128"]'
}
