# The WebAssembly module (make wasm) under node: the answers, bytes and errors of the native tools.
load ../helper

module=$root/build/wasm/aprml.wasm
looks=$root/build/wasm/aprml-look.wasm
core=$root/build/wasm/aprml-core.wasm
runs=$root/build/wasm/aprml-run.wasm
all=$root/build/wasm/aprml-full.wasm
web=$root/tests/web

setup() {
	[ -e "$module" ] || skip "no module: make wasm"
	type -P node >/dev/null || skip "no node"
	cd "$BATS_TEST_TMPDIR" || return
	export APR_LOG_LEVEL=error
	PATH=$PATH:$APR_GEN
}

# job FIELD…: adds a line for tests/web/jobs.mjs; jobs [MODULE]: does them.
job() {
	local IFS=$'\t'
	echo "$*" >>lines
}

jobs() {
	node "$web/jobs.mjs" "${1:-$module}" <lines >said || fail "$(cat said)"
}

@test "wasm: each fault of each container is named as natively, with its code" {
	local of folders=()
	for of in gguf apr1 apr2 apr64 stream safetensors torch onnx; do
		vectors ${of}_faults $of
		folders+=($of)
	done
	node "$web/faults.mjs" "$all" "${folders[@]/%onnx/onnx=onnx}" >said
	[ "$(cut -d' ' -f1 said)" -gt 1300 ]
}

@test "wasm: good files of each container become the stream that apr-unpack writes" {
	local of f n=0
	for of in gguf apr1 apr64 stream safetensors torch onnx; do
		vectors ${of}_good $of
	done
	apr-pack -z zstd:5 -o zstd.apr "$model"
	apr-pack -z lz4 -o lz4.apr "$model"
	for f in */* "$root"/tests/data/arch/*.gguf lz4.apr zstd.apr; do
		# It refers to a file beside it, which faults.mjs gives a module.
		[ "$f" != onnx/external ] || continue
		[ -f "$f" ] && apr-unpack "$f" >want.$n 2>/dev/null || continue
		job write "$f" got.$n to=stream
		n=$((n + 1))
	done
	[ $n -gt 50 ]
	jobs "$all"
	while [ $((n--)) -gt 0 ]; do
		cmp want.$n got.$n
	done
}

@test "wasm: the small modules see in containers what the large one does, and refuse the rest" {
	local of f
	for of in gguf apr1 apr64 stream safetensors onnx; do
		vectors ${of}_good $of
	done
	apr-pack -z zstd:5 -o zstd.apr "$model"
	apr-unpack "$model" | apr-quant f32 | apr-pack -z lz4 -o lz4.apr
	for f in gguf/* apr1/* apr64/* stream/* safetensors/* zstd.apr lz4.apr "$root"/tests/data/arch/*.gguf; do
		[ -f "$f" ] && apr-unpack "$f" >/dev/null 2>&1 || continue
		job look "$f"
	done
	mv lines looks
	sed 's/^look/judge/' looks >judges
	cat looks judges >lines
	jobs
	mv said want
	cp looks lines
	jobs "$looks"
	mv said seen
	jobs "$runs"
	cmp seen said
	cp judges lines
	jobs "$core"
	cmp want <(cat seen said)
	printf 'look\tonnx/external\n' >lines
	for f in "$looks" "$core" "$runs"; do
		run ! jobs "$f"
		grep -q 'is not a model file of a known format (1)$' said
	done
}

@test "wasm: compressed tensors that are damaged have the errors of the library, from aprml-codecs.wasm too" {
	local codec at
	for codec in lz4 zstd; do
		apr-unpack "$model" | apr-quant f32 | apr-pack -z $codec -o $codec
		for at in 300000 1000000 1500001; do
			cp $codec $codec.$at
			head -c 70000 /dev/zero | tr '\0' '\377' | dd of=$codec.$at bs=70000 seek=$at oflag=seek_bytes \
				conv=notrunc status=none
			job look $codec.$at
		done
	done
	run ! jobs "$all"
	mv said want
	run ! jobs "$module"
	cmp want said
	grep -q 'its zstd frame is damaged' said
	grep -q 'its lz4 frame is damaged' said
	# It lies beside the module, and only compressed tensors ask for it.
	mkdir alone
	cp "$looks" alone
	printf 'look\t%s\n' "$model" >lines
	jobs "alone/${looks##*/}"
	printf 'look\tzstd\n' >lines
	run ! jobs "alone/${looks##*/}"
	grep -q 'aprml-codecs.wasm, which decompresses, cannot be loaded (7)$' said
	# The glue of a bundle has no address beside which it could lie.
	node --input-type=module -e "import { readFileSync as read } from 'node:fs';
		const glue = read('$root/web/aprml.js', 'base64'), { load } = await import('data:text/javascript;base64,' + glue);
		console.log((await load(read('$looks'))).open('$model').tensors.length > 0);" >said
	[ "$(cat said)" = true ]
	# Something else lies there.
	for codec in "$looks" "$model" /dev/null; do
		cp "$codec" alone/aprml-codecs.wasm
		run ! jobs "alone/${looks##*/}"
		grep -q 'aprml-codecs.wasm, which decompresses, cannot be loaded (7)$' said
	done
}

@test "wasm: containers and types have the bytes of the native tools" {
	local to type
	for to in gguf safetensors apr2 apr2-64; do
		job write "$model" $to to=$to
	done
	for type in q4_0 q8_0 q4_k_m q6_k q2_k q3_k_s iq4_xs mxfp4 f16; do
		job write "$model" $type.gguf to=gguf type=$type
	done
	jobs
	mv lines small
	job write "$model" packed to=apr2 compress=zstd:5
	job write "$model" packed.lz4 to=apr2 compress=lz4
	job write "$model" apr1 to=apr1
	run ! jobs
	grep -q 'this module does not compress' said
	jobs "$all"
	for to in gguf safetensors apr1 apr2 apr2-64; do
		apr-unpack "$model" | apr-pack -t $to | cmp - $to
	done
	apr-unpack "$model" | apr-pack -z zstd:5 | cmp - packed
	apr-unpack "$model" | apr-pack -z lz4 | cmp - packed.lz4
	for type in q4_0 q8_0 q4_k_m q6_k q2_k q3_k_s iq4_xs mxfp4 f16; do
		apr-unpack "$model" | apr-quant $type | apr-pack -t gguf | cmp - $type.gguf
	done
}

@test "wasm: signatures and seals made natively open there, and the other way" {
	apr-keygen -W -o key >/dev/null
	age-keygen -o me.key 2>/dev/null
	age-keygen -y me.key >me.pub
	pipe "apr-unpack '$model' | apr-sign key | apr-pack -o signed.apr"
	pipe "apr-unpack signed.apr | apr-encrypt -R me.pub | apr-pack -o sealed.apr"
	job verify signed.apr key.pub
	job write sealed.apr opened.apr to=apr2 open=me.key
	job write "$model" signed-there.apr to=apr2 sign=key
	job write signed-there.apr sealed-there.apr to=apr2 seal=me.pub
	jobs
	cp signed-there.apr large.apr
	jobs "$runs"
	cmp signed-there.apr large.apr
	cmp opened.apr signed.apr
	apr-verify -q key.pub signed-there.apr
	pipe "apr-unpack sealed-there.apr | apr-decrypt -i me.key | apr-verify -q key.pub"
	pipe "apr-unpack sealed-there.apr | apr-decrypt -i me.key | apr-pack | cmp - signed-there.apr"
	# A format without checksums.
	apr-pack -t gguf -o signed.gguf signed.apr
	printf X | dd of=signed.gguf bs=1 seek=2000000 conv=notrunc status=none
	echo "verify	signed.gguf	key.pub" >lines
	run ! jobs "$runs"
	grep -q 'its bytes differ from what was signed (6)$' said
	# What this module leaves to the larger one.
	echo "write	$model	x	to=apr2	type=q8_0" >lines
	run ! jobs "$runs"
	grep -q 'type: is not for this module, which signs and seals' said
	echo "write	$model	x	to=gguf" >lines
	run ! jobs "$runs"
	grep -q 'to: is not for this module, which signs and seals' said
}

@test "wasm: logits are those of the native tools within 1e-4, and text is the same" {
	local of
	for of in gemma2 gptneox qwen2moe; do
		job logits "$root/tests/data/arch/$of.gguf" $of 3 5 7 11 13 17
	done
	job logits "$model" shakespeare 3 5 7 11 13 17
	job say "$model" ROMEO: 20
	jobs
	mv said want
	jobs "$runs"
	cmp want said
	for of in gemma2 gptneox qwen2moe; do
		apr-run --tokens 3,5,7,11,13,17 --logits --cache f32 "$root/tests/data/arch/$of.gguf" >want
		nearlogits $of want $(($(wc -c <want) / 24)) 1e-4
	done
	# Products of BF16 differ more between levels (kernels/dot.h).
	APR_CPU=ref apr-run --tokens 3,5,7,11,13,17 --logits --cache f32 "$model" >want
	nearlogits shakespeare want $(($(wc -c <want) / 24)) 1e-4
	cmp <(tail -n +5 said) <(apr-run -n 20 -p ROMEO: --cache f32 "$model"; echo)
}

# alike MODEL TOKENS [LIMIT]: logits of the module have the bits of plain C, or are within a limit, one token at a time
# and in two prompts.
alike() {
	local ids bytes
	mapfile -t ids < <(seq 5 "$(($2 + 4))")
	APR_CPU=ref apr-run --tokens "$(IFS=,; echo "${ids[*]}")" --logits --cache f32 "$1" >want
	bytes=$(($(wc -c <want) / $2))
	{ head -c $((bytes * $2 / 2)) want | tail -c $bytes; tail -c $bytes want; } >want.prompts
	job logits "$1" one "${ids[@]}"
	job logits "$1" prompts "$(IFS=,; echo "${ids[*]:0:$2/2}")" "$(IFS=,; echo "${ids[*]:$2/2}")"
	jobs
	rm lines
	if [ $# -eq 2 ]; then
		cmp want one && cmp want.prompts prompts || fail "$1"
		return
	fi
	nearlogits one want $((bytes / 4)) "$3"
	nearlogits prompts want.prompts $((bytes / 4)) "$3"
}

@test "wasm: where weights are blocks, logits have the bits of plain C" {
	local type
	for type in q4_0 q8_0 q4_k q6_k; do
		apr-unpack "$model" | apr-quant $type | apr-pack -t gguf --no-sync -o $type.gguf
		alike $type.gguf 120
	done
	for type in q4_1 q5_0 q5_1 q2_k q3_k q5_k iq4_nl iq4_xs mxfp4 tq2_0; do
		apr-unpack "$model" | apr-quant $type | apr-pack -t gguf --no-sync -o $type.gguf
		alike $type.gguf 12
	done
	apr-unpack "$model" | apr-quant f16 | apr-pack -t gguf --no-sync -o f16.gguf
	alike f16.gguf 120 1e-4
	alike "$model" 120 1e-4
}

@test "wasm: logits of models made elsewhere are those of plain C" {
	local at=$APR_TEST_DATA/models type
	need_data
	alike "$at/shakespeare/shakespeare-Q8_0.gguf" 120
	alike "$at/shakespeare/shakespeare-Q4_K_M.gguf" 120
	for type in F16 BF16 f32; do
		alike "$at/stories260K/stories260K-$type.gguf" 120 1e-4
	done
}

@test "wasm: the module and its glue are as small as web/budget says" {
	local name most
	while read -r name most; do
		[[ $name != \#* ]] || continue
		[ "$(gzip -9c "$root/build/wasm/$name" | wc -c)" -le "$most" ] || fail "$name"
	done <"$root/web/budget"
}
