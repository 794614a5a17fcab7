# apr-adapt: model folders and the GGUF files that llama.cpp's converter makes of them
load ../helper

# Whole files are compared. Where the reference's bytes depend on its libraries, the content
# is compared with what is known to differ left out:
#   llama3, llama-w4a16   rope_freqs.weight: single precision (t_adapt_tensors compares it)
#   mamba                 ssm_a, for the same reason
#   cohere                the order of tokenizer.chat_templates
#   phi2                  the order of keys

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	data=$APR_TEST_DATA/convert
}

# The folder of a case: in the checkout, or in the reference data.
case_folder() {
	folder=$root/tests/data/convert/$1
	[ -d "$folder" ] || folder=$data/$1
	[ -d "$folder/hf" ] || skip "no reference data in $data"
}

# Keys and digests of tensors, sorted, without the names that match $1.
content() {
	apr-header "$2" | sed -n '/^metadata/,$p' | sed 's/  */ /g' | grep -Ev "$1" | sort
	apr-sum "$2" | grep '  tensor  ' | grep -Ev "$1" | sort -k 3
}

# A folder becomes the reference's file.
becomes() {
	case_folder "$1"
	apr-adapt --no-record gguf "$folder/hf" | apr-pack -t gguf -o got.gguf
	if [ -z "${2:-}" ]; then
		cmp got.gguf "$folder/expected.gguf"
	else
		diff <(content "$2" got.gguf) <(content "$2" "$folder/expected.gguf")
	fi
	# From a pipe the order of tensors may differ.
	apr-unpack "$folder/hf" | apr-adapt --no-record gguf | apr-pack -f -t gguf -o piped.gguf
	diff <(content '^$' piped.gguf) <(content '^$' got.gguf)
}

# A folder comes back from GGUF: tensors byte for byte, and the configuration. $2: the type
# that holds all values.
returns() {
	case_folder "$1"
	apr-adapt --type "$2" gguf "$folder/hf" | apr-pack -t gguf -o there.gguf
	apr-adapt hf there.gguf | apr-pack -t safetensors -o back/
	diff <(apr-sum back | grep '  tensor  ' | sort) \
		<(apr-sum "$folder/hf" | grep '  tensor  ' | sort)
	# And GGUF from there, apart from the name of the folder.
	apr-adapt --type "$2" gguf back/ | apr-pack -t gguf -o again.gguf
	diff <(apr-sum again.gguf | grep '  tensor  ') <(apr-sum there.gguf | grep '  tensor  ')
	runs_alike "$1"
}

# logits OPTION… MODEL: what apr-run computes of a text, whatever its vocabulary is.
logits() {
	try apr-run --logits --tokens 1,5,9,20,33,47,60,71,88,90,101,150 "$@"
}

# apr-run computes the same logits of the folder as of there.gguf, bit for bit, or refuses both
# for the same reason. Each form has its own GELU by default.
runs_alike() {
	local model option=() refused=()
	case $1 in
	bert* | *roberta | deepseek? | falcon | gptoss | mamba | t5)
		refused=(4 'is not supported: it needs ') ;;
	llama2-hf) refused=(5 'is NaN: weights are not finite') ;; # in two tensors
	gemma?) return 0 ;; # has a test of its own
	gpt2 | gptneox | phi2 | starcoder2) option=(--gelu table) ;;
	esac
	for model in "$folder/hf" there.gguf; do
		logits "${option[@]}" "$model"
		if [ ${#refused[@]} -gt 0 ]; then
			said "${refused[@]}"
		else
			[ "$status" -eq 0 ] || fail "$(cat "$err")"
			[ ! -e logits ] || cmp logits "$out"
			mv "$out" logits
		fi
	done
}

@test "a pipe carries the name of a folder, for models that state none" {
	case_folder qwen3
	cp -r "$folder/hf" Tiny-Thing
	apr-unpack Tiny-Thing/ | apr-quant q8_0 >q.aprs
	apr-adapt gguf q.aprs | apr-pack -t gguf -o q.gguf
	[ "$(apr-meta get general.name q.gguf)" = 'Tiny Thing' ]
	[ "$(apr-meta get general.name <(apr-adapt gguf - <q.aprs))" = 'Tiny Thing' ]
	# A file does not have it, and a signature does not cover it.
	apr-pack -o q.apr q.aprs
	apr-unpack q.apr | apr-adapt gguf >no-name.aprs
	try apr-meta get general.name no-name.aprs
	said 1 'has no key general.name'
	apr-keygen -W -o key 2>/dev/null
	apr-sign key q.aprs | apr-verify key.pub | apr-adapt gguf >no-name.aprs
	try apr-meta get general.name no-name.aprs
	said 1 'has no key general.name'
}

@test "bert becomes the GGUF file of the reference" {
	becomes bert
}

@test "bert-vocabtxt becomes the GGUF file of the reference" {
	becomes bert-vocabtxt
}

@test "cohere becomes the GGUF file of the reference" {
	becomes cohere 'chat_templates'
}

@test "deepseek2 becomes the GGUF file of the reference" {
	becomes deepseek2
}

@test "deepseek3 becomes the GGUF file of the reference" {
	becomes deepseek3
}

@test "falcon becomes the GGUF file of the reference" {
	becomes falcon
}

@test "gemma2 becomes the GGUF file of the reference (CHECK-089)" {
	becomes gemma2
}

@test "gemma3 becomes the GGUF file of the reference" {
	becomes gemma3
}

@test "gpt2 becomes the GGUF file of the reference" {
	becomes gpt2
}

@test "gptneox becomes the GGUF file of the reference" {
	becomes gptneox
}

@test "gptoss becomes the GGUF file of the reference" {
	becomes gptoss
}

@test "granite becomes the GGUF file of the reference" {
	becomes granite
}

@test "llama-w4a16 becomes the GGUF file of the reference" {
	becomes llama-w4a16 'rope_freqs'
}

@test "llama2 becomes the GGUF file of the reference (CHECK-061)" {
	becomes llama2
}

@test "llama2-hf becomes the GGUF file of the reference" {
	becomes llama2-hf
}

@test "llama2-old becomes the GGUF file of the reference" {
	becomes llama2-old
}

@test "llama3 becomes the GGUF file of the reference (CHECK-088)" {
	becomes llama3 'rope_freqs'
}

@test "mamba becomes the GGUF file of the reference" {
	becomes mamba 'ssm_a'
}

@test "mistral becomes the GGUF file of the reference" {
	becomes mistral
}

@test "mixtral becomes the GGUF file of the reference" {
	becomes mixtral
}

@test "nemotron becomes the GGUF file of the reference" {
	becomes nemotron
}

@test "olmo2 becomes the GGUF file of the reference" {
	becomes olmo2
}

@test "phi2 becomes the GGUF file of the reference" {
	becomes phi2 '^$'
}

@test "phi3 becomes the GGUF file of the reference" {
	becomes phi3
}

@test "qwen2 becomes the GGUF file of the reference" {
	becomes qwen2
}

@test "qwen2moe becomes the GGUF file of the reference" {
	becomes qwen2moe
}

@test "qwen3 becomes the GGUF file of the reference" {
	becomes qwen3
}

@test "qwen3-fp8 becomes the GGUF file of the reference" {
	becomes qwen3-fp8
}

@test "qwen3moe becomes the GGUF file of the reference" {
	becomes qwen3moe
}

@test "roberta becomes the GGUF file of the reference" {
	becomes roberta
}

@test "smollm3 becomes the GGUF file of the reference" {
	becomes smollm3
}

@test "stablelm becomes the GGUF file of the reference" {
	becomes stablelm
}

@test "starcoder2 becomes the GGUF file of the reference" {
	becomes starcoder2
}

@test "t5 becomes the GGUF file of the reference" {
	becomes t5
}

@test "xlmroberta becomes the GGUF file of the reference" {
	becomes xlmroberta
}

@test "bert comes back from GGUF" {
	returns bert f32
}

@test "bert-vocabtxt comes back from GGUF" {
	returns bert-vocabtxt f32
}

@test "cohere comes back from GGUF" {
	returns cohere f16
}

@test "deepseek2 comes back from GGUF" {
	returns deepseek2 bf16
}

@test "deepseek3 comes back from GGUF" {
	returns deepseek3 bf16
}

@test "falcon comes back from GGUF" {
	returns falcon bf16
}

@test "gemma2 comes back from GGUF" {
	returns gemma2 bf16
}

@test "gemma3 comes back from GGUF" {
	returns gemma3 bf16
}

@test "gpt2 comes back from GGUF" {
	returns gpt2 f32
}

@test "gptneox comes back from GGUF" {
	returns gptneox f16
}

@test "granite comes back from GGUF" {
	returns granite bf16
}

@test "llama2 comes back from GGUF" {
	returns llama2 f16
}

@test "llama2-hf comes back from GGUF" {
	returns llama2-hf f32
}

@test "llama2-old comes back from GGUF" {
	returns llama2-old f16
}

@test "llama3 comes back from GGUF" {
	returns llama3 bf16
}

@test "mamba comes back from GGUF" {
	returns mamba f32
}

@test "mistral comes back from GGUF" {
	returns mistral bf16
}

@test "mixtral comes back from GGUF" {
	returns mixtral bf16
}

@test "nemotron comes back from GGUF" {
	returns nemotron bf16
}

@test "olmo2 comes back from GGUF" {
	returns olmo2 f32
}

@test "phi2 comes back from GGUF" {
	returns phi2 f16
}

@test "phi3 comes back from GGUF" {
	returns phi3 bf16
}

@test "qwen2 comes back from GGUF" {
	returns qwen2 bf16
}

@test "qwen2moe comes back from GGUF" {
	returns qwen2moe bf16
}

@test "qwen3 comes back from GGUF" {
	returns qwen3 bf16
}

@test "qwen3moe comes back from GGUF" {
	returns qwen3moe bf16
}

@test "roberta comes back from GGUF" {
	returns roberta f32
}

@test "smollm3 comes back from GGUF" {
	returns smollm3 bf16
}

@test "stablelm comes back from GGUF" {
	returns stablelm f16
}

@test "starcoder2 comes back from GGUF" {
	returns starcoder2 f32
}

@test "t5 comes back from GGUF" {
	returns t5 f32
}

@test "xlmroberta comes back from GGUF" {
	returns xlmroberta f16
}

@test "gptoss comes back with its blocks and scales" {
	returns gptoss auto
	cmp back/config.json "$folder/hf/config.json"
	# From a pipe, and from a GGUF file without a record of its folder.
	apr-unpack there.gguf | apr-adapt hf | apr-sum | grep '  tensor  ' | sort |
		diff - <(apr-sum "$folder/hf" | grep '  tensor  ' | sort)
	apr-adapt --no-record gguf "$folder/hf" | apr-pack -t gguf -o bare.gguf
	apr-adapt hf bare.gguf | apr-pack -t safetensors -o bare/
	[ "$(jq -r .quantization_config.quant_method bare/config.json)" = mxfp4 ]
	apr-adapt --no-record gguf bare/ | apr-sum | grep '  tensor  ' |
		diff - <(apr-sum bare.gguf | grep '  tensor  ')
	# Decoded, it is a folder without packing.
	apr-quant bf16 there.gguf | apr-adapt hf | apr-pack -t safetensors -o plain/
	[ "$(jq .quantization_config plain/config.json)" = null ]
	apr-header -l plain | grep -q 'experts.gate_up_proj  *BF16 '
	# Another form has no such tensors.
	try apr-adapt apr there.gguf
	said 4 'has type MXFP4, which model folders do not have'
}

@test "gptoss is imported in the form that the message names" {
	case_folder gptoss
	try apr-adapt apr "$folder/hf"
	said 4 'apr-adapt: model.layers.0.mlp.experts.down_proj.weight: has type MXFP4, which model folders and files with their names do not have (E001)'
	said 4 'hint: the form gguf keeps its blocks: apr import --form gguf, or apr-adapt gguf'
	apr import --form gguf "$folder/hf" -o m.apr
	apr-header -l m.apr | grep 'ffn_down_exps.weight *MXFP4 '
}

@test "folders that were packed come back as folders that are not" {
	local name
	for name in qwen3-fp8 llama-w4a16; do
		case_folder $name
		jq -e .quantization_config "$folder/hf/config.json" >/dev/null
		apr-adapt gguf "$folder/hf" | apr-pack -f -t gguf -o there.gguf
		apr-adapt hf there.gguf | apr-pack -f -t safetensors -o "$name/"
		[ "$(jq .quantization_config $name/config.json)" = null ]
		diff <(apr-adapt gguf $name/ | apr-sum | grep '  tensor  ') \
			<(apr-sum there.gguf | grep '  tensor  ')
	done
}

# Routers of experts are F32 in GGUF, and not in folders; rows of queries and keys have another
# order; two of these have factors of positions, or blocks without positions.
@test "a folder has the logits of its GGUF file at every level, with every type of cache" {
	local name level cache all
	read -ra all < <(levels)
	for name in qwen3moe mixtral llama3 smollm3; do
		case_folder "$name"
		apr-adapt gguf "$folder/hf" | apr-pack -f -t gguf -o there.gguf
		for level in "${all[@]}"; do
			for cache in f16 q8_0; do
				APR_CPU=$level logits --cache $cache there.gguf
				mv "$out" of_gguf
				APR_CPU=$level logits --cache $cache "$folder/hf"
				cmp of_gguf "$out" && [ -s "$out" ] || fail "$name: $level: $cache"
			done
		done
	done
}

@test "gemma: a scale of scores that GGUF cannot hold is noted, and changes logits" {
	local name
	for name in gemma2 gemma3; do
		case_folder $name
		rm -rf own
		cp -r "$folder/hf" own
		chmod -R u+w own
		jq '.query_pre_attn_scalar = .head_dim' "$folder/hf/config.json" >own/config.json
		try apr-adapt gguf own/
		quiet
		mv "$out" own.aprs
		logits --gelu table own/
		mv "$out" of_folder
		logits own.aprs
		cmp of_folder "$out"
		try apr-adapt gguf "$folder/hf"
		grep -qxF 'apr-adapt: config.json: query_pre_attn_scalar 256 has no key in GGUF, whose readers use 32: the GGUF file answers differently from the folder' "$err"
		logits --gelu table "$folder/hf"
		if cmp -s of_folder "$out"; then fail "$name: another scale has other logits"; fi
	done
}

@test "--gelu: folders compute it as PyTorch does, GGUF files as GGML does, and both as asked" {
	local name type vocabulary gelu
	PATH=$PATH:$APR_GEN
	for name in gptneox:f16:388 starcoder2:f32:381; do
		IFS=: read -r name type vocabulary <<<"$name"
		case_folder "$name"
		apr-adapt --type "$type" gguf "$folder/hf" | apr-pack -f -t gguf -o there.gguf
		for gelu in table tanh erf; do
			logits --gelu $gelu there.gguf
			mv "$out" gguf.$gelu
			logits --gelu $gelu "$folder/hf"
			[ -s "$out" ] && cmp "$out" gguf.$gelu
		done
		logits there.gguf
		cmp "$out" gguf.table
		logits "$folder/hf"
		case $name in # as hidden_act says
		gptneox) cmp "$out" gguf.erf ;;
		*) cmp "$out" gguf.tanh ;;
		esac
		nearlogits "$out" gguf.table "$vocabulary" 2e-3
		if nearlogits "$out" gguf.table "$vocabulary" 1e-6; then fail "$name"; fi
	done
	case_folder qwen3
	logits --gelu erf "$folder/hf"
	grep -qxF 'apr-run: this model does not have GELU, so another way to compute it changes nothing' "$err"
	try apr-run --gelu tan -p x "$folder/hf"
	said 2 '--gelu is table, tanh or erf, not tan'
}
