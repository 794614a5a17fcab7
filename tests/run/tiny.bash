# shellcheck shell=bash
# The smallest models, as lines for mkmodel (tests/gen/mkmodel.c), and a setup for tests
# that change them. A key or tensor may stand anywhere: sort -s -k1,1 puts keys first.

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

# A LLaMA of 16 tokens, a width of 8, two heads of 4. All matrices of its one block are
# 8x8; the embeddings are the output.
tiny_square() {
	cat <<-'END'
		key general.architecture string llama
		key llama.block_count u32 1
		key llama.context_length u32 32
		key llama.embedding_length u32 8
		key llama.attention.head_count u32 2
		key llama.attention.layer_norm_rms_epsilon f32 1e-5
		tensor token_embd.weight F32 16x8 noise
		tensor output_norm.weight F32 8 values 1
		tensor blk.0.attn_norm.weight F32 8 values 1
		tensor blk.0.ffn_norm.weight F32 8 values 1
	END
	for name in attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down; do
		echo "tensor blk.0.$name.weight F32 8x8 noise"
	done
}

# One with a single head of keys and values, a feed-forward of 12, and an output matrix.
tiny() {
	tiny_square | sed 's/\(attn_[kv].weight F32\) 8x8/\1 4x8/
		s/\(ffn_[gu][a-z]*.weight F32\) 8x8/\1 12x8/; s/\(ffn_down.weight F32\) 8x8/\1 8x12/'
	cat <<-'END'
		key llama.feed_forward_length u32 12
		key llama.attention.head_count_kv u32 1
		tensor output.weight F32 16x8 noise
	END
}
