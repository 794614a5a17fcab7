# Every input that a fuzzer found worth keeping, among them all that once broke
# something, through the property that its target demands (tests/fuzz/fuzz.h):
# in the build under test, and in one with sanitizers whose parsers accept wrong
# checksums, so that they get further. A build under test that has sanitizers itself
# does not repeat the latter.

load ../helper

APR_FUZZ=${APR_FUZZ:-$root/build/release/tests/fuzz}
trees=("$APR_FUZZ" "$root/build/replay/tests/fuzz")
sanitized=
if grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-unpack"; then
	sanitized=1 trees=("$APR_FUZZ")
fi
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=${APR_LEAKS:-1}

# A replay that ends before it has counted its files does not name any of them.
replayed() {
	local folder file replay
	for folder in "${trees[@]}"; do
		replay=$folder/replay_$1
		[ -x "$replay" ] || fail "no $replay: run make fuzz-replay" || return
		"$replay" "$root/tests/fuzz/corpus/$1" >"$out" 2>&1 && continue
		for file in "$root/tests/fuzz/corpus/$1"/*; do
			"$replay" "$file" >"$out" 2>&1 || fail "$replay $file" "$(cat "$out")" || return
		done
		fail "$replay: all files, but none alone" || return
	done
	grep -qE '^[1-9][0-9]* files$' "$out"
}

@test "fuzz corpus: GGUF" {
	replayed gguf
}

@test "fuzz corpus: APR2" {
	replayed apr2
}

@test "fuzz corpus: APR2 with a header of 64 bytes" {
	replayed apr64
}

@test "fuzz corpus: APR version 1" {
	replayed apr1
}

@test "fuzz corpus: stream" {
	replayed stream
}

@test "fuzz corpus: plan" {
	replayed plan
}

@test "fuzz corpus: tokenizers" {
	replayed tokenizer
}

@test "fuzz corpus: edits of metadata" {
	replayed meta
}

@test "fuzz corpus: structure of chat templates" {
	replayed jinja
}

@test "fuzz corpus: TOML" {
	replayed toml
}

@test "fuzz corpus: requests for texts" {
	replayed request
}

@test "fuzz corpus: GGUF in memory, without a system" {
	replayed bare
}

@test "fuzz corpus: files behind a program" {
	replayed payload
}

@test "fuzz corpus: adapters of low rank" {
	replayed lora
}

@test "fuzz corpus: tensors without their zeros" {
	replayed sparse
}

@test "fuzz corpus: tokens of two models, united" {
	replayed unite
}

@test "fuzz corpus: recipes of merges" {
	replayed recipe
}

@test "fuzz corpus: policies and lists of points" {
	replayed policy
}

@test "fuzz corpus: model cards" {
	replayed card
}

@test "fuzz corpus: metadata values" {
	replayed value
}

@test "fuzz corpus: codecs" {
	replayed codecs
}

@test "fuzz corpus: key files" {
	replayed keys
}

@test "fuzz corpus: sign frames" {
	replayed signature
}

@test "fuzz corpus: lists of digests, slices" {
	replayed manifest
}

@test "fuzz corpus: canaries, files of prompts" {
	replayed canary
}

@test "fuzz corpus: answers of a hub, addresses, sources" {
	replayed hub
}

@test "fuzz corpus: rules, maps and schemas for names" {
	replayed rename
}

@test "fuzz corpus: two models and a mapping of names" {
	replayed diff
}

@test "fuzz corpus: chat templates, policies, reports of findings" {
	replayed lint
}

@test "fuzz corpus: numbers of every type" {
	replayed numbers
}

@test "fuzz corpus: any bytes of any type into any other" {
	replayed kernels
}

@test "fuzz corpus: safetensors" {
	replayed safetensors
}

@test "fuzz corpus: what config.json and the list of tensors say" {
	replayed config
}

@test "fuzz corpus: maps of files that may be broken" {
	replayed outline
}

@test "fuzz corpus: folders" {
	replayed folder
}

@test "fuzz corpus: importance matrices" {
	replayed imatrix
}

@test "fuzz corpus: shards and their manifest" {
	replayed shards
}

@test "fuzz corpus: models that say something of two tokens" {
	replayed infer
}

@test "fuzz corpus: protobuf" {
	replayed protobuf
}

@test "fuzz corpus: the library as a program uses it" {
	replayed aprml
}

@test "fuzz corpus: what a program computes with the library" {
	replayed program
}

# Those of the corpus that have a name: they were written, not found.
starved() {
	local starve=$root/build/replay/tests/fuzz/starve_$1
	[ -z "$sanitized" ] || skip 'the same as without sanitizers'
	[ -x "$starve" ] || fail "no $starve: run make fuzz-replay" || return
	"$starve" "$root/tests/fuzz/corpus/$1"/*_* >"$out" 2>&1 || fail "$(cat "$out")" || return
	grep -qE '^[1-9][0-9]* runs$' "$out"
}

@test "memory runs out at each allocation: GGUF" {
	starved gguf
}

@test "memory runs out at each allocation: APR2" {
	starved apr2
}

@test "memory runs out at each allocation: APR2 with a header of 64 bytes" {
	starved apr64
}

@test "memory runs out at each allocation: APR version 1" {
	starved apr1
}

@test "memory runs out at each allocation: stream" {
	starved stream
}

@test "fuzz corpus: models that learn, and checkpoints" {
	replayed train
}

@test "fuzz corpus: each is replayed here" {
	for folder in "$root"/tests/fuzz/corpus/*; do
		grep -q "replayed $(basename "$folder")\$" "$BATS_TEST_FILENAME" || fail "$folder"
	done
}

@test "fuzz corpus: sealed models, stanzas, identities" {
	replayed seal
}

@test "fuzz corpus: zip" {
	replayed zip
}

@test "fuzz corpus: pickle" {
	replayed pickle
}

@test "fuzz corpus: PyTorch" {
	replayed torch
}

@test "fuzz corpus: GGML" {
	replayed ggml
}

@test "fuzz corpus: llama2.c" {
	replayed llama2c
}

@test "fuzz corpus: NumPy" {
	replayed numpy
}

@test "fuzz corpus: ONNX" {
	replayed onnx
}

@test "fuzz corpus: Keras" {
	replayed keras
}

@test "fuzz corpus: TensorFlow" {
	replayed tensorflow
}

@test "fuzz corpus: TensorFlow Lite" {
	replayed tflite
}

@test "fuzz corpus: Core ML" {
	replayed coreml
}

@test "fuzz corpus: Flax" {
	replayed flax
}

@test "fuzz corpus: APR1 with a JSON layout" {
	replayed aprjson
}

@test "fuzz corpus: what registries send" {
	replayed oci
}

@test "fuzz corpus: classical models" {
	replayed predict
}

@test "fuzz corpus: PMML" {
	replayed pmml
}

@test "fuzz corpus: decision trees as tensors" {
	replayed trees
}

@test "fuzz corpus: classical models as tensors" {
	replayed form
}

@test "fuzz corpus: payloads of APR version 1 as models" {
	replayed layouts
}

@test "fuzz corpus: networks of Keras" {
	replayed nets
}

@test "fuzz corpus: rows of a table" {
	replayed rows
}

@test "fuzz corpus: texts that a model learns" {
	replayed texts
}

@test "fuzz corpus: factors of low rank" {
	replayed lowrank
}

@test "fuzz corpus: models that a program writes, signs, seals and judges" {
	replayed api
}
