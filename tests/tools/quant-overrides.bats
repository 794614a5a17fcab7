# apr-quant: a person's own types for some tensors
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "--tensor-type decides before the mixture, the first rule that matches" {
	apr-quant q4_0 --tensor-type 'ffn_down=q8_0' --tensor-type 'blk\.0\.=f16' "$model" |
		apr-header -l >types
	[ "$(grep -c 'ffn_down.*Q8_0' types)" -eq 3 ]
	[ "$(grep -c 'blk.0.attn.*F16' types)" -eq 4 ]
	[ "$(grep -c 'blk.1.attn_[qkvo].* Q4_0' types)" -eq 4 ]
}

@test "a --tensor-type rule that decides nothing is refused by name" {
	run -2 apr-quant q4_0 --tensor-type 'ffn_dwn=q8_0' -o out "$model"
	[[ $output == *"ffn_dwn=q8_0"*"matches no tensor"* ]]
	run -2 apr-quant q4_0 --tensor-type 'ffn=q8_0' --tensor-type 'ffn_down=f16' -o out "$model"
	[[ $output == *"ffn_down=f16"*"earlier rule"* ]]
	[ ! -e out ]
}

@test "--tensor-type-file, --output-tensor-type, --token-embedding-type, --leave-output-tensor" {
	printf 'ffn_up=q8_0\n\nffn_gate=f16\n' >rules
	apr-quant q4_0 --tensor-type-file rules --output-tensor-type q8_0 \
	  --token-embedding-type f16 "$model" | apr-header -l >types
	[ "$(grep -c 'ffn_up.*Q8_0' types)" -eq 3 ]
	[ "$(grep -c 'ffn_gate.*F16' types)" -eq 3 ]
	grep -q '^output.weight.*Q8_0' types
	grep -q '^token_embd.weight.*F16' types
	apr-quant q4_0 --leave-output-tensor "$model" | apr-header -l | grep -q '^output.weight.*BF16'
}

@test "--leave-output-tensor and types by role that decide nothing are refused by name" {
	PATH=$PATH:$APR_GEN
	local option
	mkmodel <<-END >folder.gguf
		tensor model.embed_tokens.weight F32 4x256 noise
		tensor lm_head.weight F32 4x256 noise
	END
	for option in --leave-output-tensor '--output-tensor-type q8_0' '--token-embedding-type f16'; do
		# shellcheck disable=SC2086 # an option and its value
		try apr-quant q4_0 $option -o out folder.gguf
		said 2 "${option% *}: decides nothing"
		grep -q '^hint: these names are output.weight and token_embd.weight' "$err"
		[ ! -e out ]
	done
	# The embedding that stands for the output matrix gets its type, and counts.
	mkmodel <<<'tensor token_embd.weight F32 4x256 noise' >tied.gguf
	apr-quant q4_0 --output-tensor-type q8_0 tied.gguf 2>/dev/null | apr-header -l | grep -q Q8_0
	try apr-quant q4_0 --leave-output-tensor tied.gguf
	said 2 '--leave-output-tensor: decides nothing'
}

# Rows of queries and keys have another order in a folder, so other tensors are compared.
@test "a folder gets the types of its GGUF file, and its importance" {
	PATH=$PATH:$APR_GEN
	local type=iq2_xs imatrix=$root/tests/data/imatrix.gguf
	apr-quant $type --imatrix "$imatrix" "$model" 2>err | digests >gguf
	grep -q '21 of 23 tensors' err
	apr-adapt hf "$model" 2>/dev/null >folder.aprs
	apr-quant $type --imatrix "$imatrix" folder.aprs 2>err | digests >folder
	grep -q '21 of 23 tensors' err
	! grep -q 'chooses types by' err
	cut -d' ' -f2 gguf | sort >want
	cut -d' ' -f2 folder | sort | cmp - want
	grep -v 'attn_[qk]' gguf | cut -d' ' -f3 | sort >want
	grep -v 'self_attn.[qk]_' folder | cut -d' ' -f3 | sort | cmp - want
}

@test "names that no rule of a mixture knows: told, and only where it matters" {
	PATH=$PATH:$APR_GEN
	local type told='chooses types by GGUF.s tensor names, and no tensor here has one'
	mkmodel <<-END >folder.gguf
		tensor model.embed_tokens.weight F32 4x256 noise
		tensor lm_head.weight F32 4x256 noise
	END
	for type in q4_k_m q2_k q4_0 iq4_nl; do
		try apr-quant $type folder.gguf
		[ "$status" -eq 0 ]
		[ "$(grep -c "apr-quant: $type $told: without a --tensor-type rule all get " "$err")" -eq 1 ]
		try apr-quant -n $type folder.gguf
		[ "$(grep -c "$told" "$err")" -eq 1 ]
	done
	for type in f16 q8_0 q6_k q8_k mxfp4_moe '--pure q4_0'; do
		# shellcheck disable=SC2086
		try apr-quant $type folder.gguf
		[ "$status" -eq 0 ]
		! grep -q "$told" "$err" || fail "$type"
	done
	try apr-quant q4_k_m "$model"
	! grep -q "$told" "$err"
}

@test "--explain names the rule, --list the mixtures; one without the importance it needs exits 2" {
	run -0 apr-quant q4_0 --explain output.weight "$model"
	[[ $output == *"Q6_K"*"output matrix"* ]]
	run -2 apr-quant q4_0 --explain nothing "$model"
	run -0 apr-quant --list
	[[ $output == *q4_k_m*Q4_K*Q6_K* ]]
	run -2 apr-quant iq2_xxs -o out "$model"
	[ ! -e out ]
	run -0 apr-quant iq2_xxs -n "$model"
}
