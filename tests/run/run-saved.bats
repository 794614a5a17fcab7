# apr-run: files that llama.cpp saved itself: every key that it knows, with neutral values
load ../helper
load tiny

# What llama_model_save_to_file writes beside the keys that a model needs, where they say
# nothing: KEY TYPE VALUE, then a value that makes another model. Those of the
# architecture itself are not here.
saved() {
	cat <<-'END'
		leading_dense_block_count	u32	0	1
		expert_chunk_feed_forward_length	u32	0	8
		swiglu_clamp_exp	array:f32	0*512	0*511 7
		swiglu_clamp_shexp	array:f32	0*512	1
		expert_shared_count	u32	0	1
		expert_group_count	u32	0	2
		expert_group_used_count	u32	0	2
		expert_gating_func	u32	0	2
		expert_group_scale	f32	0.05	0.5
		experts_per_group	u32	0	2
		moe_every_n_layers	u32	0	2
		nextn_predict_layers	u32	0	1
		n_deepstack_layers	u32	0	1
		deepstack_mapping	array:i32	-1*512	-1 0
		logit_scale	f32	0	2
		decoder_block_count	u32	0	1
		router_logit_softcapping	f32	30	20
		swin_norm	bool	0	1
		rescale_every_n_layers	u32	0	6
		time_mix_extra_dim	u32	0	32
		time_decay_extra_dim	u32	0	64
		residual_scale	f32	0	0.5
		embedding_scale	f32	0	12
		token_shift_count	u32	2	1
		interleave_moe_layer_step	u32	0	2
		attention.max_alibi_bias	f32	0	8
		attention.clamp_kqv	f32	0	1
		attention.group_norm_groups	u32	0	8
		attention.causal	bool	1	0
		attention.q_lora_rank	u32	0	8
		attention.kv_lora_rank	u32	0	8
		attention.decay_lora_rank	u32	0	8
		attention.iclr_lora_rank	u32	0	8
		attention.value_residual_mix_lora_rank	u32	0	8
		attention.gate_lora_rank	u32	0	8
		attention.relative_buckets_count	u32	0	8
		attention.output_scale	f32	0	0.5
		attention.value_scale	f32	0	0.5
		attention.temperature_length	u32	0	8
		attention.temperature_scale	f32	0	0.1
		attention.key_length_mla	u32	0	8
		attention.value_length_mla	u32	0	8
		attention.indexer.head_count	u32	0	1
		attention.indexer.key_length	u32	0	8
		attention.indexer.top_k	u32	0	8
		attention.indexer.block_size	u32	0	8
		attention.indexer.local_blocks	u32	0	8
		attention.indexer.types	u32	0	1
		attention.recurrent_layers	u32	0	1
		rope.dimension_sections	array:i32	0 0 0 0	2 2 2 2
		rope.scaling.yarn_log_multiplier	f32	0	0.1
		rope.scaling.yarn_ext_factor	f32	-1	1
		rope.scaling.yarn_attn_factor	f32	1	2
		ssm.inner_size	u32	0	8
		ssm.conv_kernel	u32	0	4
		ssm.state_size	u32	0	8
		ssm.time_step_rank	u32	0	8
		ssm.group_count	u32	0	2
		ssm.dt_b_c_rms	bool	0	1
		kda.head_dim	u32	0	8
		wkv.head_size	u32	0	8
		posnet.embedding_length	u32	0	8
		posnet.block_count	u32	0	1
		convnext.embedding_length	u32	0	8
		convnext.block_count	u32	0	1
		shortconv.l_cache	u32	0	3
	END
}

# What it writes, too, and is of no account for logits, or is what the architecture says
# where its key is absent.
passed() {
	cat <<-'END'
		decoder_start_token_id u32 4294967295
		pooling_type u32 0
		attention.group_norm_epsilon f32 0
		expert_weights_norm bool 0
		expert_weights_scale f32 0
		dense_2_feat_in u32 0
		dense_2_feat_out u32 0
		dense_3_feat_in u32 0
		dense_3_feat_out u32 0
		rope.scaling.type string linear
		rope.scaling.factor f32 0
		rope.scaling.attn_factor f32 1
		rope.scaling.finetuned bool 0
		rope.scaling.yarn_beta_fast f32 32
		rope.scaling.yarn_beta_slow f32 1
		rope.freq_base_swa f32 10000
	END
	case $1 in
	gemma2)
		echo "attention.scale f32 0.17677669"
		echo "attention.key_length_swa u32 32"
		echo "attention.value_length_swa u32 32"
		echo "use_parallel_residual bool 0"
		;;
	*)
		echo "attention.scale f32 0"
		echo "attn_logit_softcapping f32 50"
		echo "final_logit_softcapping f32 30"
		echo "attention.sliding_window u32 0"
		;;
	esac
	# Rows of the above are more important.
	[ "$1" = gptneox ] || echo "attention.layer_norm_epsilon f32 0"
	[ "$1" != gptneox ] || echo "attention.layer_norm_rms_epsilon f32 0"
}

# with LINE…: the tiny square model with these keys and tensors, asked for its logits.
with() {
	{ tiny_square; printf '%s\n' "$@"; } | sort -s -k1,1 | mkmodel >m.gguf || return
	try apr-run --tokens 1,2,3 --logits m.gguf
}

@test "neutral keys change no logits" {
	for name in gemma2 gptneox qwen2moe; do
		of=$root/tests/data/arch/$name
		{
			saved | while IFS=$'\t' read -r key type value _; do
				echo "key $name.$key $type $value"
			done
			passed $name | sed "s/^/key $name./"
			for role in eot eom unknown seperator padding fim_pre; do
				echo "key tokenizer.ggml.${role}_token_id u32 4294967295"
			done
			echo "key general.name string"
			echo "key $name.classifier.output_labels array:string"
		} | mkmodel >keys.gguf
		graft $of.gguf keys.gguf >saved.gguf
		[ "$(wc -c <saved.gguf)" -gt "$(wc -c <$of.gguf)" ]
		tokens=$(sed 's/.*"tokens": \[\([^]]*\)\].*/\1/' "$of.json" | tr -d ' ')
		apr-run --tokens "$tokens" --logits --cache f32 $of.gguf >want
		try apr-run --tokens "$tokens" --logits --cache f32 saved.gguf
		quiet
		nearlogits "$out" want 1024 1e-6 >near || fail "$name: $(cat near)"
		nearlogits "$out" $of.logits.f32 1024 1e-3 >near || fail "$name: $(cat near)"
		# Its vocabulary has what the other has not, and nothing else.
		apr-tok encode -p 'To be, or not' $of.gguf >ids
		apr-tok encode -p 'To be, or not' saved.gguf | cmp - ids
	done
}

@test "a key with another than its neutral value is refused by its name" {
	with
	quiet
	cp "$out" plain
	n=0
	while IFS=$'\t' read -r key type value other; do
		with "key llama.$key $type $value"
		quiet || fail "$key" || return
		cmp "$out" plain
		with "key llama.$key $type $other"
		said 4 "(key llama.$key) is not supported (E001)" || fail "$key" || return
		[ ! -s "$out" ]
		n=$((n + 1))
	done < <(
		saved
		printf '%s\n' $'attn_logit_softcapping\tf32\t50\t20' $'final_logit_softcapping\tf32\t30\t20' \
			$'use_parallel_residual\tbool\t0\t1' $'attention.key_length_swa\tu32\t4\t8' \
			$'attention.value_length_swa\tu32\t4\t8' $'rope.scaling.alpha\tf32\t0\t8' \
			$'embedding_length_out\tu32\t0\t4'
	)
	[ $n -eq 73 ]
	# These are obeyed.
	for key in 'attention.scale f32 0.125' 'expert_weights_scale f32 0' 'attention.sliding_window u32 2'; do
		with "key llama.$key"
		quiet
		[[ $key = expert* ]] || ! cmp -s "$out" plain || fail "$key changes nothing"
	done
	with 'key llama.attention.scale f32 0.5' # 1 / sqrt(4)
	cmp "$out" plain
}

@test "a neutral key of the wrong type, or with a wrong length, is refused" {
	while IFS=$'\t' read -r key type _ _; do
		case $type in
		array*) wrong=("string 0" "array:string 0" "bool 1") ;;
		bool) wrong=("string 1" "u32 1" "array:bool 1") ;;
		f32) wrong=("string 0" "bool 0" "array:f32 0") ;;
		*) wrong=("string 0" "f64 0") ;;
		esac
		[ "$key" != swiglu_clamp_exp ] || wrong=("string 0" "bool 0" "array:bool 0")
		[[ $key = attention.indexer.types || $key = attention.recurrent_layers ]] ||
			wrong+=("array:string x y")
		[[ $key != rope.dimension_sections && $key != deepstack_mapping ]] ||
			wrong=("string 0" "array:f32 0" "array:string 0")
		for value in "${wrong[@]}"; do
			with "key llama.$key $value"
			said 4 "key llama.$key has an invalid value (E002)" ||
				fail "$key $value" || return
		done
	done < <(saved)
	# Lists of none, and of millions.
	with 'key llama.deepstack_mapping array:i32' 'key llama.attention.recurrent_layers array:bool 0 0'
	quiet
	with 'key llama.deepstack_mapping array:i32 -1*3000000'
	quiet
	with 'key llama.deepstack_mapping array:i32 -1*3000000 5'
	said 4 '(key llama.deepstack_mapping) is not supported'
	with 'key llama.attention.indexer.types array:u32 0*3000000 1'
	said 4 '(key llama.attention.indexer.types) is not supported'
	with 'key llama.logit_scale f32 nan'
	said 4 '(key llama.logit_scale) is not supported'
}

@test "numbers of each block may be lists, where all are the same" {
	two() {
		tiny_square | sed 's/block_count u32 1/block_count u32 2/'
		tiny_square | sed -n 's/^tensor blk.0/tensor blk.1/p'
	}
	two | sort -s -k1,1 | mkmodel >m.gguf
	apr-run --tokens 1,2,3 --logits m.gguf >want
	{ two | grep -v head_count
		echo key llama.attention.head_count array:u32 2 2
		echo key llama.attention.head_count_kv array:i32 2 2
		echo key llama.feed_forward_length array:u64 8 8; } | sort -s -k1,1 | mkmodel >m.gguf
	apr-run --tokens 1,2,3 --logits m.gguf | cmp - want
	{ two; echo key llama.feed_forward_length array:u32 8 4; } | sort -s -k1,1 | mkmodel >m.gguf
	try apr-run --tokens 1,2,3 --logits m.gguf
	said 4 'blocks that differ (key llama.feed_forward_length) are not supported'
	# Also where blocks were left out.
	{ two; echo key llama.feed_forward_length array:u32 8 8; } | sort -s -k1,1 | mkmodel >m.gguf
	apr-quant bf16 --prune-layers 0 m.gguf >short
	try apr-run --tokens 1,2,3 --logits short
	quiet
}

@test "a scale beside a matrix multiplies its products" {
	for name in attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down; do
		with "tensor blk.0.$name.scale F32 1 values 4" "tensor blk.0.$name.input_scale F32 1 values 3"
		quiet
		cp "$out" scaled
		{ tiny_square | sed "s/^\(tensor blk.0.$name.weight F32 8x8\).*/\1 values 0.5 -0.25 0.125 1 -0.75/"; } >plain
		sed 's/ 0.5 -0.25 0.125 1 -0.75/ 2 -1 0.5 4 -3/' plain | mkmodel >want.gguf
		apr-run --tokens 1,2,3 --logits want.gguf >want
		{ cat plain; echo "tensor blk.0.$name.scale F32 1 values 4"; } | mkmodel >m.gguf
		apr-run --tokens 1,2,3 --logits m.gguf | cmp - want
		# The bias of the feed-forward is scaled as well, that of attention is not.
		bias=1
		[[ $name = ffn* ]] || bias=4
		{ cat plain; echo "tensor blk.0.$name.scale F32 1 values 4"
			echo "tensor blk.0.$name.bias F32 8 values $bias -$bias"; } | mkmodel >m.gguf
		{ sed 's/ 0.5 -0.25 0.125 1 -0.75/ 2 -1 0.5 4 -3/' plain
			echo "tensor blk.0.$name.bias F32 8 values 4 -4"; } | mkmodel >want.gguf
		apr-run --tokens 1,2,3 --logits want.gguf >want
		apr-run --tokens 1,2,3 --logits m.gguf | cmp - want
		with "tensor blk.0.$name.scale F32 2 values 4"
		said 4 'where 1 values are expected'
	done
}

@test "each expert has its own scale" {
	experts() {
		tiny_square | grep -v 'ffn_[gud][a-z]*\.'
		echo 'key llama.expert_count u32 2'
		echo 'key llama.expert_used_count u32 2'
		echo 'tensor blk.0.ffn_gate_inp.weight F32 2x8 noise'
		for name in gate up down; do
			echo "tensor blk.0.ffn_${name}_exps.weight F32 2x8x8 values $1"
		done
	}
	asked() {
		{
			experts "$1"
			for name in gate up down; do
				[ $# -eq 1 ] || echo "tensor blk.0.ffn_${name}_exps.scale F32 2 values ${*:2}"
			done
		} | sort -s -k1,1 | mkmodel >m.gguf
		apr-run --tokens 1,2,3 --logits m.gguf
	}
	# Twice the same expert, which scales double, both or one of them.
	asked "$(printf '0.%02d ' {1..60})" 2 2 >both
	asked "$(printf '%d.%02d ' $(for i in {1..60}; do echo $((2 * i / 100)) $((2 * i % 100)); done))" >want
	nearlogits both want 16 1e-6 >near || fail "$(cat near)"
	asked "$(printf '0.%02d ' {1..60})" 1 2 >second
	asked "$(printf '0.%02d ' {1..60})" 2 1 >first
	asked "$(printf '0.%02d ' {1..60})" >plain
	for one in first second plain; do
		for other in second plain both; do
			[ $one = $other ] || ! cmp -s $one $other || fail "$one is $other"
		done
	done
}

@test "the head of a classifier has no part in logits" {
	with
	cp "$out" plain
	with 'tensor cls.output.weight F32 2x8 noise' 'tensor cls.output.bias F32 2 noise'
	quiet
	cmp "$out" plain
	with 'tensor cls.weight F32 8x8 noise'
	said 4 'is not a tensor of a llama model'
}
