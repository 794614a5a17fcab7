# apr-quant: metadata that it writes and is told to write, blocks left out, errors
# that are too large
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

digests_of() {
	digests <"$1" | sort
}

# KEY TYPE VALUE of each key, in order.
keys_of() {
	apr-header "$1" | sed -n '/^metadata/,$ s/^  \([^ ]*\) *\([^ ]*\) */\1 \2 /p'
}

# The last $2 of them.
last_keys() {
	keys_of "$1" | tail -n "$2"
}

@test "what was done is recorded: method, bits a weight, rules, original types" {
	apr-quant q4_0 --pure --tensor-type ffn_up=q8_0 --tensor-type 'blk\.1.*down=f16' "$model" >made
	diff <(last_keys made 7) - <<-END
		general.quantization_version u32 2
		general.file_type u32 2
		apr.quantization.method string q4_0 --pure
		apr.quantization.bits_per_weight f32 5.86327648
		apr.quantization.original_types array:string 1: BF16
		apr.quantization.rules array:string 2: ffn_up=q8_0 blk\\\\.1.*down=f16
		apr.quantization.calibration_method string none
	END
	# As measured.
	apr-header -l made | awk '{ n = split($3, d, "x"); v = 1; for (i = 1; i <= n; i++) v *= d[i]
		all += v; bytes += $NF } END { printf "%.6f\n", 8 * bytes / all }' >bits
	[ "$(cat bits)" = 5.863276 ]
	# The same for a member of APR2.
	apr-pack made | grep -ao '"quantization":{[^}]*}' >member
	grep -qx '"quantization":{"method":"Q4_0","bits_per_weight":5.863}' member ||
		fail "$(cat member)"
	# Through containers it is content like any other.
	for format in gguf apr2 safetensors; do
		apr-pack -t $format made >packed
		diff <(keys_of made) <(keys_of packed)
	done
}

@test "bits per weight in APR2: the figure of version 0.1.0 is read too, no other" {
	local crc
	apr-quant --no-record q4_k_m "$model" 2>/dev/null | apr-pack >now.apr
	grep -aqF '"bits_per_weight":4.904}' now.apr
	# Of the tensors in blocks alone. The CRC begins the last 16 bytes, and the
	# fault tells the right one.
	sed 's/"bits_per_weight":4.904/"bits_per_weight":4.883/' now.apr >before.apr
	try apr-unpack before.apr
	said 4 'its CRC is 0x'
	crc=$(sed 's/.*its CRC is 0x\(........\),.*/\1/' "$err")
	head -c -16 before.apr >old.apr
	printf '%b' "\\x${crc:6:2}\\x${crc:4:2}\\x${crc:2:2}\\x${crc:0:2}" >>old.apr
	tail -c 12 before.apr >>old.apr
	apr-unpack old.apr | apr-pack | cmp - now.apr
	sed 's/"bits_per_weight":4.904/"bits_per_weight":4.884/' now.apr >other.apr
	try apr-unpack other.apr
	said 4 'its member quantization is not what follows from its keys and tensors'
}

@test "a second run remembers the types that were first, and drops rules that were not" {
	apr-quant q8_0 --tensor-type ffn_up=f16 "$model" >once
	apr-quant q4_0 --allow-requantize once >twice
	last_keys twice 4 | grep -qx 'apr.quantization.original_types array:string 3: BF16 Q8_0 F16'
	! keys_of twice | grep -q quantization.rules
	[ "$(keys_of twice | cut -d' ' -f1 | sort | uniq -d | wc -l)" -eq 0 ]
}

@test "an importance matrix is what it was calibrated with" {
	apr-quant q4_k_m --imatrix "$root/tests/data/imatrix.gguf" "$model" >made
	keys_of made >keys
	grep -qx 'apr.quantization.calibration_method string imatrix' keys
	chunks=$(sed -n 's/^quantize.imatrix.chunks_count u32 //p' keys)
	[ "$chunks" -gt 0 ]
	grep -qx "apr.quantization.calibration_samples u32 $chunks" keys
}

@test "a long list of rules is recorded as far as there is room" {
	# Each option must decide the type of this many tensors.
	{
		echo 'key general.architecture string llama'
		for ((i = 0; i < 510; i++)); do echo "tensor t$i.weight F32 2x32 noise"; done
	} | mkmodel >many.gguf
	for ((i = 0; i < 510; i++)); do echo "^t$i[.]=q8_0"; done >rules
	apr-quant q4_0 --tensor-type-file rules many.gguf >made
	keys_of made | grep -q '^apr.quantization.rules array:string 501: ^t0'
	grep -aqF '"^t499[.]=q8_0","and 10 more"]' made
}

@test "--no-record leaves the metadata that llama-quantize writes" {
	need_data
	local type folder=$APR_TEST_DATA/models/shakespeare
	for type in Q8_0 Q4_K_M; do
		apr-quant --no-record $type "$folder/shakespeare-BF16.gguf" >made
		diff <(keys_of made) <(keys_of "$folder/shakespeare-$type.gguf")
		# Its tensors are the same too, if in another order.
		apr-unpack "$folder/shakespeare-$type.gguf" >want
		cmp <(digests_of made) <(digests_of want)
	done
	apr-quant --no-record q8_0 "$model" >one
	apr-quant q8_0 "$model" >other
	cmp <(digests_of one) <(digests_of other)
}

@test "--override-kv sets a key, at the end, in llama-quantize's types" {
	apr-quant q8_0 --no-record --override-kv general.name=str:a=b:c \
		--override-kv llama.context_length=int:4096 \
		--override-kv llama.rope.freq_base=float:1e6 \
		--override-kv tokenizer.ggml.add_bos_token=bool:true \
		--override-kv new.key=int:4294967295 "$model" >made
	diff <(last_keys made 7) - <<-END
		general.quantization_version u32 2
		general.file_type u32 7
		general.name string a=b:c
		llama.context_length u32 4096
		llama.rope.freq_base f32 1000000
		tokenizer.ggml.add_bos_token bool yes
		new.key u32 4294967295
	END
	[ "$(keys_of made | cut -d' ' -f1 | sort | uniq -d | wc -l)" -eq 0 ]
	apr-pack -t gguf made >made.gguf
	diff <(keys_of made) <(keys_of made.gguf)
	# The last of a key wins; ours too can be set.
	apr-quant q8_0 --no-record --override-kv general.file_type=int:1024 \
		--override-kv a=bool:true --override-kv a=bool:false "$model" >made
	diff <(last_keys made 2) <(printf '%s\n' 'general.file_type u32 1024' 'a bool no')
}

@test "--override-kv is what the rules of a mixture see" {
	mkmodel <<-END >eight.gguf
		key general.architecture string llama
		key llama.block_count u32 1
		tensor blk.0.attn_v.weight F32 4x256 noise
		tensor output.weight F32 4x256 noise
	END
	apr-quant q4_0 eight.gguf | apr-header -l | grep -q 'attn_v.* Q4_0'
	apr-quant q4_0 --override-kv llama.expert_count=int:8 eight.gguf |
		apr-header -l | grep -q 'attn_v.* Q8_0'
}

@test "--override-kv: what is none, and what no such value can hold" {
	local bad
	for bad in a a= =int:1 a=1 a=int: a=int:x a=int:1x a=int:-1 a=int:4294967296 \
		a=float: a=float:x a=float:inf a=float:1e99 a=bool:yes a=bool: a=long:1 \
		$'a\xff=int:1' $'a=str:\xff'; do
		try apr-quant q8_0 --override-kv "$bad" "$model"
		said 2
	done
	try apr-quant q8_0 --override-kv general.alignment=int:64 "$model"
	said 2 "is the container's"
	try apr-quant q8_0 --override-kv tokenizer.ggml.tokens=str:x "$model"
	[ "$status" -eq 0 ] || said 4 'too long a value'
	try apr-quant q8_0 --override-kv "a=str:$(head -c 70000 /dev/zero | tr '\0' x)" "$model"
	said 2
}

@test "--prune-layers leaves out blocks and numbers the rest anew" {
	apr-quant bf16 --prune-layers 1 "$model" >made
	apr-unpack "$model" >all
	diff <(apr-header -l made | awk '{ print $1 }') \
		<(apr-header -l all | awk '!/^blk.1/ { sub(/^blk.2/, "blk.1"); print $1 }')
	keys_of made | grep -qx 'llama.block_count u32 2'
	diff <(digests_of made | sed 's/^blk.1/blk.2/') <(digests_of all | grep -v '^blk.1')
	# Several, in any order, twice is once.
	apr-quant bf16 --prune-layers 2,0,2 "$model" >made
	diff <(apr-header -l made | awk '{ print $1 }') \
		<(apr-header -l all | awk '!/^blk.[02]/ { sub(/^blk.1/, "blk.0"); print $1 }')
	keys_of made | grep -qx 'llama.block_count u32 1'
	# The plan is that of the model which is left.
	apr-quant -n --json q4_k_m --prune-layers 0 "$model" >plan
	apr-quant q4_k_m --prune-layers 0 "$model" >made
	diff <(sed 's/.*"name":"\([^"]*\)".*"to":"\([^"]*\)".*"bytes":\([0-9]*\).*/\1 \2 \3/' plan) \
		<(apr-header -l made | awk '{ print $1, $2, $NF }')
	apr-pack -t gguf made >made.gguf
	cmp <(digests_of made) <(apr-unpack made.gguf | digests | sort)
}

@test "--prune-layers: types are those of the whole model, as llama-quantize has them" {
	# Of three blocks the middle one has no more bits; of two the last one would.
	apr-quant q4_k_m --prune-layers 2 "$model" >made
	apr-header -l made | grep -q '^blk.1.ffn_down.weight  *Q4_K'
	apr-quant q4_k_m "$model" | apr-header -l - | grep -q '^blk.2.ffn_down.weight  *Q6_K'
}

@test "--prune-layers: importance goes with its tensor" {
	apr-quant q4_0 --imatrix "$root/tests/data/imatrix.gguf" "$model" >all
	apr-quant q4_0 --imatrix "$root/tests/data/imatrix.gguf" --prune-layers 0 "$model" >made
	diff <(digests_of made | grep '^blk' | sed 's/^blk.1/blk.2/; s/^blk.0/blk.1/') \
		<(digests_of all | grep '^blk.[12]')
}

@test "--prune-layers: what is no list, no block, or everything" {
	local bad
	for bad in , 1, ,1 a 1-2 -1 1,,2 18446744073709551616; do
		try apr-quant q8_0 --prune-layers="$bad" "$model"
		said 2 'is not a list of blocks'
	done
	try apr-quant q8_0 --prune-layers 3 "$model"
	said 2 'there is no block 3'
	try apr-quant q8_0 --prune-layers 0,1,2 "$model"
	said 2 'no block would be left'
	try apr-quant q8_0 --prune-layers 7 -o made "$model"
	said 2
	[ ! -e made ]
}

# Four blocks, KEY lines after them.
four_blocks() {
	{
		echo 'key general.architecture string llama'
		echo 'key llama.block_count u32 4'
		[ $# -eq 0 ] || printf 'key %s\n' "$@"
		for i in 0 1 2 3; do echo "tensor blk.$i.attn_v.weight F32 4x32 noise"; done
	} | mkmodel
}

@test "--prune-layers shortens the lists with an item for each block" {
	four_blocks 'llama.attention.head_count array:u32 4 5 6 7' \
		'llama.attention.sliding_window_pattern array:bool 1 0 0 1' \
		'llama.feed_forward_length array:u64 10 20 30 40' 'llama.x.f array:f32 1 2 3 4' \
		'llama.x.text array:string a bb \e dddd' 'llama.x.small array:u8 9 8 7 6' \
		'llama.rope.dimension_sections array:i32 1 2 3 4' 'llama.x.three array:u32 1 2 3' \
		'llama.x.five array:u32 1 2 3 4 5' 'llama.x.none array:u32' \
		'other.list array:u32 1 2 3 4' 'llamas.list array:u32 1 2 3 4' >m.gguf
	try apr-quant bf16 --prune-layers 2,0 -o made m.gguf
	[ "$status" -eq 0 ]
	apr-header made >said
	while read -r key value; do
		grep -qE "^ +$key +[^ ]+ +$value$" said || fail "$key: not $value" "$(cat said)"
	done <<-'END'
		llama.attention.head_count 2: 5 7
		llama.attention.sliding_window_pattern 2: no yes
		llama.feed_forward_length 2: 20 40
		llama.x.f 2: 2 4
		llama.x.text 2: bb dddd
		llama.x.small 2: 8 6
		llama.rope.dimension_sections 4: 1 2 3 4
		llama.x.three 3: 1 2 3
		llama.x.five 5: 1 2 3 4 5
		llama.x.none 0:
		other.list 4: 1 2 3 4
		llamas.list 4: 1 2 3 4
		llama.block_count 2
	END
	four_blocks 'llama.attention.head_count array:u32 4 5 6 7' >m.gguf
	apr-quant bf16 --prune-layers 3 --no-record m.gguf | apr-pack -t gguf -o short.gguf
	[ "$(apr-header short.gguf | grep -c 'head_count .* 3: 4 5 6$')" -eq 1 ]
}

@test "--prune-layers tells of lists that it does not shorten" {
	# More items than a plan holds.
	{
		echo 'key general.architecture string llama'
		echo 'key llama.block_count u32 1030'
		echo 'key llama.attention.head_count array:u32 *1030'
		for i in {0..1029}; do echo "tensor blk.$i.attn_v.weight F32 4x32 noise"; done
	} | mkmodel >lists.gguf
	APR_LOG_LEVEL='' try apr-quant q4_0 --prune-layers 0 lists.gguf
	[ "$status" -eq 0 ]
	grep -qF 'llama.attention.head_count may list something for each block' "$err"
	# A list does not count if the number of blocks is wrong.
	four_blocks 'llama.attention.head_count array:u32 4 5 6 7' >m.gguf
	apr-quant q4_0 --prune-layers 0 --override-kv llama.block_count=int:3 m.gguf >made
	apr-header made | grep -q 'head_count .* 4: 4 5 6 7$'
	sed 's/block_count/block_cOunt/' m.gguf >other.gguf
	apr-quant q4_0 --prune-layers 0 other.gguf >made
	apr-header made | grep -q 'head_count .* 4: 4 5 6 7$'
	four_blocks >m.gguf
	try apr-quant q4_0 --prune-layers 0,1,2 --override-kv llama.block_count=int:2 m.gguf
	said 5 'is not a number of blocks'
}

@test "--max-rmse ends the run where a tensor's error is larger" {
	try apr-quant q8_0 --max-rmse 0.001 "$model"
	quiet
	try apr-quant q4_0 --max-rmse 0.001 "$model"
	said 5 'token_embd.weight: as Q4_0, its rmse of 0.003'
	try apr-quant q4_0 --max-rmse 0.001 -o made "$model"
	said 5
	[ ! -e made ]
	# Without --check there is no message and no change.
	apr-quant q8_0 --max-rmse 1 "$model" | cmp - <(apr-quant q8_0 "$model")
	# The bound is inclusive: no error at all passes 0.
	try apr-quant f32 --max-rmse 0 "$model"
	quiet
	apr-quant q8_0 --check --max-rmse 1 "$model" 2>check >/dev/null
	[ "$(wc -l <check)" -eq 24 ]
	for bad in x 1x -1 nan; do
		try apr-quant q8_0 --max-rmse "$bad" "$model"
		said 2 '--max-rmse needs a number'
	done
}
