# A FILE is lent to the apr-unpack that reads its header, which tells where tensors lie:
# what a tool reads there by itself is what comes by a pipe.
load ../helper

setup_file() {
	vectors gguf_good "$BATS_FILE_TMPDIR"
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	llama 2 256 512 800 >f16.gguf
	apr-keygen -W -o key >/dev/null
	apr-quant f32 f16.gguf | apr-quant --tensor-type 'ffn_up=q4_k' --tensor-type 'ffn_down=bf16' \
		--fallback q8_0 --pure q8_0 | apr-quant --allow-requantize --tensor-type 'attn_q=int8' \
		--pure q8_0 | apr-sign key | apr-pack -t gguf -o mixed.gguf
	apr-unpack mixed.gguf | apr-pack -o mixed.apr
	apr-unpack f16.gguf | apr-pack -t safetensors --plain -o f16.safetensors
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
}

# Both ways to the same: FILE, TOOL ...
alike() {
	local file=$1
	shift
	"$@" "$file" >"$BATS_TEST_TMPDIR/lent" || fail "$* $file" || return
	apr-unpack "$file" | "$@" | cmp - "$BATS_TEST_TMPDIR/lent" || fail "$* $file"
}

@test "a tool says of a FILE what it says of a stream" {
	local f
	set +T
	for f in f16.gguf mixed.gguf mixed.apr f16.safetensors; do
		alike "$f" apr-sum || return
		alike "$f" apr-sum -j 3 --json || return
		alike "$f" apr-stats --json || return
	done
	for f in gguf_scalars gguf_empty_tensors gguf_unpadded gguf_index_order gguf_unknown_type_last; do
		alike "$f" apr-sum || return
	done
	alike mixed.gguf apr-sum --sha256
	apr-sum mixed.gguf | diff - <(APR_CPU=ref apr-sum mixed.gguf)
	alike mixed.gguf apr-stats --hist blk.0.attn_q.weight
	alike f16.gguf apr-get blk.1.ffn_up.weight
	alike mixed.gguf apr-verify -q key.pub
	alike mixed.gguf apr-verify key.pub
	alike mixed.gguf apr-sign key
}

@test "a FILE is quantized as a stream is" {
	local type
	for type in q8_0 q4_k_m int8 apr_q4 f16; do
		alike f16.gguf apr-quant "$type"
		alike f16.gguf apr-quant -j 3 --prune-layers 1 "$type"
		alike mixed.gguf apr-quant --allow-requantize "$type"
		alike f16.safetensors apr-quant "$type"
	done
	alike f16.gguf apr-quant --check q4_0
}

@test "only who has the same file open is told places" {
	apr-unpack f16.gguf >all
	apr-unpack --places 7 f16.gguf 7<f16.gguf >told
	[ "$(wc -c <told)" -lt 20000 ]
	[ "$(grep -ao PLAC told | wc -l)" -eq "$(grep -ao TENS all | wc -l)" ]
	apr-unpack --places 7 f16.gguf 7<mixed.gguf | cmp - all
	apr-unpack --places 7 f16.gguf 7<&- | cmp - all
	apr-unpack --places 7 f16.gguf 7</dev/null | cmp - all
	# The same file from a pipe has no places.
	cat f16.gguf | apr-unpack --places 7 7<f16.gguf | cmp - all
	# An APR2 file has sums of its tensors: its reader still looks at them.
	apr-unpack --places 7 mixed.apr 7<mixed.apr | apr-sum >/dev/null
}

@test "what was told to one tool is nothing for another" {
	apr-unpack --places 7 f16.gguf 7<f16.gguf >told
	try apr-sum - <told
	said 4 'PLAC: a frame that this tool does not know'
	try apr-pack -o "$BATS_TEST_TMPDIR/made" told
	said 4 'PLAC'
	[ ! -e "$BATS_TEST_TMPDIR/made" ]
}

@test "a file that shrinks as it is read is a fault" {
	local tool pid status
	cd "$BATS_TEST_TMPDIR" || return
	for tool in apr-sum 'apr-stats --json' 'apr-quant q8_0'; do
		echo 'tensor big.weight F16 4000000x1024 hole' | mkmodel >big.gguf
		$tool big.gguf >/dev/null 2>err &
		pid=$!
		sleep 0.7
		truncate -s 1000000 big.gguf
		status=0
		wait $pid || status=$?
		[ $status -eq 4 ] || fail "$tool: $status" "$(cat err)" || return
	done
	rm big.gguf
}
