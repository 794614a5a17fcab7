# apr-prune: what matters least goes
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	data=$root/tests/data
}

# Two layers of two matrices, in tiles of many rows; the second tensor has many equal magnitudes.
layers() {
	mkmodel >m.gguf <<-END
		tensor blk.0.a.weight F32 301x256 noise
		tensor blk.0.b.weight F32 77x256 values 1 -2 3 2 -1 0 0 4 2 -3 1
		tensor blk.1.a.weight F32 50x256 noise
		tensor blk.1.b.weight F32 64x256 values 0.5 -0.25 0.125 0.5 0 -0.5
		tensor other.weight F32 8x256 noise
	END
	for t in 0.a 0.b 1.a 1.b; do
		apr-get blk.$t.weight m.gguf >$t.raw
	done
}

# An importance matrix of the same columns for all four: 1, 2, 3 and a few that are 0.
measure() {
	{
		echo key general.type string imatrix
		for t in 0.a 0.b 1.a 1.b; do
			echo tensor blk.$t.weight.in_sum2 F32 256 values 2 4 6 0 1 3 9 0.5 7 5 11
			echo tensor blk.$t.weight.counts F32 1 values 2
		done
	} | mkmodel >imatrix.gguf
	echo tensor w F32 256 values 1 2 3 0 0.5 1.5 4.5 0.25 3.5 2.5 5.5 | mkmodel >means.gguf
	apr-get w means.gguf >means.raw
}

# agrees 'OPTIONS OF apr-prune' RULE [MEANS]: the result is that of the second program.
agrees() {
	local files='0.a 0.b 1.a 1.b' got=
	# shellcheck disable=SC2086
	apr-prune $1 -f -o out m.gguf 2>said
	for t in $files; do
		apr-get blk.$t.weight out
	done >got
	# shellcheck disable=SC2086
	prune_reference "$2" 256 "${3:--}" ${files// /.raw }.raw >want
	cmp got want || fail "$1"
	cmp <(apr-get other.weight out) <(apr-get other.weight m.gguf)
}

# zeros FILE TENSOR: the number of its zeros.
zeros() {
	apr-stats --json "$1" | sed -n "s/.*\"name\":\"$2\".*\"zeros\":\([0-9]*\).*/\1/p"
}

@test "apr-prune passes the exam" {
	exam filter apr-prune --sparsity 0.5
}

@test "each rule equals another program that is written from the papers" {
	layers
	measure
	for s in 0 0.29 0.999 1; do
		agrees "--sparsity $s" tensor=$s
	done
	for s in 0.1 0.5; do
		agrees "--sparsity $s --scope row" row=$s
		agrees "--sparsity $s --scope global" all=$s
		agrees "--sparsity $s --imatrix imatrix.gguf" row=$s means.raw
		agrees "--sparsity $s --imatrix imatrix.gguf --scope tensor" tensor=$s means.raw
		agrees "--sparsity $s --imatrix imatrix.gguf --by magnitude" tensor=$s
	done
	agrees '--sparsity 0.6 --imatrix imatrix.gguf --scope global' all=0.6 means.raw
	agrees '--threshold 0' below=0
	agrees '--threshold 0.03' below=0.03
	agrees '--threshold 2' below=2
	for nm in 2:4 3:4 1:32; do
		agrees "--nm $nm" $nm
	done
	agrees '--nm 2:4 --imatrix imatrix.gguf' 2:4 means.raw
}

# A decoder of one layer and 26 tokens, whose embeddings have a magnitude of 1, so that its first norm
# changes nothing but their scale.
letters() {
	{
		printf 'key general.architecture string llama\n'
		printf 'key llama.%s u32 %s\n' block_count 1 embedding_length 256 feed_forward_length 32 \
			attention.head_count 4 attention.head_count_kv 1 context_length 64
		printf 'key llama.attention.layer_norm_rms_epsilon f32 0.00001\n'
		printf 'key tokenizer.ggml.%s\n' 'model string gpt2' 'pre string gpt-2' 'add_bos_token bool 0' \
			'merges array:string *0' "tokens array:string $(echo {a..z})"
		printf 'tensor token_embd.weight F32 26x256 values 1 1 1 1 1 -1 -1 -1 1 1 -1 1 1 1 -1 1 -1 1 -1 -1 -1 -1 1 -1 -1 1 -1 1 1 -1 -1\n'
		printf 'tensor %s F32 %s\n' output_norm.weight '256 values 1' \
			blk.0.attn_norm.weight '256 values 1' blk.0.ffn_norm.weight '256 values 1' \
			blk.0.attn_q.weight '256x256 noise' blk.0.attn_k.weight '64x256 noise' \
			blk.0.attn_v.weight '64x256 noise' blk.0.attn_output.weight '256x256 noise' \
			blk.0.ffn_up.weight '32x256 noise' blk.0.ffn_gate.weight '32x256 noise' \
			blk.0.ffn_down.weight '256x32 noise'
	} | mkmodel >m.gguf
	printf %s {a..z} | tr -d ' ' >text
}

@test "SparseGPT equals another program that is written from the paper" {
	letters
	apr-get token_embd.weight m.gguf >x.raw
	for t in q k; do
		apr-get blk.0.attn_$t.weight m.gguf >$t.raw
	done
	for rule in '--sparsity 0.5' '--sparsity 0.37' '--nm 2:4' '--nm 1:8'; do
		# shellcheck disable=SC2086
		apr-prune $rule --by sparsegpt --text text --target 'attn_[qk]' -f -o out m.gguf 2>said
		for t in q k; do
			apr-get blk.0.attn_$t.weight out
		done >got
		prune_reference "update=${rule#* }" 256 x.raw q.raw k.raw >want
		cmp got want || fail "$rule"
	done
	apr-header out | grep -q 'apr.prune.recipe .*{"by":"sparsegpt","nm":"1:8","text":"text","target":'
}

# bats test_tags=repeats
@test "SparseGPT: any thread, any CPU, any source; exact zeros; quantized types" {
	local how=(--sparsity 0.5 --by sparsegpt --text text --target 'blk.1.attn') level
	head -c 400 "$root/LICENSE" >text
	apr-prune "${how[@]}" "$model" >want 2>said
	grep -q '4 of 30 tensors are pruned: 98304 of their 196608 values are zero (50.00 %)' said
	apr-unpack "$model" | apr-prune "${how[@]}" -j 1 2>/dev/null | cmp - want
	for level in $(levels); do
		APR_CPU=$level apr-prune "${how[@]}" -j 3 "$model" 2>/dev/null | cmp - want
	done
	apr-prune "${how[@]}" --scope row "$model" >row 2>said
	[ "$(zeros row blk.1.attn_q.weight)" = $((256 * 256 / 2)) ]
	apr-prune "${how[@]}" --tokens 64 "$model" 2>/dev/null >few
	! cmp -s few want || fail tokens
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder 2>said
	apr-prune --sparsity 0.5 --by sparsegpt --text text --target 'layers.1.self_attn.v' folder 2>/dev/null |
		apr-adapt gguf >back
	cmp <(apr-get blk.1.attn_v.weight back) <(apr-get blk.1.attn_v.weight want)
	apr-quant --pure q8_0 "$model" 2>/dev/null | apr-prune "${how[@]}" >q 2>said
	[ "$(zeros q blk.1.attn_q.weight)" -ge $((256 * 256 / 2)) ]
}

@test "a layer has a border of its own" {
	layers
	apr-prune --sparsity 0.37 --scope layer m.gguf >out 2>said
	for t in 0.a 0.b 1.a 1.b; do
		apr-get blk.$t.weight out
	done >got
	{
		prune_reference all=0.37 256 - 0.a.raw 0.b.raw
		prune_reference all=0.37 256 - 1.a.raw 1.b.raw
	} >want
	cmp got want
}

@test "CHECK-063 half of the values are zero, exactly, and the model runs" {
	apr-prune --sparsity 0.5 "$model" 2>said | apr-pack -t gguf -o half.gguf
	grep -qx 'apr-prune: 21 of 30 tensors are pruned: 884736 of their 1769472 values are zero (50.00 %)' said
	[ "$(zeros half.gguf blk.1.ffn_up.weight)" = $((512 * 256 / 2)) ]
	[ "$(zeros half.gguf blk.2.attn_k.weight)" = $((128 * 256 / 2)) ]
	apr-stats --json half.gguf | grep -c '"zeros":0,' | grep -qx 9
	apr-header half.gguf | grep -q 'apr.prune.recipe .*{"by":"magnitude","sparsity":0.5,"scope":"tensor"}'
	apr-run -p ROMEO: -n 5 half.gguf >said
	[ -s said ]
}

@test "the result does not depend on threads, on the source, or on the form" {
	want=$(apr-prune -j 1 --sparsity 0.4 --imatrix "$data/imatrix.gguf" "$model" | apr-sum | grep tensor)
	[ "$(apr-prune -j 7 --sparsity 0.4 --imatrix "$data/imatrix.dat" "$model" | apr-sum | grep tensor)" = "$want" ]
	[ "$(apr-unpack "$model" | apr-prune --sparsity 0.4 --imatrix "$data/imatrix.gguf" |
		apr-sum | grep tensor)" = "$want" ]
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder 2>said
	[ "$(apr-prune --sparsity 0.4 --imatrix "$data/imatrix.gguf" folder | apr-adapt gguf |
		apr-sum | grep tensor)" = "$want" ]
	cmp <(apr-prune -j 1 --sparsity 0.3 --scope global "$model") \
		<(apr-unpack "$model" | apr-prune -j 5 --sparsity 0.3 --scope global)
}

@test "quantized tensors keep their zeros, or it is reported" {
	for type in q8_0 q4_0 q3_k; do
		apr-quant --pure $type "$model" 2>/dev/null | apr-prune --sparsity 0.5 >q 2>said
		! grep 'become other values' said || fail $type
		grep -q '21 tensors are quantized' said
		[ "$(zeros q blk.1.ffn_up.weight)" -ge $((512 * 256 / 2)) ] || fail $type
	done
	apr-quant --pure q4_k "$model" 2>/dev/null | apr-prune --sparsity 0.5 >q 2>said
	grep -q 'of these zeros become other values' said
	try apr-prune --sparsity 0.5 -o out <(apr-quant --pure q8_tensor "$model" 2>/dev/null)
	said 4 'Q8_TENSOR cannot be decoded and encoded again'
	[ ! -e out ]
}

@test "--target chooses matrices, also outside of layers" {
	apr-prune --sparsity 0.25 --target 'ffn_(up|down)' --target '^token_embd' "$model" >out 2>said
	grep -q '7 of 30 tensors' said
	[ "$(zeros out token_embd.weight)" = $((1024 * 256 / 4)) ]
	[ "$(zeros out blk.0.attn_q.weight)" = 0 ]
	try apr-prune --sparsity 0.5 --target 'nothing' -o gone "$model"
	said 2 '--target nothing: no matrix has such a name'
	[ ! -e gone ]
}

# refused STATUS MESSAGE OPTION...
refused() {
	local status=$1 message=$2
	shift 2
	try apr-prune "$@" -o gone m.gguf
	said "$status" "$message"
	[ ! -e gone ] || fail "$*"
}

@test "wrong use and wrong files are refused, and nothing is left" {
	layers
	for s in 1.5 -0.1 nan x '' 1e999; do
		refused 2 '--sparsity' --sparsity "$s"
	done
	refused 2 'one of --sparsity, --threshold and --nm is needed'
	refused 2 'one of --sparsity, --threshold and --nm is needed' --sparsity 0.1 --nm 2:4
	echo 'To be, or not to be' >own
	for o in '--drop 1 --text' --vocab '--sparsity 0.5 --imatrix'; do
		# shellcheck disable=SC2086
		try apr-prune $o own -f -o own "$model"
		said 2 'own: is the input file itself'
	done
	rm own
	for nm in 4:2 2:2 0:4 2:64 2 2:4x a:b; do
		refused 2 '--nm needs N:M' --nm $nm
	done
	refused 5 'its rows of 256 values are not whole groups of 3' --nm 1:3
	refused 2 '--scope is row, tensor, layer or global' --sparsity 0.5 --scope all
	refused 2 '--scope is for --sparsity' --nm 2:4 --scope row
	refused 2 '--by is magnitude, wanda or sparsegpt' --sparsity 0.5 --by luck
	refused 2 'needs --text: it computes with the model' --sparsity 0.5 --by sparsegpt
	refused 2 '--threshold goes by magnitude' --threshold 1 --by sparsegpt --text "$root/LICENSE"
	refused 2 '--imatrix is for --by wanda' --nm 2:4 --by sparsegpt --text "$root/LICENSE" --imatrix x
	refused 2 'is row or tensor' --sparsity 0.5 --by sparsegpt --text "$root/LICENSE" --scope layer
	refused 2 '--tokens is for --text' --sparsity 0.5 --tokens 3
	refused 4 'architecture' --sparsity 0.5 --by sparsegpt --text "$root/LICENSE"
	refused 2 '--by wanda needs --imatrix' --sparsity 0.5 --by wanda
	refused 2 '--threshold goes by magnitude' --threshold 1 --by wanda --imatrix "$data/imatrix.gguf"
	refused 2 'it belongs to another model' --sparsity 0.5 --imatrix "$data/imatrix.gguf"
	refused 4 'no importance matrix' --sparsity 0.5 --imatrix "$model"
	refused 3 'missing' --sparsity 0.5 --imatrix missing
	printf 'key general.type string imatrix\n%s\n%s\n' \
		'tensor blk.0.a.weight.in_sum2 F32 128 values 1' \
		'tensor blk.0.a.weight.counts F32 1 values 1' | mkmodel >short.gguf
	refused 5 'has 256 columns, and its entry in the importance matrix 128' --sparsity 0.5 --imatrix short.gguf
	echo 'tensor a.weight I32 4x4 ramp' | mkmodel >m.gguf
	refused 5 'no tensor is one that is pruned' --sparsity 0.5
	refused 4 'I32 cannot be decoded' --sparsity 0.5 --target a
	printf 'tensor %s F32 4 values 1\n' a.weight | mkmodel >m.gguf
	refused 5 'no tensor is one that is pruned' --sparsity 0.5
}

# number N: prints N in 4 bytes, the lowest first.
number() {
	local hex
	hex=$(printf %08x "$1")
	printf "\\x${hex:6:2}\\x${hex:4:2}\\x${hex:2:2}\\x${hex:0:2}"
}

# entry NAME COLUMNS EACH: an entry whose means are EACH times 0, then EACH times 1, and so on.
entry() {
	local i run
	number ${#1}
	printf %s "$1"
	number 1
	number "$2"
	for ((i = 0; i < $2; i += $3)); do
		run='\0\0\0\0'
		((i / $3 % 2)) && run='\0\0\x80\x3f'
		# shellcheck disable=SC2046,SC2059
		printf "$run%.0s" $(seq "$3")
	done
}

# perplexity FILE: of some text, to two decimals.
perplexity() {
	apr-run --perplexity text -c 128 "$1" 2>said | sed -n 's/^perplexity \([0-9]*\.[0-9][0-9]\).*/\1/p'
}

# Means of half of the heads and of half of the neurons are 0: setting the columns that read them to
# zero, and taking them away, are the same model.
# bats test_tags=repeats
@test "a model without heads and neurons computes what one with their outputs at zero does" {
	{
		number 6
		for i in 0 1 2; do
			entry blk.$i.attn_output.weight 256 64
			entry blk.$i.ffn_down.weight 512 128
		done
	} >half.dat
	head -c 6000 "$root/LICENSE" >text
	apr-prune --sparsity 0.5 --imatrix half.dat --target 'attn_output|ffn_down' -o zero "$model" 2>said
	apr-prune --heads 4 --neurons 256 --imatrix half.dat "$model" 2>said | apr-pack -t gguf -o less.gguf
	grep -qx 'apr-prune: 1410816 of 2295552 parameters stay (61.46 %)' said
	apr-header less.gguf | grep -q 'llama.attention.head_count_kv .* 2$'
	apr-header less.gguf | grep -q 'llama.attention.head_count .* 4$'
	apr-header less.gguf | grep -q 'llama.attention.key_length .* 32$'
	apr-header less.gguf | grep -q 'llama.feed_forward_length .* 256$'
	apr-get -l less.gguf | grep -q 'blk.2.attn_output.weight *BF16 *256x128'
	# Products of fewer values are rounded otherwise.
	awk -v a="$(perplexity less.gguf)" -v b="$(perplexity zero)" \
		'BEGIN { exit !(a > 1 && a / b < 1.001 && b / a < 1.001) }'
	# Blocks of 32 stay whole; those of 256 would not.
	apr-quant q8_0 "$model" 2>said | apr-prune --heads 2 --neurons 33 -o gone 2>said || status=$?
	[ "$status" = 5 ]
	apr-quant q8_0 "$model" 2>said | apr-prune --heads 2 --neurons 32 -o q8 2>said
	[ "$(apr-get -l q8 | grep -c Q8_0)" = 23 ]
}

@test "layers go, and the lists, counts and patterns of the others follow" {
	{
		printf 'key general.architecture string llama\nkey llama.block_count u32 4\n'
		printf 'key llama.leading_dense_block_count u32 2\nkey llama.attention.head_count_kv array:u32 5 6 7 8\n'
		printf 'tensor blk.%s.attn_q.weight F32 1x2 values %s\n' 0 0 1 1 2 2 3 3
		echo tensor output.weight F32 1x2 values 9
	} | mkmodel >m.gguf
	apr-prune --layers 1,2 m.gguf 2>said | apr-pack -t gguf -o two.gguf
	grep -qx 'apr-prune: 6 of 10 parameters stay (60.00 %)' said
	apr-header two.gguf >header
	grep -q 'llama.block_count .* 2$' header
	grep -q 'llama.leading_dense_block_count .* 1$' header
	grep -q 'llama.attention.head_count_kv .*5, 8' header || grep -q 'head_count_kv .*5 8' header ||
		fail "$(cat header)"
	[ "$(apr-get --text blk.1.attn_q.weight two.gguf | xargs)" = '3 3' ]
	refused 5 'has 4 layers, numbered from 0: 4 is not one of them' --layers 4
	refused 5 'none would be left' --layers 0,1,2,3
	refused 2 'is not a list of blocks' --layers 1-2
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder/ 2>said
	apr-prune --layers 0 folder | apr-pack -t safetensors -o two/ 2>said
	grep -q '"num_hidden_layers": 2' two/config.json
	apr-prune --layers 0 "$model" >want
	diff <(apr-adapt gguf two | apr-sum | grep tensor) <(apr-sum want | grep tensor)
}

# bats test_tags=repeats
@test "other architectures: fused queries, windows, experts" {
	cp "$data/arch/gptneox.gguf" m.gguf
	apr-prune --heads 1 --neurons 8 m.gguf 2>said | apr-pack -t gguf -o n.gguf
	apr-run -p x -n 2 n.gguf >said
	[ -s said ]
	cp "$data/arch/gemma2.gguf" m.gguf
	apr-prune --neurons 8 m.gguf 2>said | apr-pack -t gguf -o g.gguf
	apr-run -p x -n 2 g.gguf >said
	[ -s said ]
	refused 5 'another window by the pattern of the architecture' --layers 0
	cp "$data/arch/qwen2moe.gguf" m.gguf
	refused 4 'cannot be taken' --neurons 8
}

# pieces MODEL FILE: how the model cuts a text, without ids.
pieces() {
	apr-tok encode --any-tokenizer --pieces "$1" <"$2" 2>/dev/null | sed 's/^[0-9]* *//'
}

@test "tokens go, and a text that uses no others has the same pieces, embeddings and logits" {
	local id new t
	head -c 2000 "$root/LICENSE" >text
	apr-prune --vocab text "$model" 2>said | apr-pack -t gguf -o less.gguf
	grep -qx 'apr-prune: 462 tokens stay' said || fail "$(cat said)"
	cmp <(pieces less.gguf text) <(pieces "$model" text)
	apr-header less.gguf >header
	grep -q 'llama.vocab_size .* 462$' header
	grep -q 'tokenizer.ggml.tokens .* 462:' header
	grep -q 'apr.prune.recipe .*{"vocab":"text"}' header
	# Each token has its own row.
	for t in token_embd output; do
		apr-get $t.weight "$model" >old
		apr-get $t.weight less.gguf >new
		paste <(apr-tok encode "$model" <text | tr ' ,' '\n\n' | grep .) \
			<(apr-tok encode less.gguf <text | tr ' ,' '\n\n' | grep .) | sort -u | head -n 40 >ids
		[ "$(wc -l <ids)" = 40 ]
		while read -r id new; do
			cmp -n 512 -i $((512 * id)):$((512 * new)) old new || fail "$t $id $new"
		done <ids
	done
	# The logits after the first token, in plain C: products of other numbers of rows add in another order.
	export APR_CPU=ref
	head -c 300 text >start
	apr-run --logits -f start "$model" | od -An -v -tx4 -w4 >1.logits
	apr-run --logits -f start less.gguf | od -An -v -tx4 -w4 >2.logits
	while read -r id new; do
		[ "$(sed -n "$((id + 1))p" 1.logits)" = "$(sed -n "$((new + 1))p" 2.logits)" ] || fail "$id $new"
	done <ids
	# A folder: its tokenizer and configuration follow.
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder 2>said
	apr-prune --vocab text folder 2>said | apr-pack -t safetensors -o less/ 2>>said
	grep -q '"vocab_size": 462' less/config.json
	cmp <(pieces less text) <(pieces "$model" text)
	diff <(apr-adapt gguf less 2>said | apr-sum | grep tensor) <(apr-sum less.gguf | grep tensor)
	# Ids in lists follow, those of special tokens and of any role stay, others go from lists. Their parts stay too.
	apr-pack -t safetensors -o named/ folder
	echo '{"eos_token_id": [1, 801], "suppress_tokens": [1010, 801, -1], "pad_token_id": -1,
		"bad_words_ids": [[801, 1], [1, 1010], [1010]], "force_words_ids": [[[801, 801]], [[1]]],
		"forced_decoder_ids": [[1010, 801], [2, null]]}' \
		>named/generation_config.json
	sed -i '0,/{/s//{"image_token_id": 900,/' named/config.json
	apr-prune --vocab text named 2>said | apr-pack -t safetensors -o fewer/ 2>>said
	grep -qx 'apr-prune: 467 tokens stay' said || fail "$(cat said)"
	tr -d ' \n' <fewer/generation_config.json >said
	id=$(sed 's/.*"eos_token_id":\[1,\([0-9]*\)\],.*/\1/' said)
	grep -qF "\"suppress_tokens\":[$id,-1]" said || fail "$(cat said)"
	grep -q '"pad_token_id":-1' said
	grep -qF "\"bad_words_ids\":[[$id,1]]" said || fail "$(cat said)"
	grep -qF "\"force_words_ids\":[[[$id,$id]],[[1]]]" said || fail "$(cat said)"
	grep -qF "\"forced_decoder_ids\":[[1010,$id],[2,null]]" said || fail "$(cat said)"
	cmp <(apr-tok decode --tokens "$id" fewer) <(apr-tok decode --tokens 801 named)
	id=$(sed -n 's/.*"image_token_id": *\([0-9]*\).*/\1/p' fewer/config.json)
	cmp <(apr-tok decode --tokens "$id" fewer) <(apr-tok decode --tokens 900 named)
	# With heads, neurons and layers.
	apr-prune --vocab text --heads 2 --neurons 32 --layers 1 "$model" 2>said | apr-pack -t gguf -o all.gguf
	apr-run -p The -n 2 all.gguf >said
	apr-header all.gguf | grep -q 'llama.attention.head_count .* 6$'
	[ "$(apr-get --text blk.1.attn_norm.weight all.gguf)" = "$(apr-get --text blk.2.attn_norm.weight "$model")" ]
}

@test "every kind of tokenizer keeps what a text needs" {
	local text m
	load ../vocabularies
	plain() {
		bpe llama-bpe
		echo key tokenizer.ggml.add_bos_token bool 0
	}
	for text in 'the 123 there' 'x' 'abcab abc é <user>' 'un aff, unable'; do
		printf %s "$text" >text
		plain | mkmodel >bpe.gguf
		spm | mkmodel >spm.gguf
		wpm | mkmodel >wpm.gguf
		for m in bpe spm wpm; do
			apr-prune --vocab text $m.gguf 2>said | apr-pack -f -t gguf -o less.gguf
			cmp <(pieces less.gguf text) <(pieces $m.gguf text) || fail "$m $text"
		done
	done
	apr-header less.gguf | grep -q 'cls_token_id .* 2$'
	# Sides of merges that are not tokens of the text stay, others go, and ids follow.
	printf the >text
	apr-prune --vocab text bpe.gguf 2>said | apr-pack -f -t gguf -o less.gguf
	grep -qx 'apr-prune: 259 tokens stay' said || fail "$(cat said)"
	apr-header less.gguf | grep -q 'tokenizer.ggml.merges .* 2: t h th e$'
	printf %s 'abc' >text
	apr-prune --vocab text spm.gguf 2>said >out
	grep -qx 'apr-prune: 266 tokens stay' said || fail "$(cat said)"
	cp bpe.gguf m.gguf
	: >empty
	refused 5 'empty: is empty' --vocab empty
	printf '\xff' >bad
	refused 5 'bad: is not a text in UTF-8' --vocab bad
	refused 2 '--vocab and --text exclude each other' --vocab text --drop 1 --text text
	echo 'tensor token_embd.weight F32 4x4 noise' | cat <(plain) - | mkmodel >m.gguf
	refused 5 'has no row for each of 264 tokens' --vocab text
	echo 'tensor other.weight F32 4x4 noise' | cat <(plain) - | mkmodel >m.gguf
	refused 5 'has no embeddings of tokens' --vocab text
	printf 'tensor %s.weight F32 264x4 noise\n' token_embd other | cat <(plain) - | mkmodel >m.gguf
	refused 4 'has a row for each token, but what it is is not known' --vocab text
	echo 'tensor a.weight F32 4x4 noise' | mkmodel >m.gguf
	refused 4 'has no vocabulary' --vocab text
}

# bats test_tags=repeats
@test "published vocabularies cut their texts as before" {
	local v text data=${APR_TEST_DATA:-$root/../shared/data}/vocab
	[ -d "$data" ] || skip 'no reference data'
	for v in llama-spm bert-bge gpt-2 falcon; do
		text=$data/ggml-vocab-$v.gguf.inp
		apr-prune --vocab "$text" "$data/ggml-vocab-$v.gguf" 2>/dev/null | apr-pack -f -t gguf -o less.gguf
		cmp <(pieces less.gguf "$text") <(pieces "$data/ggml-vocab-$v.gguf" "$text") || fail $v
		[ "$(apr-tok encode --count less.gguf <"$text" 2>/dev/null)" -gt 500 ]
	done
}

@test "--drop takes the layer whose input and output are most alike" {
	head -c 3000 "$root/LICENSE" >text
	apr-prune --drop 1 --text text "$model" >one 2>said
	grep -q 'layer 0: cosine 0\.' said
	best=$(sed -n 's/.*layer \([0-9]\): cosine \(.*\)/\2 \1/p' said | sort -r | head -n 1)
	apr-header one | grep -q "apr.prune.recipe .*\"layers\":\[${best#* }\]"
	cmp <(apr-unpack "$model" | apr-prune -j 1 --drop 1 --text text) one
	cp "$model" m.gguf
	: >empty
	refused 5 'empty: is empty' --drop 1 --text empty
	refused 5 'has 3 layers: 3 cannot go' --drop 3 --text text
	refused 3 'missing' --drop 1 --text missing
	refused 2 '--text is for --drop and --by sparsegpt' --sparsity 0.5 --text text
	refused 2 '--layers and --drop exclude each other' --layers 1 --drop 1
	refused 2 'is needed, or --heads' --heads 2 --sparsity 0.5
	refused 5 'in groups of 2: 3 is not a number of whole groups' --heads 3
	refused 5 'has 8 heads: 8 cannot go' --heads 8
	refused 5 'layer 0 has 512 neurons: 512 cannot go' --neurons 512
	echo 'tensor a.weight F32 4x4 noise' | mkmodel >m.gguf
	refused 4 'its architecture is not known' --heads 2
}

@test "NaN and infinities stay" {
	echo 'tensor a.weight F32 2x4 values 1 0x7fc00000 3 4 0x7f800000 -1 2 0x7fc00000' | mkmodel >m.gguf
	apr-prune --sparsity 0.5 m.gguf >out 2>said
	[ "$(apr-get --text a.weight out | xargs)" = '0 nan 0 4 inf 0 0 nan' ]
}
