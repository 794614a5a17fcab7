# apr-quant: a person's own types for some tensors
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "--tensor-type decides before the mixture, the first rule that matches" {
	apr-quant q4_0 --tensor-type 'ffn_down=q8_0' --tensor-type 'blk\.0\.=f16' "$model" |
		apr-header -t >types
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
	  --token-embedding-type f16 "$model" | apr-header -t >types
	[ "$(grep -c 'ffn_up.*Q8_0' types)" -eq 3 ]
	[ "$(grep -c 'ffn_gate.*F16' types)" -eq 3 ]
	grep -q '^output.weight.*Q8_0' types
	grep -q '^token_embd.weight.*F16' types
	apr-quant q4_0 --leave-output-tensor "$model" | apr-header -t | grep -q '^output.weight.*BF16'
}

@test "--explain names the rule, --list the mixtures; a mixture without encoder exits 2" {
	run -0 apr-quant q4_0 --explain output.weight "$model"
	[[ $output == *"Q6_K"*"output matrix"* ]]
	run -2 apr-quant q4_0 --explain nothing "$model"
	run -0 apr-quant --list
	[[ $output == *q4_k_m*Q4_K*Q6_K* ]]
	run -2 apr-quant iq2_xxs -o out "$model"
	[ ! -e out ]
	run -0 apr-quant iq2_xxs -n "$model"
}
