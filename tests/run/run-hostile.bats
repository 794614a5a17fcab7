# apr-run: models that contradict their metadata
load ../helper
load tiny

# With experts in the place of its feed-forward.
tiny_experts() {
	tiny | grep -v 'ffn_[gud][a-z]*\.'
	cat <<-'END'
		key llama.expert_count u32 4
		key llama.expert_used_count u32 2
		tensor blk.0.ffn_gate_inp.weight F32 4x8 noise
		tensor blk.0.ffn_gate_exps.weight F32 4x12x8 noise
		tensor blk.0.ffn_up_exps.weight F32 4x12x8 noise
		tensor blk.0.ffn_down_exps.weight F32 4x8x12 noise
	END
}

# Keys go before tensors.
ask() {
	sort -s -k1,1 <<<"$1" | mkmodel >bad.gguf || fail "no model of it: $1" || return
	try apr-run --tokens 1,2,3 --logits --json "${@:2}" bad.gguf
}

# bad SED STATUS TEXT: the tiny model with that change is refused.
bad() {
	ask "$(${base:-tiny} | sed "$1")" || return
	said "$2" "$3" || fail "for $1"
}

@test "the tiny models are good" {
	ask "$(tiny)"
	quiet
	[ "$(wc -l <"$out")" -eq 3 ]
	ask "$(tiny_experts)"
	quiet
}

@test "keys that cannot be are refused by name" {
	while IFS=$'\t' read -r edit text; do
		bad "$edit" 4 "$text" || return
	done <<-'END'
		s/string llama/string mamba/	architecture mamba is not supported
		/architecture/d	does not say which architecture it has
		/block_count/d	key llama.block_count is missing
		s/block_count u32 1/block_count u32 0/	the number of blocks is invalid: 0
		s/block_count u32 1/block_count u32 4294967295/	the number of blocks is invalid: 4294967295
		s/block_count u32 1/block_count i32 -1/	key llama.block_count has an invalid value
		s/block_count u32 1/block_count string one/	key llama.block_count has an invalid value
		s/block_count u32 1/block_count u32 2/	tensor blk.1.attn_norm.weight is missing
		s/context_length u32 32/context_length u32 0/	the context length is invalid
		s/context_length u32 32/context_length u64 1099511627776/	the context length is invalid
		s/embedding_length u32 8/embedding_length u32 0/	the hidden size is invalid
		s/embedding_length u32 8/embedding_length u32 16/	has shape 16x8, where 16x16 is expected
		s/embedding_length u32 8/embedding_length u64 18446744073709551615/	does not divide by 2 heads
		s/head_count u32 2/head_count u32 0/	the number of heads is invalid: 0
		s/head_count u32 2/head_count u32 3/	a hidden size of 8 does not divide by 3 heads
		s/head_count u32 2/head_count u32 4294967295/	does not divide
		s/head_count_kv u32 1/head_count_kv u32 0/	2 heads do not share 0 keys
		s/head_count_kv u32 1/head_count_kv u32 3/	2 heads do not share 3 keys
		s/head_count_kv u32 1/head_count_kv u32 2/	has shape 4x8, where 8x8 is expected
		s/head_count_kv u32 1/head_count_kv array:u32 1 1/	key llama.attention.head_count_kv has an invalid value
		s/head_count_kv u32 1/head_count_kv array:u32/	key llama.attention.head_count_kv has an invalid value
		s/head_count_kv u32 1/head_count_kv array:i32 -1/	key llama.attention.head_count_kv has an invalid value
		s/head_count_kv u32 1/head_count_kv array:f32 1/	key llama.attention.head_count_kv has an invalid value
		s/head_count_kv u32 1/head_count_kv array:string x/	key llama.attention.head_count_kv has an invalid value
		s/head_count_kv u32 1/head_count_kv array:u32 *3000000/	key llama.attention.head_count_kv has an invalid value
		s/feed_forward_length u32 12/feed_forward_length u32 13/	has shape 12x8, where 13x8 is expected
		/epsilon/d	key llama.attention.layer_norm_rms_epsilon is missing
		s/epsilon f32 1e-5/epsilon f32 -1/	a scale, cap or epsilon is negative
		s/epsilon f32 1e-5/epsilon f32 nan/	a scale, cap or epsilon is negative
		1i key llama.rope.dimension_count u32 3	the number of rotary dimensions is invalid: 3
		1i key llama.rope.dimension_count u32 8	the number of rotary dimensions is invalid: 8
		1i key llama.rope.freq_base f32 0	a parameter of its rotary positions
		1i key llama.rope.freq_base f32 inf	a parameter of its rotary positions
		1i key llama.rope.scaling.type string dynamic	rope scaling dynamic is not supported
		1i key llama.rope.scaling.factor f32 -2	a parameter of its rotary positions
		1i key llama.attention.key_length u32 6	has shape 8x8, where 12x8 is expected
		1i key llama.attention.value_length u32 100000	the width of a head is invalid
		1i key llama.expert_count u32 4	of 4 experts, 0 cannot be used
		1i key llama.vocab_size u32 17	has shape 16x8, where 17x8 is expected
		1i key llama.logit_scale f32 2	a scale of logits (key llama.logit_scale) is not supported
	END
}

# The smallest GPT-2, which has learned positions.
tiny_gpt2() {
	cat <<-'END'
		key general.architecture string gpt2
		key gpt2.block_count u32 1
		key gpt2.context_length u32 32
		key gpt2.embedding_length u32 8
		key gpt2.feed_forward_length u32 12
		key gpt2.attention.head_count u32 2
		key gpt2.attention.layer_norm_epsilon f32 1e-5
		tensor token_embd.weight F32 16x8 noise
		tensor position_embd.weight F32 32x8 noise
		tensor output_norm.weight F32 8 values 1
		tensor output_norm.bias F32 8 values 0
		tensor blk.0.attn_norm.weight F32 8 values 1
		tensor blk.0.attn_norm.bias F32 8 values 0
		tensor blk.0.attn_qkv.weight F32 24x8 noise
		tensor blk.0.attn_qkv.bias F32 24 noise
		tensor blk.0.attn_output.weight F32 8x8 noise
		tensor blk.0.attn_output.bias F32 8 noise
		tensor blk.0.ffn_norm.weight F32 8 values 1
		tensor blk.0.ffn_norm.bias F32 8 values 0
		tensor blk.0.ffn_up.weight F32 12x8 noise
		tensor blk.0.ffn_up.bias F32 12 noise
		tensor blk.0.ffn_down.weight F32 8x12 noise
		tensor blk.0.ffn_down.bias F32 8 noise
	END
}

# The numbers are those of the version 2 text's list of 100.
@test "falsification 32, 33, 38: a shape less by one, another vocabulary, positions cut" {
	ask "$(tiny_gpt2)"
	quiet
	bad 's/ffn_norm.weight F32 8 /ffn_norm.weight F32 7 /' 4 \
		'blk.0.ffn_norm.weight: has shape 7, where 8 values are expected'
	bad '1i key llama.vocab_size u32 15' 4 'has shape 16x8, where 15x8 is expected'
	base=tiny_gpt2
	bad 's/position_embd.weight F32 32x8/position_embd.weight F32 31x8/' 4 \
		'a context of 32 has only 31 positions'
}

@test "tensors that are missing, odd or too many are refused by name" {
	while IFS=$'\t' read -r edit text; do
		bad "$edit" 4 "$text" || return
	done <<-'END'
		/token_embd/d	tensor token_embd.weight is missing
		/output_norm/d	tensor output_norm.weight is missing
		/attn_v/d	tensor blk.0.attn_v.weight is missing
		/ffn_down/d	tensor blk.0.ffn_down.weight is missing
		s/output_norm.weight F32 8/output_norm.weight F32 7/	output_norm.weight: has shape 7, where 8 values are expected
		s/output.weight F32 16x8/output.weight F32 15x8/	output.weight: has shape 15x8, where 16x8 is expected
		s/token_embd.weight F32 16x8/token_embd.weight F32 2x8x8/	token_embd.weight: has shape 2x8x8
		s/token_embd.weight F32 16x8/token_embd.weight F32 0x8/	token_embd.weight: has shape 0x8
		s/ffn_down.weight F32 8x12/ffn_down.weight F32 12x8/	blk.0.ffn_down.weight: has shape 12x8, where 8x12 is expected
		s/ffn_up.weight F32 12x8 noise/ffn_up.weight 77:384 12x8 ramp/	GGML_77 cannot be computed
		s/ffn_up.weight F32 12x8 noise/ffn_up.weight I32 12x8 ramp/	I32 cannot be computed
		$a tensor blk.1.attn_norm.weight F32 8 noise	blk.1.attn_norm.weight: is not a tensor of a llama model
		$a tensor blk.0.attn_q.bias F32 7 noise	blk.0.attn_q.bias: has shape 7, where 8 values are expected
		$a tensor rope_freqs.weight F32 3 values 1	rope_freqs.weight: has shape 3, where 2 values are expected
		$a tensor rope_freqs.weight F32 2 values 0	a factor of its rotary positions is invalid
		$a tensor rope_factors_long.weight F32 2 values 1	tensor rope_factors_short.weight is missing
	END
	base=tiny_experts
	while IFS=$'\t' read -r edit text; do
		bad "$edit" 4 "$text" || return
	done <<-'END'
		/gate_inp/d	tensor blk.0.ffn_gate_inp.weight is missing
		s/expert_count u32 4/expert_count u32 5/	blk.0.ffn_gate_inp.weight: has shape 4x8, where 5x8 is expected
		s/expert_used_count u32 2/expert_used_count u32 5/	of 4 experts, 5 cannot be used
		s/expert_count u32 4/expert_count u32 4294967295/	of 4294967295 experts
		s/down_exps.weight F32 4x8x12/down_exps.weight F32 4x12x8/	does not have the shape of 4 experts
		s/up_exps.weight F32 4x12x8/up_exps.weight F32 48x8/	does not have the shape of 4 experts
	END
}

@test "weights that are no numbers are told of, not believed" {
	bad 's/output.weight F32 16x8 noise/output.weight F32 16x8 values 0x7fc00000/' 5 \
		'logit 0 at position 0 is NaN'
	bad 's/attn_norm.weight F32 8 values 1/attn_norm.weight F32 8 values 0x7fc00000/' 5 'is NaN'
	bad 's/ffn_down.weight F32 8x12 noise/ffn_down.weight F32 8x12 values 0x7f800000 1/' 5 'is '
	base=tiny_experts
	bad 's/gate_inp.weight F32 4x8 noise/gate_inp.weight F32 4x8 values 0x7fc00000/' 5 'is NaN'
}

@test "tokens and contexts that the model does not have" {
	tiny | mkmodel >m.gguf
	try apr-run --tokens 15,16 --logits --json m.gguf
	said 5 'token 16 is not in the vocabulary of 16'
	try apr-run --tokens 4294967295 --logits --json m.gguf
	said 5 'token 4294967295 is not'
	for list in 4294967296 -1 x 1,,x '' ,; do
		try apr-run --tokens "$list" --logits --json m.gguf
		said 2
	done
	try apr-run --tokens 1 -n 1 --json -c 33 m.gguf
	said 5 'a context of 33 is longer than the model'
	try apr-run --tokens 1,2,3 --logits --json -c 2 m.gguf
	said 5 '3 tokens at position 0 need more than the context of 2'
	grep -q '^hint: -c' "$err"
	# A full context ends what is generated.
	try apr-run --tokens 1,2,3 -n 9 --json -c 5 m.gguf
	quiet
	[ "$(wc -l <"$out")" -eq 3 ]
	try apr-run --tokens "$(seq -s, 0 15),$(seq -s, 0 15)" --logits --json m.gguf
	quiet
	for option in '--cache f8' '--logits -n 3' '-t 0' '-c 0'; do
		# shellcheck disable=SC2086
		try apr-run --tokens 1 --json $option m.gguf
		said 2
	done
	try apr-run --json m.gguf
	said 4 'has no vocabulary'
	grep -q '^hint: --tokens' "$err"
}

@test "a model folder whose config.json is wrong" {
	config='{"model_type":"llama","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,'
	config+='"num_key_value_heads":1,"intermediate_size":12,"max_position_embeddings":32,'
	config+='"rms_norm_eps":1e-5,"vocab_size":16,"rope_scaling":null}'
	tiny | sed 's/token_embd/model.embed_tokens/; s/output_norm/model.norm/
		s/ output\./ lm_head./; s/blk.0/model.layers.0/; s/attn_norm/input_layernorm/
		s/ffn_norm/post_attention_layernorm/; s/attn_output/self_attn.o_proj/
		s/attn_\([qkv]\)/self_attn.\1_proj/; s/ffn_\([a-z]*\)/mlp.\1_proj/; /^key/d' |
		mkmodel | apr-unpack | apr-pack -t safetensors >model.safetensors
	mkdir folder
	mv model.safetensors folder/
	while IFS=$'\t' read -r status edit text; do
		sed "$edit" <<<"$config" >folder/config.json
		try apr-run --tokens 1,2,3 --logits --json folder
		if [ "$status" -eq 0 ]; then
			quiet
		else
			said "$status" "$text" || fail "for $edit" || return
		fi
	done <<-'END'
		0	s/x/x/	-
		4	s/"llama"/"mamba"/	architecture mamba is not supported
		4	s/"model_type"/"type"/	model_type is missing
		4	s/}$//	config.json
		4	s/"hidden_size":8/"hidden_size":"8x"/	hidden_size has an invalid value
		4	s/"hidden_size":8,//	hidden_size is missing
		4	s/"num_hidden_layers":1/"num_hidden_layers":1e9/	num_hidden_layers has an invalid value
		4	s/"num_hidden_layers":1/"num_hidden_layers":1000000000/	the number of blocks
		4	s/"num_attention_heads":2/"num_attention_heads":3/	num_attention_heads does not divide
		4	s/"rms_norm_eps":1e-5,//	the epsilon of norms is missing
		4	s/"rope_scaling":null/"rope_scaling":{"type":"dynamic","factor":2}/	dynamic is an unsupported rope scaling
		4	s/"rope_scaling":null/"rope_scaling":{"type":"longrope"}/	short_factor is not a list
		4	s/"rope_scaling":null/"rope_scaling":{"type":"yarn","factor":0}/	a parameter of its rotary positions
		0	s/"rope_scaling":null/"rope_scaling":{"type":"yarn","factor":4}/	-
		0	s/"rope_scaling":null/"rope_scaling":{"rope_type":"llama3","factor":8}/	-
		0	s/"rope_scaling":null/"hidden_act":"gelu"/	-
		4	s/"rope_scaling":null/"hidden_act":"relu2"/	relu2 is an unsupported activation
		4	s/"rope_scaling":null/"use_sliding_window":true/	use_sliding_window is not supported
		4	s/"vocab_size":16/"vocab_size":17/	where 17x8 is expected
	END
}
