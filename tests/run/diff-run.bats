# apr-diff --run: what two models make of the same texts
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cp "$model" m.gguf
	printf 'ROMEO: what is it?\nWho goes there\n' >prompts
}

# damaged TENSOR zero|swap|double: makes bad.gguf.
damaged() {
	local at n
	read -r at n < <(apr-header -l --json m.gguf | sed -n "s/.*\"name\":\"$1\".*/&/p" |
		sed 's/.*"offset":\([0-9]*\).*"bytes":\([0-9]*\).*/\1 \2/')
	"$APR_GEN/damage" m.gguf bad.gguf "$at" "$n" "$2"
}

@test "a model says what it says, in another format and on any number of threads" {
	apr-unpack m.gguf | apr-pack -z zstd -o m.apr
	try apr-diff --run prompts --count 8 --layers m.gguf m.apr
	quiet
	grep -q '^All: top-1 agreement 100.00%, KL 0.000000 ' "$out"
	[ "$(grep -c 'same for 8 tokens$' "$out")" -eq 2 ]
	[ "$(grep -c '^block .* drift 0.000000' "$out")" -eq 3 ]
	apr-quant q4_0 m.gguf 2>/dev/null | apr-pack -t gguf -o q.gguf
	apr-diff --run prompts --layers --json -j 1 m.gguf q.gguf >one || true
	apr-diff --run prompts --layers --json -j 3 m.gguf q.gguf >three || true
	cmp one three
}

@test "a quantized model differs; limits decide" {
	apr-quant q4_0 m.gguf 2>/dev/null | apr-pack -t gguf -o q.gguf
	try apr-diff --run builtin m.gguf q.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-diff: q.gguf: does not say the same as m.gguf' "$err"
	[ "$(wc -l <"$out")" -eq 11 ]
	try apr-diff -q --run builtin --max-kl 0.2 m.gguf q.gguf
	[ "$status" -eq 0 ] && [ ! -s "$out" ] && [ ! -s "$err" ]
	try apr-diff --run builtin --max-kl 0.2 --min-top1 0.999 m.gguf q.gguf
	said 1 'a limit does not hold: KL 0.0'
	try apr-diff -q --run builtin --max-kl 0.0001 m.gguf q.gguf
	[ "$status" -eq 1 ] && [ ! -s "$err" ]
}

# KL and top-1 of a text are those of the reference model's logits, computed here from what
# apr-run prints.
@test "the figures are those of the logits" {
	apr-quant q4_0 m.gguf 2>/dev/null | apr-pack -t gguf -o q.gguf
	ids=82,25,532,17,300,41,7,99
	printf '{"tokens":[%s]}\n' "$ids" >prompts
	for of in m q; do
		apr-run --tokens $ids --logits $of.gguf | od -An -v -w4096 -t f4 | head -n 7 >$of
	done
	paste m q | awk '{
		n = NF / 2; a = b = s = t = k = 0; x = y = 1
		for (i = 1; i <= n; i++) { if ($i > $x) x = i; if ($(n + i) > $(n + y)) y = i }
		for (i = 1; i <= n; i++) { s += exp($i - $x); t += exp($(n + i) - $(n + y)) }
		for (i = 1; i <= n; i++) {
			p = $i - $x - log(s); q = $(n + i) - $(n + y) - log(t); k += exp(p) * (p - q)
		}
		kl += k; same += x == y
	} END { printf "%.5f %.4f\n", kl / NR, same / NR }' >want
	apr-diff --run prompts --count 1 --json m.gguf q.gguf >got || true
	sed -n '/"kind":"outputs"/s/.*"top1":\[\([0-9.]*\).*"kl":\[\([0-9.e-]*\).*/\2 \1/p' got |
		awk '{ printf "%.5f %.4f\n", $1, $2 }' | diff - want
}

@test "the drift begins at the block that is damaged" {
	damaged blk.1.ffn_down.weight double
	apr-diff --run prompts --layers m.gguf bad.gguf >lines || true
	grep -q '^block   0: drift 0.000000, ' lines
	grep -q '^block   1: drift 0\.[0-9]*[1-9]' lines
	[ "$(grep -c '<- worst$' lines)" -eq 1 ]
	grep '^block' lines | tail -n 2 | grep -q '<- worst'
}

@test "a folder says what its GGUF file says" {
	folder=$APR_TEST_DATA/models/shakespeare
	[ -d "$folder" ] || skip 'no reference data: APR_TEST_DATA'
	try env APR_LOG_LEVEL=error apr-diff --run prompts "$folder" m.gguf
	quiet
}

@test "wrong use and models that cannot be compared are refused" {
	try apr-diff --layers m.gguf m.gguf
	said 2 'need --run'
	try apr-diff --run prompts --tolerance 1 m.gguf m.gguf
	said 2 'not their tensors'
	try apr-diff --run prompts --max-kl x m.gguf m.gguf
	said 2 '--max-kl is a number'
	try apr-diff --run missing m.gguf m.gguf
	said 3 'missing: cannot be opened'
	try apr-diff --run prompts missing m.gguf
	said 3
	: >empty
	try apr-diff --run empty m.gguf m.gguf
	said 4 'has no prompts'
	echo '{"tokens":[5000000]}' >big
	try apr-diff --run big m.gguf m.gguf
	said 5 'is not in the vocabulary'
	try apr-diff --run prompts --count 100000 m.gguf m.gguf
	said 5 'is longer than the model'
	head -c 100000 m.gguf >cut.gguf
	try apr-diff --run prompts m.gguf cut.gguf
	said 4
	try_pipe 'cat prompts | apr-diff --run - m.gguf -'
	said 2 'cannot both be standard input'
	other=$root/tests/data/arch/gemma2.gguf
	echo '{"tokens":[1,2,3]}' >ids
	APR_LOG_LEVEL=error try apr-diff --run ids --layers --count 1 m.gguf "$other"
	said 5
}
