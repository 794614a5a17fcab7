# apr-adapt: the form of another program
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cases=$root/tests/data/convert
}

# Copies the folder of a case, to be changed.
copy() {
	cp -r "$cases/$1/hf" folder
	chmod -R u+w folder
}

@test "apr-adapt passes the exam" {
	exam filter apr-adapt gguf
}

@test "wrong usage" {
	try apr-adapt
	said 2 'a form is missing'
	try apr-adapt onnx
	said 2 'onnx is not a form'
	try apr-adapt --type q4_0 gguf "$cases/gpt2/hf"
	said 2 'apr-quant gives others'
	try apr-adapt --type f16 hf "$cases/gpt2/expected.gguf"
	said 2 '--type needs the form gguf'
}

@test "a model in the form already passes unchanged, and its signature holds" {
	apr-keygen -W -o key 2>/dev/null
	apr-sign key "$cases/gpt2/expected.gguf" >signed 2>/dev/null
	apr-adapt gguf signed >same 2>"$err"
	cmp same signed
	grep -q 'already has this form' "$err"
	apr-adapt hf signed >other 2>"$err"
	grep -q 'its signature, which was not verified, is dropped' "$err"
	apr-header other >"$out"
	grep -qx 'signatures        0' "$out"
	grep -qx 'provenance        1 (claims)' "$out"
}

@test "an unknown architecture is named, with the nearest one (CHECK-078)" {
	copy gpt2
	sed -i 's/"gpt2"/"gpt3"/' folder/config.json
	try apr-adapt gguf folder
	said 1 'architecture gpt3 is not known; --arch takes llama, mistral, '
	grep -q ', gpt2, .*, whisper$' "$err"
	grep -q 'the nearest known one is gpt2' "$err"
	apr-adapt --arch gpt2 --no-record gguf folder | apr-sum | grep '  tensor  ' >got
	apr-adapt --no-record gguf "$cases/gpt2/hf" | apr-sum | grep '  tensor  ' | diff - got
	try apr-adapt --arch nothing gguf folder
	said 1 'architecture nothing is not known'
}

@test "a tensor that is unknown, missing, or of another shape (CHECK-080)" {
	apr-unpack "$cases/gpt2/hf" | apr-rename '^h\.1\.ln_2\.bias$=h.1.other.bias' >renamed
	try apr-adapt gguf renamed
	said 5 'h.1.other.bias: UnknownTensor'
	apr-adapt --relaxed gguf renamed | apr-header -l | grep -q '^h.1.other.bias'
	apr-unpack --except '^h\.1\.ln_2\.' "$cases/gpt2/hf" >fewer
	try apr-adapt gguf fewer
	said 5 'h.1.ln_2.weight: MissingTensor'
	copy gpt2
	sed -i 's/"n_embd": 64/"n_embd": 32/' folder/config.json
	try apr-adapt gguf folder
	said 5 'ArchitectureMismatch'
}

@test "two tensors that would become one are an error" {
	apr-unpack "$cases/gpt2/hf" |
		apr-rename '^h\.1\.ln_2\.bias$=transformer.h.0.ln_2.bias' >twice
	try apr-adapt gguf twice
	said 5 'both become blk.0.ffn_norm.bias'
}

@test "quantized tensors: rows may be permuted, a folder needs values" {
	apr-unpack "$cases/gpt2/expected.gguf" | apr-quant --pure q8_0 >q 2>/dev/null
	try apr-adapt hf q
	said 4 'has type Q8_0, which model folders do not have'
	grep -q 'apr-quant' "$err"
}

@test "a folder keeps what GGUF does not have" {
	copy gpt2
	echo 'Use it well.' >folder/LICENSE
	apr-adapt gguf folder | apr-adapt hf | apr-pack -t safetensors -o back/
	cmp back/LICENSE folder/LICENSE
	diff <(json_sorted back/config.json) <(json_sorted folder/config.json)
}

# JSON on one line per member, sorted.
json_sorted() {
	tr -d ' \n' <"$1" | tr ',{}' '\n\n\n' | sort
}

@test "the form apr has canonical names" {
	apr-adapt apr "$cases/qwen3moe/hf" | apr-header -l >"$out"
	grep -q '^token_embedding ' "$out"
	grep -q '^layers.0.attn.q_proj.weight ' "$out"
	apr-adapt apr "$cases/qwen3moe/expected.gguf" | apr-header -l | cut -d ' ' -f 1 | sort |
		diff - <(cut -d ' ' -f 1 "$out" | sort)
}

@test "results do not depend on the number of threads" {
	apr-adapt -j 1 --type q8_0 gguf "$cases/qwen3moe/hf" >one
	apr-adapt -j 4 --type q8_0 gguf "$cases/qwen3moe/hf" >four
	cmp one four
}

# safetensors_head TEXT: a header.
safetensors_head() {
	local i
	for ((i = 0; i < 64; i += 8)); do
		printf "\\x$(printf %02x $((${#1} >> i & 255)))"
	done
	printf %s "$1"
}

# safetensors_keys FILE N: the tensors of FILE with N keys.
safetensors_keys() {
	local head bytes
	bytes=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
	head=$(head -c $((8 + bytes)) "$1" | tail -c +9 |
		jq -c --argjson n "$2" '.__metadata__ = ([range($n) | {"k\(.)": "v"}] | add)')
	safetensors_head "$head"
	tail -c +$((9 + bytes)) "$1"
}

@test "the work for keys is not a square of their number" {
	local form
	copy gpt2
	safetensors_keys "$cases/gpt2/hf/model.safetensors" 250000 >folder/model.safetensors
	for form in gguf apr; do
		try_pipe "apr-unpack folder | apr-adapt $form >adapted"
		quiet
	done
	[ "$(apr-meta list adapted | grep -c '^  k[0-9]')" -eq 250000 ]
}

@test "a head that is FP8 is not compared with the embeddings" {
	local f8='"dtype":"F8_E4M3","shape":[8,4],"data_offsets"'
	local f32='"dtype":"F32","shape":[1],"data_offsets"'
	mkdir folder
	echo '{"model_type":"mamba","hidden_size":4,"vocab_size":8,"num_hidden_layers":1,
	"quantization_config":{"quant_method":"fp8"}}' >folder/config.json
	{
		safetensors_head '{"backbone.embeddings.weight":{'"$f8"':[0,32]},
		"backbone.embeddings.weight_scale_inv":{'"$f32"':[32,36]},
		"lm_head.weight":{'"$f8"':[36,68]},"lm_head.weight_scale_inv":{'"$f32"':[68,72]}}'
		head -c 72 /dev/zero
	} >folder/model.safetensors
	try apr-adapt gguf folder
	said 5 'MissingTensor'
	try_pipe 'apr-unpack folder | apr-adapt gguf'
	said 5 'MissingTensor'
}

@test "the work for side files is not a square of their number" {
	copy gpt2
	seq -f 'folder/f%06g.txt' 60000 | xargs touch
	apr-unpack folder >stream
	(ulimit -t 5 && apr-adapt gguf stream >adapted)
	grep -aq f060000.txt adapted
}
