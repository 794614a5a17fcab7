# apr-lowrank: matrices as products of two smaller ones, and back
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The values of tensor $2 of model $1 on one line, to four digits: factors are rounded.
values() {
	apr-get --text "$2" "$1" | awk '{ for (i = 1; i <= NF; i++) printf "%.4g ", $i }'
}

@test "apr-lowrank passes the exam" {
	exam filter apr-lowrank svd --rank 4 --target attn_k
}

@test "a matrix of low rank comes back, from the factors that the header shows" {
	mkmodel <<-END >m.gguf
		tensor a.weight F32 4x8 values 1 2 3 4 5 6 7 8 2 4 6 8 10 12 14 16
		tensor a.bias F32 4 values 1
	END
	apr-lowrank svd --rank 1 --target 'a' --verbose m.gguf 2>notes | apr-pack -o low.apr
	grep -q '^apr-lowrank: a.weight: rank 1, error 0$\|rank 1, error [0-9.]*e-' notes
	[ "$(apr-header -l low.apr | awk '{print $1, $2, $3}' | paste -sd' ')" = \
		'a.weight.svd_u F32 4x1 a.weight.svd_v F32 1x8 a.bias F32 4' ]
	apr-header low.apr | grep -q 'apr.lowrank .*"method":"svd","tensors":1,"rank":1'
	apr-lowrank merge low.apr 2>/dev/null | apr-pack -t gguf -o back.gguf
	[ "$(values back.gguf a.weight)" = "$(values m.gguf a.weight)" ]
	! apr-header back.gguf | grep -q apr.lowrank
}

# Log probabilities of some tokens after others, one a line; none if the model does not run.
logprobs() {
	apr-run --tokens 3,5,2 -n 6 --temp 0 --json "$1" 2>/dev/null | sed 's/.*"logprob":\([-0-9.e]*\).*/\1/'
}

@test "apr-run multiplies factors without merging them, as near as rounding allows" {
	local m of
	for m in "$model" "$root"/tests/data/arch/{gemma2,gptneox,qwen2moe}.gguf \
		${APR_TEST_DATA:+"$APR_TEST_DATA"/models/arch/phi3.gguf "$APR_TEST_DATA/models/gpt2-layout"}; do
		[ -e "$m" ] || continue
		apr-quant f32 "$m" >whole 2>/dev/null || apr-unpack "$m" >whole
		apr-lowrank svd --rank 4 whole 2>/dev/null >low
		apr-lowrank merge low 2>/dev/null >merged
		paste <(logprobs low) <(logprobs merged) | awk -v m="$m" 'NF == 2 && ($1 - $2) ^ 2 < 1e-8 { n++ }
			END { if (n < 6) { print m ": " n; exit 1 } }'
	done
	# Quantized, and a matrix that only lacks one of its factors.
	apr-lowrank svd --rank 64 "$model" 2>/dev/null >low
	apr-quant q8_0 low 2>notes >small
	grep -q '44 of 51 tensors change' notes
	[ "$(apr-header -l small | grep -c 'svd_[uv]  *Q8_0 ')" -eq 42 ]
	paste <(logprobs small) <(logprobs low) | awk '($1 - $2) ^ 2 < 0.01 { n++ } END { exit n < 6 }'
	of=blk.1.attn_q.weight
	apr-header -l "$model" | grep -q "^$of"
	APR_LOG_LEVEL=error apr-rename "^$of.svd_v=$of.lost" low >one
	try apr-run -p x one
	said 4 "tensor $of.svd_v is missing (E002) hint: apr-lowrank merge"
	try apr-distill --layers 1 --data "$root/README.md" --steps 1 low
	said 4 'hint: apr-lowrank merge'
}

@test "the same bytes on any CPU, with any number of threads, from file and pipe" {
	local level
	apr-lowrank svd --rank 8 --target 'blk.0.ffn|attn_v' "$model" -o want 2>/dev/null
	apr-unpack "$model" | apr-lowrank svd --rank 8 --target 'blk.0.ffn|attn_v' -j 3 2>/dev/null | cmp - want
	for level in $(levels); do
		APR_CPU=$level apr-lowrank svd --rank 8 --target 'blk.0.ffn|attn_v' -j 1 "$model" 2>/dev/null | cmp - want
	done
}

@test "factors stand for their matrices in apr-check" {
	local model=$root/tests/data/shakespeare-BF16.gguf
	apr-lowrank svd --rank 8 --target 'blk.1.attn_q' "$model" 2>/dev/null | apr-pack -t gguf -o low.gguf
	try apr-check low.gguf
	[ "$status" -eq 0 ]
	grep -q '^0 errors, 0 warnings, 0 info' "$out"
	# Without the key, they are names that the architecture does not know.
	apr-meta delete apr.lowrank low.gguf | apr-pack -t gguf -o lost.gguf
	try apr-check lost.gguf
	[ "$status" -eq 5 ]
	grep -q 'blk.#.attn_q.weight: 1 of 3 blocks lack it' "$out"
}

@test "an importance matrix weighs columns" {
	local with=() x
	for x in plain weighed; do
		apr-lowrank svd --rank 16 --target 'blk.0.ffn_up' "${with[@]}" --verbose "$model" 2>notes >"$x"
		with=(--imatrix "$root/tests/data/imatrix.gguf")
	done
	grep -q 'blk.0.ffn_up.weight: rank 16, weighted error' notes
	! cmp -s plain weighed
	mkmodel <<-END >other.gguf
		tensor blk.0.ffn_up.weight F32 32x64 noise
	END
	try apr-lowrank svd --rank 2 --target ffn --imatrix "$root/tests/data/imatrix.gguf" other.gguf
	said 5 'it is of another model'
	mkmodel <<-END >other.gguf
		tensor up.weight F32 32x64 noise
	END
	try apr-lowrank svd --rank 2 --target up --imatrix "$root/tests/data/imatrix.gguf" other.gguf
	[ "$status" -eq 5 ]
	grep -q 'has none of the matrices' "$err"
	cp "$root/tests/data/imatrix.gguf" i
	try apr-lowrank svd --rank 2 --imatrix i -f -o i "$model"
	said 2 'is the input file itself'
}

@test "wrong use and factors that do not fit are refused" {
	try apr-lowrank
	said 2 'a command is missing'
	try apr-lowrank lora --rank 4 "$model"
	said 2 'an adapter is the difference of two models'
	try apr-lowrank svd "$model"
	said 2 'needs --rank or --energy'
	try apr-lowrank svd --rank 0 "$model"
	said 2
	try apr-lowrank svd --energy 2 "$model"
	said 2
	try apr-lowrank merge --rank 2 "$model"
	said 2 'are for svd'
	try apr-lowrank svd --rank 4 --target nothing "$model"
	said 2 'no matrix has a name that --target matches'
	APR_LOG_LEVEL=error try apr-lowrank svd --rank 200 --target attn_k "$model"
	said 5 'no matrix gets smaller by a rank of 200: 85 is the largest'
	try apr-lowrank merge "$model"
	said 5 'has no factors of low rank'
	mkmodel <<-END >twice.gguf
		tensor a.weight.svd_u F32 4x2 values 1
		tensor a.weight.svd_v F32 3x4 values 1
	END
	try apr-lowrank merge twice.gguf
	said 4 'they cannot be multiplied'
	mkmodel <<-END >one.gguf
		tensor a.weight.svd_u F32 4x2 values 1
	END
	try apr-lowrank merge one.gguf
	said 4 'its other factor, svd_v, is missing'
	mkmodel <<-END >one.gguf
		tensor a.weight.svd_v F32 4x2 values 1
	END
	try apr-lowrank merge one.gguf
	said 4 'has 0 left and 1 right factors'
}
