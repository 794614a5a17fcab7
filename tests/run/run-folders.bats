# apr-run: the same models as folders, whose names, rows and numbers are other ones
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

# The common rules; what an architecture has of its own stands before them.
common() {
	cat <<-'END'
		token_embd.weight model.embed_tokens.weight
		output.weight lm_head.weight
		output_norm.weight model.norm.weight
		blk.#.attn_norm.weight model.layers.#.input_layernorm.weight
		blk.#.attn_q.weight model.layers.#.self_attn.q_proj.weight
		blk.#.attn_k.weight model.layers.#.self_attn.k_proj.weight
		blk.#.attn_v.weight model.layers.#.self_attn.v_proj.weight
		blk.#.attn_q.bias model.layers.#.self_attn.q_proj.bias
		blk.#.attn_k.bias model.layers.#.self_attn.k_proj.bias
		blk.#.attn_v.bias model.layers.#.self_attn.v_proj.bias
		blk.#.attn_q_norm.weight model.layers.#.self_attn.q_norm.weight
		blk.#.attn_k_norm.weight model.layers.#.self_attn.k_norm.weight
		blk.#.attn_qkv.weight model.layers.#.self_attn.qkv_proj.weight
		blk.#.attn_output.weight model.layers.#.self_attn.o_proj.weight
		blk.#.ffn_norm.weight model.layers.#.post_attention_layernorm.weight
		blk.#.ffn_gate.weight model.layers.#.mlp.gate_proj.weight
		blk.#.ffn_up.weight model.layers.#.mlp.up_proj.weight
		blk.#.ffn_down.weight model.layers.#.mlp.down_proj.weight
		blk.#.ffn_gate_inp.weight model.layers.#.mlp.gate.weight
		blk.#.ffn_gate_exps.weight model.layers.#.mlp.experts.*.gate_proj.weight split
		blk.#.ffn_up_exps.weight model.layers.#.mlp.experts.*.up_proj.weight split
		blk.#.ffn_down_exps.weight model.layers.#.mlp.experts.*.down_proj.weight split
		blk.#.ffn_gate_inp_shexp.weight model.layers.#.mlp.shared_expert_gate.weight
		blk.#.ffn_gate_shexp.weight model.layers.#.mlp.shared_expert.gate_proj.weight
		blk.#.ffn_up_shexp.weight model.layers.#.mlp.shared_expert.up_proj.weight
		blk.#.ffn_down_shexp.weight model.layers.#.mlp.shared_expert.down_proj.weight
	END
}

# folder FILE CONFIG, rules on standard input: a model folder of a GGUF file.
folder() {
	rm -rf folder
	mkdir folder
	apr-unpack "$1" | apr-pack -t safetensors >plain.safetensors
	{ cat; common; } | hffolder plain.safetensors folder/model.safetensors
	printf '%s' "{\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":${shared:-2},
		\"max_position_embeddings\":256,\"vocab_size\":1024,$2}" >folder/config.json
}

# same FILE LIMIT: the folder has the logits of the recording beside FILE.
same() {
	local of=${1%.gguf}
	try apr-run --tokens "$(sed 's/.*"tokens": \[\([^]]*\)\].*/\1/' "$of.json")" --logits \
		--cache f32 folder
	[ "$status" -eq 0 ] || fail "$1:" "$(cat "$err")" || return
	nearlogits "$out" "$of.logits.f32" 1024 "$2" >near || fail "$1: $(cat near)"
}

rms='"rms_norm_eps":1e-6,"num_hidden_layers":2'
here=$root/tests/data/arch

@test "folder: Qwen2 with experts, a shared one and biases" {
	folder "$here/qwen2moe.gguf" "$rms,\"model_type\":\"qwen2_moe\",\"num_experts\":4,
		\"num_experts_per_tok\":2,\"moe_intermediate_size\":64,\"norm_topk_prob\":false,
		\"shared_expert_intermediate_size\":128,\"rope_theta\":10000" </dev/null
	same "$here/qwen2moe.gguf" 1e-3
}

# GELU comes from a table of halves for GGUF files only: hence the limits.
@test "folder: GPT-NeoX, whose heads have query, key and value one after another" {
	sed 's/$/ mix 16/' >qkv <<-'END'
		blk.#.attn_qkv.weight gpt_neox.layers.#.attention.query_key_value.weight
		blk.#.attn_qkv.bias gpt_neox.layers.#.attention.query_key_value.bias
	END
	for kind in weight bias; do
		cat <<-END
			output_norm.$kind gpt_neox.final_layer_norm.$kind
			blk.#.attn_norm.$kind gpt_neox.layers.#.input_layernorm.$kind
			blk.#.attn_output.$kind gpt_neox.layers.#.attention.dense.$kind
			blk.#.ffn_norm.$kind gpt_neox.layers.#.post_attention_layernorm.$kind
			blk.#.ffn_up.$kind gpt_neox.layers.#.mlp.dense_h_to_4h.$kind
			blk.#.ffn_down.$kind gpt_neox.layers.#.mlp.dense_4h_to_h.$kind
		END
	done >rest
	{
		echo token_embd.weight gpt_neox.embed_in.weight
		echo output.weight embed_out.weight
		cat qkv rest
	} >rules
	shared=4
	config='"model_type":"gpt_neox","num_hidden_layers":2,"layer_norm_eps":1e-5,'
	config+='"rotary_pct":0.25,"hidden_act":"gelu_new","intermediate_size":128'
	folder "$here/gptneox.gguf" "$config,\"use_parallel_residual\":true" <rules
	same "$here/gptneox.gguf" 5e-3
	# The exact form of GELU, and blocks one after the other, are something else.
	folder "$here/gptneox.gguf" "${config/_new/},\"use_parallel_residual\":true" <rules
	if same "$here/gptneox.gguf" 1e-4; then fail "that changes nothing"; fi
	folder "$here/gptneox.gguf" "$config,\"use_parallel_residual\":false" <rules
	if same "$here/gptneox.gguf" 0.1; then fail "that changes nothing"; fi
}

gemma_rules() {
	cat <<-'END'
		output_norm.weight model.norm.weight minus1
		blk.#.attn_norm.weight model.layers.#.input_layernorm.weight minus1
		blk.#.attn_q_norm.weight model.layers.#.self_attn.q_norm.weight minus1
		blk.#.attn_k_norm.weight model.layers.#.self_attn.k_norm.weight minus1
		blk.#.post_attention_norm.weight model.layers.#.post_attention_layernorm.weight minus1
		blk.#.ffn_norm.weight model.layers.#.pre_feedforward_layernorm.weight minus1
		blk.#.post_ffw_norm.weight model.layers.#.post_feedforward_layernorm.weight minus1
	END
}

@test "folder: Gemma 2, whose norms are stored less one" {
	gemma_rules | folder "$here/gemma2.gguf" "$rms,\"model_type\":\"gemma2\",
		\"head_dim\":32,\"query_pre_attn_scalar\":32,\"attn_logit_softcapping\":50.0,
		\"final_logit_softcapping\":30.0,\"sliding_window\":8,
		\"hidden_activation\":\"gelu_pytorch_tanh\""
	same "$here/gemma2.gguf" 5e-3
}

@test "folders of the other architectures" {
	need_data
	there=$APR_TEST_DATA/models/arch
	: >none
	folder "$there/qwen2.gguf" "$rms,\"model_type\":\"qwen2\",\"rope_theta\":1000000.0,
		\"use_sliding_window\":false,\"sliding_window\":8" <none
	same "$there/qwen2.gguf" 1e-3
	folder "$there/qwen3.gguf" "$rms,\"model_type\":\"qwen3\",\"rope_theta\":1000000.0,
		\"head_dim\":32" <none
	same "$there/qwen3.gguf" 1e-3
	folder "$there/qwen3moe.gguf" "$rms,\"model_type\":\"qwen3_moe\",\"head_dim\":32,
		\"num_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":64,
		\"norm_topk_prob\":true" <none
	same "$there/qwen3moe.gguf" 1e-3
	echo 'blk.#.ffn_up.weight model.layers.#.mlp.gate_up_proj.weight' |
		folder "$there/phi3.gguf" "$rms,\"model_type\":\"phi3\",\"sliding_window\":8"
	same "$there/phi3.gguf" 1e-3
	gemma_rules | folder "$there/gemma3.gguf" "\"rms_norm_eps\":1e-6,
		\"num_hidden_layers\":7,\"model_type\":\"gemma3_text\",\"head_dim\":32,
		\"query_pre_attn_scalar\":32,\"sliding_window\":8,\"rope_theta\":1000000.0,
		\"rope_local_base_freq\":10000.0"
	same "$there/gemma3.gguf" 5e-3
	cat >llama <<-'END'
		blk.#.attn_q.weight model.layers.#.self_attn.q_proj.weight halves 16
		blk.#.attn_k.weight model.layers.#.self_attn.k_proj.weight halves 16
	END
	folder "$there/llama-tied.gguf" "$rms,\"model_type\":\"llama\",
		\"tie_word_embeddings\":true" <llama
	same "$there/llama-tied.gguf" 1e-3
	sed 's/\.mlp\.gate/.block_sparse_moe.gate/; s/\.mlp\.experts/.block_sparse_moe.experts/
		s/gate_proj/w1/; s/down_proj/w2/; s/up_proj/w3/' <(common) | grep 'ffn_.*block' |
		cat llama - |
		folder "$there/mixtral.gguf" "$rms,\"model_type\":\"mixtral\",\"num_local_experts\":4,
			\"num_experts_per_tok\":2,\"intermediate_size\":128"
	same "$there/mixtral.gguf" 1e-3
	# Mistral is LLaMA, with a window if it says so.
	folder "$there/llama-tied.gguf" "$rms,\"model_type\":\"mistral\",
		\"sliding_window\":null" <llama
	same "$there/llama-tied.gguf" 1e-3
	folder "$there/llama-tied.gguf" "$rms,\"model_type\":\"mistral\",
		\"sliding_window\":8" <llama
	if same "$there/llama-tied.gguf" 1e-3; then fail "that changes nothing"; fi
}

# What existing software writes into its .apr files: members of JSON beside others.
apr_keys() {
	local pair
	for pair in "architecture \"$1\"" 'hidden_size 8' 'num_layers 1' 'num_heads 2' \
		'num_kv_heads 1' 'vocab_size 16' 'intermediate_size 12' \
		'max_position_embeddings 32' 'rms_norm_eps 1e-05' 'rope_theta 10000.0' \
		'name null' "${@:2}"; do
		echo "key apr.json.${pair%% *} string ${pair#* }"
	done
}

# The tensors of a block, with the names of GGUF.
tiny_tensors() {
	cat <<-'END'
		tensor token_embd.weight F32 16x8 noise
		tensor output_norm.weight F32 8 values 1
		tensor output.weight F32 16x8 noise
		tensor blk.0.attn_norm.weight F32 8 values 1
		tensor blk.0.attn_q.weight F32 8x8 noise
		tensor blk.0.attn_k.weight F32 4x8 noise
		tensor blk.0.attn_v.weight F32 4x8 noise
		tensor blk.0.attn_output.weight F32 8x8 noise
		tensor blk.0.ffn_norm.weight F32 8 values 1
		tensor blk.0.ffn_gate.weight F32 12x8 noise
		tensor blk.0.ffn_up.weight F32 12x8 noise
		tensor blk.0.ffn_down.weight F32 8x12 noise
	END
}

@test "the metadata of .apr files of existing software" {
	ask=(apr-run --tokens 1,2,3,4 --logits --json)
	for name in llama qwen2; do
		{
			cat <<-END
				key general.architecture string $name
				key $name.block_count u32 1
				key $name.context_length u32 32
				key $name.embedding_length u32 8
				key $name.attention.head_count u32 2
				key $name.attention.head_count_kv u32 1
				key $name.attention.layer_norm_rms_epsilon f32 1e-5
			END
			tiny_tensors
		} | mkmodel >$name.gguf
		"${ask[@]}" $name.gguf >$name.want
	done
	if cmp -s llama.want qwen2.want; then fail "both turn alike"; fi
	{ apr_keys llama 'rope_type 0'; tiny_tensors; } | mkmodel | apr-unpack |
		apr-pack -t apr2-64 >m.apr
	"${ask[@]}" m.apr | cmp - llama.want
	{ apr_keys llama 'rope_type 2'; tiny_tensors; } | mkmodel >m.gguf
	"${ask[@]}" m.gguf | cmp - qwen2.want
	# With the names of folders.
	{ apr_keys qwen2; tiny_tensors; } | sed 's/token_embd/model.embed_tokens/
		s/output_norm/model.norm/; s/ output\./ lm_head./; s/blk.0/model.layers.0/
		s/attn_norm/input_layernorm/; s/ffn_norm/post_attention_layernorm/
		s/attn_output/self_attn.o_proj/; s/attn_\([qkv]\)/self_attn.\1_proj/
		s/ffn_\([a-z]*\)/mlp.\1_proj/' | mkmodel | apr-unpack | apr-pack -t apr2-64 >m.apr
	"${ask[@]}" m.apr | cmp - qwen2.want
	{ apr_keys llama; tiny_tensors; } | mkmodel >m.gguf
	try "${ask[@]}" m.gguf
	said 4 'does not say how positions turn its heads: rope_type is missing'
	{ apr_keys llama 'rope_type 1'; tiny_tensors; } | mkmodel >m.gguf
	try "${ask[@]}" m.gguf
	said 4 'rope_type is neither 0 nor 2'
	{ apr_keys mamba 'rope_type 0'; tiny_tensors; } | mkmodel >m.gguf
	try "${ask[@]}" m.gguf
	said 4 'architecture mamba is not supported'
}
