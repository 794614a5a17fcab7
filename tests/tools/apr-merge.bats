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
	local m want
	models
	for m in 'ties --density 0.3' 'dare_ties --density 0.5' 'della --density 0.5' model_stock \
		'sce --select-topk 0.3' 'nuslerp --nuslerp-flatten false'; do
		# shellcheck disable=SC2086
		want=$(apr-merge -j 1 --base base.gguf --method $m a.gguf b.gguf | sha256sum)
		# shellcheck disable=SC2086
		[ "$(apr-merge -j 7 --base base.gguf --method $m a.gguf b.gguf | sha256sum)" = "$want" ] ||
			fail "$m: -j 7"
		# shellcheck disable=SC2086
		[ "$(APR_RAM_LIMIT=64M apr-merge -j 2 --base base.gguf --method $m a.gguf <(cat b.gguf) |
			apr-get w | sha256sum)" = "$(apr-merge --base base.gguf --method $m a.gguf b.gguf |
			apr-get w | sha256sum)" ] || fail "$m: a pipe"
	done
}
