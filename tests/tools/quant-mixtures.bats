# apr-quant: the bytes of llama-quantize, mixture by mixture
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# agree SUFFIX OPTION…: every mixture of the list with that suffix has the bytes
# that llama-quantize wrote, at each level of the CPU and with 1, 2 and 3 threads: each
# mixture takes all levels and all counts, the next one in other pairs. Under a sanitizer,
# where ref takes long, one level; low-bit mixtures, for which it takes as long without, get
# one run (t_kernels compares levels).
agree() {
	local suffix=$1 name digest n=0 i level runs
	shift
	read -ra level < <(levels)
	[ "${level[0]}" = ref ] || return
	! grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-quant" || level=("${level[-1]}")
	while read -r name digest; do
		[ "${name#*.}" = "$suffix" ] || { [ -z "$suffix" ] && [ "${name%.*}" = "$name" ]; } ||
			continue
		runs=$((${#level[@]} > 3 ? ${#level[@]} : 3))
		[[ $name != iq[123]* ]] || runs=1
		for ((i = 0; i < runs; i++)); do
			APR_CPU=${level[(runs > 1 ? i : -1) % ${#level[@]}]} apr-quant -j $((1 + (n + i) % 3)) \
				--fallback warn "$@" "${name%%.*}" "$model" 2>err >now ||
				fail "$name" "$(cat err)" || return
			[ "$i" -gt 0 ] || mv now first
			[ "$i" -eq 0 ] || cmp now first || fail "$name: ${level[*]}: $i" || return
		done
		digests <first | LC_ALL=C sort | sha256sum >got
		[ "$(cut -d' ' -f1 got)" = "$digest" ] || fail "$name differs" "$(cat err)" || return
		n=$((n + 1))
	done < <(grep -v '^#' "$root/tests/golden/shakespeare-mixtures.txt")
	[ "$n" -ge 18 ]
}

@test "every mixture that can be written has llama-quantize's bytes" {
	agree ''
}

# bats test_tags=repeats
@test "every --pure type has llama-quantize's bytes" {
	agree pure --pure
}

# bats test_tags=repeats
@test "every mixture weighed by importance has llama-quantize's bytes" {
	agree imatrix --imatrix "$root/tests/data/imatrix.gguf"
}

@test "--imatrix: both formats give the same bytes; what is weighed is told and recorded" {
	apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" "$model" 2>err |
		digests | sort >new
	apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.dat" "$model" 2>/dev/null |
		tee stream | digests | sort >old
	cmp new old
	grep -q '21 of 23 tensors that can be are weighted' err
	apr-header stream | grep 'quantize.imatrix.file .*imatrix.dat$'
	apr-header stream | grep 'quantize.imatrix.entries_count .*21$'
}

@test "--exclude-weights and --include-weights choose entries; one that is no text of any is refused" {
	apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" --exclude-weights attn \
		"$model" 2>err >/dev/null
	grep -q '9 of 23 tensors' err
	apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" --include-weights ffn_up \
		--include-weights ffn_down "$model" 2>err >/dev/null
	grep -q '6 of 23 tensors' err
	try apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" --exclude-weights nothing \
		-o out "$model"
	said 2 nothing
	try apr-quant q4_k_m --include-weights ffn -o out "$model"
	said 2 imatrix
	[ ! -e out ]
}

@test "--imatrix: a model that is none, a damaged or cut one, one that is not there" {
	try apr-quant q4_k_m --imatrix "$model" -o out "$model"
	said 4 'no importance matrix'
	try apr-quant q4_k_m --imatrix missing -o out "$model"
	said 3 missing
	for n in 3 4 7 20 60 1000 25000; do
		head -c $n "$root/tests/data/imatrix.dat" >cut.dat
		try apr-quant q4_k_m --imatrix cut.dat -o out "$model"
		said 4
	done
	head -c 20000 "$root/tests/data/imatrix.gguf" >cut.gguf
	try apr-quant q4_k_m --imatrix cut.gguf -o out "$model"
	said 4
	[ ! -e out ]
}

@test "q2_k_s without importance is refused (exit 2), with it written" {
	try apr-quant q2_k_s -o out "$model"
	said 2 importance
	apr-quant q2_k_s --imatrix "$root/tests/data/imatrix.gguf" -o out "$model"
}

@test "--pure of a type that needs importance: a tensor without is named (exit 2)" {
	for type in iq1_s iq2_xxs iq2_xs; do
		try apr-quant --pure --imatrix "$root/tests/data/imatrix.gguf" -o out $type "$model"
		said 2 'token_embd.weight: '
	done
	try apr-quant iq1_m -o out "$model"
	said 2 'IQ1_M without importance weights is noise'
	grep -q '^hint: --imatrix FILE' "$err"
	[ ! -e out ]
}

@test "--imatrix: one of other tensors is refused, one that nothing can use is told" {
	mkmodel <<-END >folder.gguf
		tensor model.embed_tokens.weight F32 4x256 noise
		tensor model.layers.0.mlp.up_proj.weight F32 4x256 noise
	END
	try apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" -o made folder.gguf
	said 2 'imatrix.gguf: none of its 21 entries has the name of a tensor of the model'
	grep -qx 'hint: an entry is blk.2.ffn_up.weight, a tensor model.embed_tokens.weight' "$err"
	[ ! -e made ]
	try apr-quant q8_0 --imatrix "$root/tests/data/imatrix.gguf" "$model"
	[ "$status" -eq 0 ]
	grep -q '^apr-quant: the importance matrix changes nothing' "$err"
}
