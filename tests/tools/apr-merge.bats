# apr-merge: one model from several
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# one VALUES: a model of one tensor of two rows and a bias.
one() {
	printf 'key general.architecture string tiny\n'
	printf 'tensor w F32 2x4 values %s\ntensor b F32 2 values %s\n' "$1" "${2-0 0}"
}

# values FILE [TENSOR]: prints the values of a tensor in one line.
values() {
	apr-get --text "${2-w}" "$1" | xargs
}

# Three models and a base of the same tensors in another order, so that values differ; F32, or
# values with many equals.
models() {
	local t='tensor w F32 301x256 noise' p='tensor p F32 77x256 noise' q='tensor q F32 50x256 noise'
	printf '%s\n' "$t" "$p" "$q" | mkmodel >a.gguf
	printf '%s\n' "$p" "$t" "$q" | mkmodel >b.gguf
	printf '%s\n' "$q" "$t" "$p" | mkmodel >c.gguf
	printf '%s\n' "$p" "$q" "$t" | mkmodel >base.gguf
}

# tensors M...: the tensor w of each model as a file of F32.
tensors() {
	local m
	for m; do
		apr-get w $m.gguf >$m.raw
	done
}

# The result equals that of another program, which is written from the papers.
# agrees METHOD 'OPTIONS OF apr-merge' 'OF merge_reference' 'MODELS' [BASE]
agrees() {
	local method=$1 ours=$2 theirs=$3 m files=() raws=()
	for m in $4; do
		files+=($m.gguf) raws+=($m.raw)
	done
	# shellcheck disable=SC2086
	apr-merge --method $method $ours ${5:+--base $5.gguf} "${files[@]}" | apr-get w >ours.raw
	# shellcheck disable=SC2086
	merge_reference $method 7 $theirs 256 w "${raws[@]}" ${5:+-- $5.raw} >theirs.raw
	merge_reference near ours.raw theirs.raw >near || fail "$method $ours:" "$(cat near)"
}

# The same with --compat and this type of the work, by a recipe; the result is F32.
# agrees_compat TYPE METHOD PARAMETERS 'OF merge_reference' 'MODELS' [BASE]
agrees_compat() {
	local long list='' raws=() m
	case $1 in
	f32) long=float32 ;;
	f16) long=float16 ;;
	bf16) long=bfloat16 ;;
	esac
	for m in $5; do
		list+="${list:+, }{model: $m.gguf}" raws+=($m.raw)
	done
	printf '%s\n' "merge_method: $2" "models: [$list]" "dtype: $long" 'out_dtype: float32' "parameters: $3" \
		${6:+"base_model: $6.gguf"} >c.yml
	apr-merge --compat --seed 7 c.yml | apr-get w >ours.raw
	# shellcheck disable=SC2086
	merge_reference $2 7 $4 compat=1 work=$1 256 w "${raws[@]}" ${6:+-- $6.raw} >theirs.raw
	merge_reference near ours.raw theirs.raw >near || fail "$* $(cat near)"
}

@test "apr-merge passes the exam" {
	exam filter apr-merge
}

@test "CHECK-058 [1.0] and [3.0] make [2.0]; weights are given or measured" {
	one 1.0 | mkmodel >a.gguf
	one 3.0 | mkmodel >b.gguf
	apr-merge -o mean a.gguf b.gguf
	[ "$(values mean)" = '2 2 2 2 2 2 2 2' ]
	apr-merge -w 1 a.gguf -w 3 b.gguf >m
	[ "$(values m)" = '2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5' ]
	apr-merge --method linear -w 0.25 a.gguf -w 2 b.gguf >m
	[ "$(values m)" = '6.25 6.25 6.25 6.25 6.25 6.25 6.25 6.25' ]
	echo '{"a.gguf":0.75,"b.gguf":0.25}' >metric.json
	apr-merge --metric metric.json a.gguf b.gguf >m
	[ "$(values m)" = '1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5' ]
	apr-merge --metric metric.json --lower ./a.gguf b.gguf >m
	[ "$(values m)" = '2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5' ]
	apr-merge --type f16 a.gguf - <mean >m
	apr-get -l m | grep -q 'w .*F16'
	apr-get -l m | grep -q 'b .*F32'
	[ "$(values m)" = '1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5' ]
}

@test "CHECK-059 TIES by hand: trim, elect, mean of those with the sign" {
	one '2 2 2 2 2 2 2 0' | mkmodel >base.gguf
	one 1 '1 2' | mkmodel >a.gguf
	one 3 '5 6' | mkmodel >b.gguf
	# Of a stay the first four -1; of b 3 and the first three 1. At three positions the signs
	# are even, and nothing is elected.
	apr-merge --method ties --density 0.5 --base base.gguf a.gguf b.gguf >m
	[ "$(values m)" = '2 2 2 1 2 2 2 3' ]
	[ "$(values m b)" = '0 4' ]
	apr-merge --method ties --density 0.5 --lambda 0.5 --base base.gguf a.gguf b.gguf >m
	[ "$(values m b)" = '0 2' ]
	# mergekit elects + if the sum is 0.
	apr-merge --compat --method ties --density 0.5 --base base.gguf a.gguf b.gguf >m
	[ "$(values m)" = '3 3 3 1 2 2 2 3' ]
	# Weights decide there, and only there.
	apr-merge --compat --method ties --base base.gguf -w 3 a.gguf -w 1 b.gguf >m
	[ "$(values m)" = '1 1 1 1 1 1 1 1.5' ]
	apr-merge --method ties --base base.gguf -w 3 a.gguf -w 1 b.gguf >m
	[ "$(values m)" = '2 2 2 2 2 2 2 1.5' ]
}

@test "each method equals another program that is written from the papers" {
	models
	tensors a b c base
	agrees average '' '' 'a b c'
	agrees weighted '-w 0.1 -w 1 -w 0.3' weight=0.1,1,0.3 'a b c'
	agrees linear '-w 0.1 -w 1 -w -0.3' weight=0.1,1,-0.3 'a b c'
	agrees slerp '--t 0.3' t=0.3 'a b'
	agrees nuslerp '-w 1 -w 3' weight=1,3 'a b'
	agrees nuslerp '-w 1 -w 3' weight=1,3 'a b' base
	agrees nuslerp '--nuslerp-flatten false' rows=1 'a b'
	agrees nuslerp '--nuslerp-flatten false --nuslerp-row-wise true' columns=1 'a b' base
	agrees karcher '' '' 'a b c'
	agrees multislerp '-w 0.2 -w 1 -w 0.5' weight=0.2,1,0.5 'a b c'
	agrees multislerp '-w 1 -w 3' weight=1,3 'a b' base
	agrees task_arithmetic '-w 0.5 -w 1 -w -0.2 --lambda 0.7' 'weight=0.5,1,-0.2 lambda=0.7' \
		'a b c' base
	agrees ties '--density 0.2' density=0.2 'a b c' base
	agrees ties '--density 0.7 -w 1 -w 2 --normalize false' \
		'density=0.7 weight=1,2 normalize=0' 'a b' base
	agrees dare_linear '--density 0.3 --seed 7' density=0.3 'a b' base
	agrees dare_ties '--density 0.6 --seed 7 -w 1 -w 2 -w 3' 'density=0.6 weight=1,2,3' 'a b c' base
	agrees dare_ties '--density 0.6 --seed 7 --rescale false' 'density=0.6 rescale=0' 'a b' base
	agrees della '--density 0.6 --seed 7' density=0.6 'a b c' base
	agrees della_linear '--density 0.4 --epsilon 0.2 --seed 7' 'density=0.4 epsilon=0.2' 'a b' base
	agrees breadcrumbs '--density 0.5 --gamma 0.1' 'density=0.5 gamma=0.1' 'a b' base
	agrees breadcrumbs_ties '--density 0.95 --gamma 0.1' 'density=0.95 gamma=0.1' 'a b c' base
	agrees model_stock '' '' 'a b c' base
	agrees model_stock '--filter-wise true' rows=1 'a b' base
	agrees sce '' '' 'a b c' base
	agrees sce '--select-topk 0.1' topk=0.1 'a b c' base
}

@test "--compat equals another program with the steps of mergekit, in each type of the work" {
	local w
	models
	tensors a b c base
	for w in f32 f16 bf16; do
		agrees_compat $w average '{}' '' 'a b c'
		agrees_compat $w linear '{weight: [{filter: x, value: 2}, {value: 0.3}]}' 'weight=0.3,0.3,0.3 normalize=1' 'a b c'
		agrees_compat $w task_arithmetic '{weight: 0.7, lambda: 0.6}' 'weight=0.7,0.7,0.7 lambda=0.6' 'a b c' base
		agrees_compat $w ties '{density: 0.3, weight: 0.4}' 'density=0.3 weight=0.4,0.4,0.4' 'a b c' base
		agrees_compat $w ties '{density: 0.8, normalize: false}' 'density=0.8 normalize=0' 'a b' base
		agrees_compat $w dare_ties '{density: 0.4}' density=0.4 'a b c' base
		agrees_compat $w dare_linear '{density: 0.4, weight: 0.3}' 'density=0.4 weight=0.3,0.3' 'a b' base
		agrees_compat $w della '{density: 0.5}' density=0.5 'a b c' base
		agrees_compat $w breadcrumbs '{density: 0.5, gamma: 0.1}' 'density=0.5 gamma=0.1' 'a b' base
		agrees_compat $w breadcrumbs_ties '{density: 0.5, gamma: 0}' 'density=0.5 gamma=0' 'a b' base
		agrees_compat $w sce '{select_topk: 0.4}' topk=0.4 'a b c' base
	done
	# From a cosine of 0.9995 on, slerp takes a straight line.
	mkmodel <<<'tensor w F32 2x256 values 1 2 3 4' >p.gguf
	mkmodel <<<'tensor w F32 2x256 values 1 2 3 4.1' >q.gguf
	tensors p q
	agrees slerp '--t 0.3 --compat' 't=0.3 compat=1' 'p q'
	agrees slerp '--t 0.3' 't=0.3' 'p q'
}

@test "among equal magnitudes the lower index stays, in tensors of many pieces" {
	printf 'tensor w F32 301x256 values 1 -2 3 2 -1 0 0 4 2 -3 1\n' | mkmodel >a.gguf
	printf 'tensor w F32 301x256 values 2 2 -2 1 1 0 -4 3\n' | mkmodel >b.gguf
	printf 'tensor w F32 301x256 values 0\n' | mkmodel >base.gguf
	tensors a b base
	for d in 0.001 0.1 0.33 0.5 0.9 0.999; do
		agrees ties "--density $d" density=$d 'a b' base
		agrees breadcrumbs "--density $d --gamma 0.2" "density=$d gamma=0.2" 'a b' base
		agrees sce "--select-topk $d" topk=$d 'a b' base
		agrees della "--density 0.5 --epsilon 0.4 --seed 7" 'density=0.5 epsilon=0.4' 'a b' base
	done
}

@test "any number of threads and any ceiling of memory give the same bytes" {
	local m want ceiling=64M
	# Sanitizers reserve terabytes.
	! grep -q __asan_init "$APR_BIN/apr-merge" || ceiling=
	models
	for m in 'ties --density 0.3' 'dare_ties --density 0.5' 'della --density 0.5' model_stock \
		'sce --select-topk 0.3' 'nuslerp --nuslerp-flatten false'; do
		# shellcheck disable=SC2086
		want=$(apr-merge -j 1 --base base.gguf --method $m a.gguf b.gguf | sha256sum)
		# shellcheck disable=SC2086
		[ "$(apr-merge -j 7 --base base.gguf --method $m a.gguf b.gguf | sha256sum)" = "$want" ] ||
			fail "$m: -j 7"
		# shellcheck disable=SC2086
		[ "$(APR_RAM_LIMIT=$ceiling apr-merge -j 2 --base base.gguf --method $m a.gguf <(cat b.gguf) |
			apr-get w | sha256sum)" = "$(apr-merge --base base.gguf --method $m a.gguf b.gguf |
			apr-get w | sha256sum)" ] || fail "$m: a pipe"
	done
}

# holes TENSOR: three sparse models, each with other values in a MiB of its own.
holes() {
	local i
	for i in 1 2 3; do
		mkmodel <<<"$1" >"$i.gguf"
		mkmodel <<<'tensor n F16 1024x512 noise' |
			dd of="$i.gguf" bs=4096 seek=$((1000 + i)) skip=1 count=$((200 + i)) conv=notrunc status=none
	done
}

@test "zeros that no file stores are skipped: the same bytes, and 70 billion values in seconds" {
	local m
	holes 'tensor w BF16 3000x4001 hole'
	mkdir whole
	cp --sparse=never ./[123].gguf whole/
	for m in 'ties --density 0.02' 'ties --density 0.3' 'sce --select-topk 0.3' dare_ties model_stock \
		'ties --density 0.02 --compat'; do
		# shellcheck disable=SC2086
		apr-merge --method $m --base 1.gguf 2.gguf 3.gguf >sparse.apr
		# shellcheck disable=SC2086
		apr-merge --method $m --base whole/1.gguf whole/2.gguf whole/3.gguf >whole.apr
		[ "$(apr-sum <sparse.apr)" = "$(apr-sum <whole.apr)" ] || fail "$m"
		[ "$(du -k sparse.apr | cut -f 1)" -lt 8000 ] || fail "$m: zeros are written"
	done
	holes 'tensor w BF16 1000000x70000 hole'
	# The stream has the holes as frames, so it is short.
	[ "$(timeout 120 apr-merge --method ties --density 0.2 --base 1.gguf 2.gguf 3.gguf | wc -c)" -lt 8000000 ]
}

# recipe TEXT...: a recipe of these lines.
recipe() {
	printf '%s\n' "$@" >r.yml
}

# makes VALUES TEXT...: the recipe makes a tensor w of these values.
makes() {
	local want=$1
	shift
	recipe "$@"
	apr-merge r.yml >m || fail "$@"
	[ "$(values m)" = "$want" ] || fail "$@" "makes $(values m)"
}

@test "recipes with the keys of mergekit" {
	local two='models: [{model: a.gguf}, {model: b.gguf}]' with='base_model: base.gguf'
	one 1 | mkmodel >a.gguf
	one 3 | mkmodel >b.gguf
	one 2 | mkmodel >base.gguf
	makes '2 2 2 2 2 2 2 2' 'merge_method: linear' "$two" 'dtype: float16'
	apr-get -l m | grep -q 'w .*F16'
	makes '2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5' 'merge_method: linear' 'models:' '- model: a.gguf' \
		'  parameters: {weight: 0.1}' '- model: b.gguf' '  parameters: {weight: 0.3}' \
		'parameters: {int8_mask: true}' 'out_dtype: float32' 'name: mean'
	makes '7 7 7 7 7 7 7 7' 'merge_method: linear' 'models:' '- model: a.gguf' \
		'- model: b.gguf' '  parameters: {weight: 2}' 'parameters: {normalize: false}'
	makes '1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5' 'merge_method: slerp' "$two" \
		'base_model: a.gguf' 'parameters:' '  t:' '  - {filter: w, value: 0.25}' '  - value: 0'
	makes '4 4 4 4 4 4 4 4' 'merge_method: task_arithmetic' "$with" 'models:' \
		'- model: base.gguf' '- {model: b.gguf, parameters: {weight: [2, 5]}}'
	makes '2 2 2 2 2 2 2 2' 'merge_method: ties' "$with" "$two" 'tokenizer_source: base' \
		'parameters: {density: 0.5, weight: [{filter: x, value: 9}, {value: 1}], lambda: 1.0}'
	makes '3 3 3 3 3 3 3 3' 'merge_method: dare_ties' "$with" 'models:' '- model: b.gguf' \
		'  parameters: {density: 1, weight: 1}'
	makes '3 3 3 3 3 3 3 3' 'merge_method: della_linear' "$with" 'models:' '- model: b.gguf' \
		'  parameters: {density: 1.0, epsilon: 0.1}'
	makes '2 2 2 2 2 2 2 2' 'merge_method: karcher' "$two" 'parameters: {max_iter: 5, tol: 1e-9}'
	makes '6 6 6 6 6 6 6 6' 'merge_method: passthrough' 'models:' '- model: b.gguf' \
		'  parameters: {scale: 2}'
	# A name of the hub gets a path.
	recipe 'merge_method: linear' 'models: [{model: org/a}, {model: b.gguf}]'
	apr-merge --model org/a=a.gguf r.yml >m
	[ "$(values m)" = '2 2 2 2 2 2 2 2' ]
	# The record of a merge is a recipe that makes it again.
	apr-merge --method ties --base base.gguf --density 0.5 -w 1 a.gguf -w 3 b.gguf >m
	apr-meta get apr.merge.recipe m >again.yml
	apr-merge again.yml | cmp - m
}

# numbers FILE TENSOR: prints its values, one in a line; a sum has no negative 0.
numbers() {
	apr-get --text "$2.weight" "$1" | tr ' ' '\n' | sed 's/^-0$/0/'
}

@test "slices: layers one above the other, with gradients" {
	cp "$model" m.gguf
	recipe 'merge_method: passthrough' 'slices:' \
		'- sources: [{model: m.gguf, layer_range: [0, 2]}]' \
		'- sources: [{model: m.gguf, layer_range: [1, 3]}]'
	apr-merge r.yml >tall
	[ "$(apr-meta get llama.block_count tall)" = 4 ]
	cmp <(apr-get blk.3.ffn_up.weight tall) <(apr-get blk.2.ffn_up.weight m.gguf)
	cmp <(apr-get blk.2.ffn_up.weight tall) <(apr-get blk.1.ffn_up.weight m.gguf)
	apr-pack -t gguf -o tall.gguf tall
	[ -n "$(apr-run -n 4 -p ROMEO: tall.gguf)" ]
	# t is 0 in the first of three layers and 1 in the last; filters know names of folders.
	apr-quant q4_0 m.gguf 2>/dev/null >q.aprs
	recipe 'merge_method: slerp' 'base_model: m.gguf' 'slices:' '- sources:' \
		'  - {model: m.gguf, layer_range: [0, 3]}' '  - {model: q.aprs, layer_range: [0, 3]}' \
		'parameters:' '  t: [{filter: mlp, value: [0, 0.5, 1]}, {value: 0}]' 'dtype: float32'
	apr-merge r.yml >m
	cmp <(numbers m blk.0.ffn_up) <(numbers m.gguf blk.0.ffn_up)
	cmp <(numbers m blk.2.ffn_up) <(numbers q.aprs blk.2.ffn_up)
	cmp <(numbers m blk.2.attn_q) <(numbers m.gguf blk.2.attn_q)
}

# refuses STATUS TEXT LINE...: the recipe of these lines is refused.
refuses() {
	local want=$1 text=$2
	shift 2
	recipe "$@"
	try apr-merge r.yml
	said "$want" "$text"
	[ ! -s "$out" ] || fail 'it wrote'
}

@test "recipes that are refused, with the line" {
	local two='models: [{model: a.gguf}, {model: b.gguf}]'
	refuses 4 'merge_method is missing' "$two"
	refuses 4 'line 1: modell is not a key' 'modell: x' 'merge_method: linear' "$two"
	refuses 4 'line 3: modules: ' 'merge_method: linear' "$two" 'modules: {a: {}}'
	refuses 4 'line 2: chat_template: ' 'merge_method: linear' 'chat_template: auto' "$two"
	refuses 4 'line 2: tokenizer is not a mapping' 'merge_method: linear' 'tokenizer: union' "$two"
	refuses 4 'line 2: vocab is not a key' 'merge_method: linear' 'tokenizer: {vocab: union}' "$two"
	refuses 4 'line 3: tokenizer_source is stated twice' 'merge_method: linear' \
		'tokenizer: {source: union}' 'tokenizer_source: base' "$two"
	refuses 4 'line 1: ramplus_tl is not a method' 'merge_method: ramplus_tl' "$two"
	refuses 4 'does not have the parameter density' 'merge_method: linear' "$two" \
		'parameters: {density: 1}'
	refuses 4 'line 3: density is not a number in its limits' 'merge_method: ties' "$two" \
		'parameters: {density: 2}'
	refuses 4 'needs a base model' 'merge_method: ties' "$two"
	refuses 4 'layer_range is not' 'merge_method: passthrough' 'slices:' \
		'- sources: [{model: a, layer_range: [3, 1]}]'
	refuses 1 'more than 4096 layers' 'merge_method: passthrough' 'slices:' \
		'- sources: [{model: a, layer_range: [0, 4096]}]' '- sources: [{model: a, layer_range: [0, 1]}]'
	refuses 4 'line 2: models has an item without a model' 'merge_method: linear' 'models: [{model: }]'
	refuses 4 'with an adapter' 'merge_method: linear' 'models: [{model: a+b}]'
	refuses 5 'not a file in the folder' 'merge_method: linear' 'models: [{model: ../a}]'
	refuses 5 'not a file in the folder' 'merge_method: linear' 'models: [{model: /etc/passwd}]'
	refuses 3 'a.gguf: cannot be opened' 'merge_method: linear' "$two"
	refuses 4 'a second models' 'merge_method: linear' "$two" "$two"
	refuses 4 'YAML at line' 'merge_method: [linear'
	try apr-merge --base x r.yml
	said 2 'a recipe states'
}

@test "models that disagree are named before a byte is written" {
	one 1 | mkmodel >a.gguf
	one 1 | sed 's/2x4/4x2/' | mkmodel >shape.gguf
	one 1 | sed '/tensor b/d' | mkmodel >fewer.gguf
	one 1 | sed 's/string tiny/string other/' | mkmodel >arch.gguf
	{ one 1 && echo 'key tokenizer.ggml.model string gpt2' &&
		echo 'key tokenizer.ggml.tokens array:string a b c'; } | mkmodel >abc.gguf
	{ one 1 && echo 'key tokenizer.ggml.model string gpt2' &&
		echo 'key tokenizer.ggml.tokens array:string a x c'; } | mkmodel >axc.gguf
	try apr-merge a.gguf shape.gguf
	said 5 'shape.gguf: its tensor w is 4x2, and that of a.gguf is 2x4'
	try apr-merge a.gguf fewer.gguf
	said 5 'fewer.gguf: lacks the tensor b of a.gguf'
	try apr-merge fewer.gguf a.gguf
	said 5 'fewer.gguf: lacks the tensor b of a.gguf'
	try apr-merge a.gguf arch.gguf
	said 5 'arch.gguf: its architecture is other, and that of a.gguf is tiny'
	try apr-merge abc.gguf axc.gguf
	said 5 'its token 1 is "x", and that of abc.gguf is "b"'
	[ ! -s "$out" ]
	try apr-merge --any-tokens abc.gguf axc.gguf
	quiet
	try apr-merge -w 1 a.gguf a.gguf
	said 2 '1 weights for 2 models'
	try apr-merge --method slerp a.gguf a.gguf
	said 2 'slerp needs a value of t'
	try apr-merge --method slerp --t 2 a.gguf a.gguf
	said 2 '2 is not a value of t'
	try apr-merge --method tis a.gguf
	said 2 'tis is not a method'
	try apr-merge --method ties a.gguf
	said 2 'needs a base model'
	try apr-merge --method average --density 1 a.gguf
	said 2 'does not have --density'
	try apr-merge --type q4_0 a.gguf
	said 2 'q4_0 is not a type'
	try apr-merge --method della --density 0.9 --base a.gguf ./a.gguf
	said 2 'must be between 0 and 1'
	echo '{"a.gguf":-1}' >metric.json
	try apr-merge --metric metric.json a.gguf
	said 5 'is not a number above 0'
	cp a.gguf b
	try apr-merge -f -o b a.gguf b
	said 2 'is the input file itself'
	cmp a.gguf b
	recipe 'merge_method: passthrough' 'models: [{model: a.gguf}]'
	try apr-merge -f -o r.yml r.yml
	said 2 'is the input file itself'
}

@test "a reader that cannot be started is reported" {
	mkdir bin
	cp "$(command -v apr-merge)" bin
	touch a.gguf
	printf '#!/nowhere/none\n' >bin/apr-unpack
	chmod +x bin/apr-unpack
	try bin/apr-merge a.gguf a.gguf
	said 1 'apr-unpack: cannot be started'
}

# words TOKENS ROWS [KIND]: a model of these tokens, with a row of two values for each.
words() {
	mkmodel <<-END
		key general.architecture string llama
		key tokenizer.ggml.model string ${3:-gpt2}
		key tokenizer.ggml.tokens array:string $1
		key tokenizer.ggml.scores array:f32 0*$(wc -w <<<"$1")
		tensor token_embd.weight F32 $(wc -w <<<"$1")x2 values $2
		tensor v F32 2 values 1
	END
}

@test "rows of tokens are found by the texts of the base's tokens" {
	words 'a b c d' '1 2 3 4 5 6 7 8' >base.gguf
	words 'c x a' '50 60 90 91 10 20' >other.gguf
	try apr-merge --method linear -w 1 base.gguf -w 2 other.gguf --any-tokens
	said 5 'other.gguf: its tensor token_embd.weight is 3x2, and that of base.gguf is 4x2'
	apr-merge --tokens base --method linear -w 1 base.gguf -w 2 other.gguf >m
	# b and d, which the other lacks, are thrice those of the base.
	[ "$(apr-get --text token_embd.weight m | tr -s '\n ' ' ' | sed 's/ $//')" = '21 42 9 12 105 126 21 24' ]
	apr-header --full m | grep -qF 'tokenizer_source'
	recipe 'merge_method: task_arithmetic' 'base_model: base.gguf' 'models: [{model: other.gguf}]' \
		'tokenizer_source: base' 'parameters: {weight: 0.5}'
	apr-merge r.yml >m
	[ "$(apr-get --text token_embd.weight m | tr -s '\n ' ' ' | sed 's/ $//')" = '5.5 11 3 4 27.5 33 7 8' ]
	words 'a b' '1 2 3 4' | sed 's/gpt2/bert/' >bert.gguf
	try apr-merge --tokens base base.gguf bert.gguf
	said 5 'bert.gguf: its tokens'
	mkmodel <<<'tensor v F32 2 values 1' >none.gguf
	try apr-merge --tokens some base.gguf other.gguf
	said 3 'some: cannot be opened'
	try apr-merge --tokens base --any-tokens base.gguf other.gguf
	said 2 'exclude each other'
}

# The rows of a table on one line.
rows() {
	apr-get --text "$2" "$1" | tr -s '\n ' ' ' | sed 's/ $//'
}

@test "union: all tokens, with rows of the models that have them" {
	words 'a b c d' '1 2 3 4 5 6 7 8' llama >one.gguf
	words 'c x a' '50 60 90 91 10 20' llama >two.gguf
	words 'y x' '7 7 10 11' llama >three.gguf
	apr-merge --tokens union --method linear -w 1 one.gguf -w 2 two.gguf -w 4 three.gguf >m 2>notes
	grep -qx 'apr-merge: the result has 6 tokens' notes
	# a b c d, then x of two, then y of three. A model without a token: the mean of those with it.
	[ "$(apr-meta get tokenizer.ggml.tokens m | tr -d '\n", []')" = abcdxy ]
	# a: 1 + 2*10 + 4*5.5; b: 7*3; c: 5 + 2*50 + 4*27.5; x: 50 + 2*90 + 4*10; y: 7*7
	[ "$(rows m token_embd.weight)" = '43 86 21 28 215 258 49 56 270 277 49 49' ]
	# With a base: its row.
	recipe 'merge_method: task_arithmetic' 'base_model: one.gguf' 'tokenizer_source: union' \
		'models: [{model: two.gguf}, {model: three.gguf}]' 'parameters: {weight: 1}'
	apr-merge r.yml >m
	# x: base and models that lack it take the mean 50 51, so 50 + 40 + -40.
	[ "$(rows m token_embd.weight)" = '10 20 3 4 50 60 7 8 50 51 7 7' ]
	# Rules for single tokens.
	recipe 'merge_method: linear' 'parameters: {normalize: false, weight: 1}' \
		'models: [{model: one.gguf}, {model: two.gguf}]' 'tokenizer:' '  source: union' '  tokens:' \
		'    x: {source: {kind: zero}}' '    b: {source: {kind: model_token, model: two.gguf, token: x}}' \
		'    c: {source: one.gguf, force: true}' '    d: {source: {kind: model_token, model: one.gguf, token_id: 0}}'
	apr-merge r.yml >m
	[ "$(rows m token_embd.weight)" = '11 22 93 95 10 12 8 10 90 91' ]
	apr-header --full m | grep -qF 'token_id'
	# One model alone: only rules that force change rows.
	recipe 'merge_method: passthrough' 'models: [{model: one.gguf}]' 'tokenizer:' '  source: base' \
		'  tokens:' '    b: {source: {kind: zero}, force: true}' '    c: {source: {kind: zero}}'
	apr-merge r.yml >m
	[ "$(rows m token_embd.weight)" = "$(rows one.gguf token_embd.weight | sed 's/ 3 4 / 0 0 /')" ]
	# The tokens of one of them, or of a file that is not merged.
	for i in three.gguf four.gguf; do
		words 'y x' '0 0 0 0' llama >four.gguf
		apr-merge --tokens "$i" --method linear -w 1 one.gguf -w 1 two.gguf >m 2>notes
		[ "$(rows m token_embd.weight)" = '0 0 180 182' ]
		grep -q '1 tokens are in none of the models' notes
	done
}

@test "union: what cannot be united, and wrong rules, are named" {
	words 'a b' '1 2 3 4' llama >one.gguf
	words 'c a' '5 6 7 8' llama >two.gguf
	words 'a a' '5 6 7 8' llama >twice.gguf
	try apr-merge --tokens union twice.gguf one.gguf
	said 4 'twice.gguf: token 1 has the text of token 0'
	for i in 'z: {source: {kind: zero}}=line 5' 'a: {source: nobody.gguf}=line 5' \
		'a: {source: {kind: model_token, model: one.gguf, token_id: 2}}=lacks the token' \
		'a: {source: {kind: model_token, model: one.gguf}}=needs for model_token' \
		'a: {source: {kind: other}}=is neither zero nor model_token' 'a: {force: 2}=is not true or false' \
		'a: {sauce: x}=is not a key'; do
		recipe 'merge_method: linear' 'models: [{model: one.gguf}, {model: two.gguf}]' 'tokenizer:' \
			'  tokens:' "    ${i%%=*}"
		try apr-merge r.yml
		[ "$status" -ge 4 ]
		grep -q -- "${i#*=}" "$err"
	done
	recipe 'merge_method: linear' 'models: [{model: one.gguf}]' 'tokenizer_source: ../one.gguf'
	try apr-merge r.yml
	said 5 'the model ../one.gguf is not a file in the folder'
	try apr-merge --tokens union r.yml
	said 2 'the recipe states whose tokens'
	recipe 'merge_method: linear' 'models: [{model: one.gguf}]' 'tokenizer:' '  pad_to_multiple_of: 8'
	try apr-merge r.yml
	said 4 'line 4: pad_to_multiple_of: is not supported'
}

@test "union: the result runs, as a file and as a folder, and tokenizes" {
	local model=$root/tests/data/shakespeare-BF16.gguf text='ROMEO:<|im_end|><|endoftext|>'
	apr-adapt hf "$model" | apr-pack -t safetensors -o one/
	cp -r one two
	sed -i 's/<|endoftext|>/<|im_end|>/' two/*.json
	apr-run "$model" -p ROMEO: -n 12 >said
	for i in "$model" one; do
		apr-merge --tokens union "$i" two >m
		apr-header -l m | grep -qE '^(token_embd|model.embed_tokens).weight *BF16 *1025x256'
		apr-run m -p ROMEO: -n 12 | cmp - said
		grep -q ' 1024 1023 198$' <(apr-tok encode --special m <<<"$text")
	done
	apr-pack -t safetensors -o three/ m
	grep -q '"vocab_size": 1025' three/config.json
	apr-run three -p ROMEO: -n 12 | cmp - said
	# The tokens of another model, which is not merged.
	apr-merge --tokens two "$model" >m
	cmp <(apr-tok encode --special two <<<"$text") <(apr-tok encode --special m <<<"$text")
	apr-merge --tokens two/tokenizer.json "$model" | apr-get token_embd.weight - |
		cmp - <(apr-get token_embd.weight m)
	apr-run m -p ROMEO: -n 12 | cmp - said
}
