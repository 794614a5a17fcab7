# apr-quant: what --dry-run says is what a run does, byte counts included, for every
# mixture, every type, and whatever options a generator comes up with
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	chance=2463534242
}

# A number below $1, in $got: a fixed sequence, the same everywhere.
draw() {
	chance=$(((chance ^ (chance << 13)) & 0xffffffff))
	chance=$((chance ^ (chance >> 17)))
	chance=$(((chance ^ (chance << 5)) & 0xffffffff))
	got=$(((chance >> 8) % $1))
}

# One of the words, in $got.
one_of() {
	draw $#
	shift "$got"
	got=$1
}

# A model of some architecture: names that rules know, rows that fill blocks or not,
# types that are weights or not.
random_model() {
	local i blocks row arch tied
	one_of llama llama qwen2 falcon gpt2; arch=$got
	draw 3; blocks=$((got + 1))
	one_of 256 256 512 64 44; row=$got
	draw 2; tied=$got
	echo "key general.architecture string $arch"
	echo "key $arch.block_count u32 $blocks"
	echo "key $arch.attention.head_count u32 4"
	one_of 1 2 4; echo "key $arch.attention.head_count_kv u32 $got"
	one_of 0 0 8; [ "$got" = 0 ] || echo "key $arch.expert_count u32 $got"
	one_of F32 F16 BF16 F32; echo "tensor token_embd.weight $got 8x$row noise"
	for ((i = 0; i < blocks; i++)); do
		echo "tensor blk.$i.attn_norm.weight F32 $row noise"
		for part in attn_q attn_k attn_v attn_output ffn_up ffn_down ffn_gate; do
			one_of $row $row $row 96 33
			local columns=$got type
			one_of 'F32 4xN noise' 'F16 4xN noise' 'BF16 4xN noise' 'I8 4xN ramp'; type=$got
			echo "tensor blk.$i.$part.weight ${type/N/$columns}"
		done
		draw 4
		[ "$got" -gt 0 ] || echo "tensor blk.$i.ffn_down_exps.weight F32 2x4x$row noise"
		draw 4
		[ "$got" -gt 0 ] || echo "tensor blk.$i.odd.weight F32 0x$row noise"
	done
	[ "$tied" = 1 ] || echo "tensor output.weight F32 8x$row noise"
}

# Options that may go with any TYPE, in $options.
random_options() {
	options=(--fallback warn)
	one_of '' '' --pure; [ -z "$got" ] || options+=("$got")
	one_of '' '' '' --leave-output-tensor; [ -z "$got" ] || options+=("$got")
	one_of '' '' q8_0 f16 int8 q6_k; [ -z "$got" ] || options+=(--token-embedding-type "$got")
	one_of '' '' '' q8_0 q5_k f8_e4m3; [ -z "$got" ] || options+=(--output-tensor-type "$got")
	one_of '' '' attn_v=q8_0 'ffn_(up|down)=apr_q4' 'blk\.0\.=f16' 'ffn=q3_k'
	[ -z "$got" ] || options+=(--tensor-type "$got")
	one_of '' '' '' 'echo q8_0 #' '[ ${#1} -gt 18 ] && echo bf16; : ' 'echo keep #'
	[ -z "$got" ] || options+=(--hook "$got")
	one_of '' '' '' 0; [ -z "$got" ] || options+=(--prune-layers "$got")
	draw 3
	[ "$got" -gt 0 ] || options+=(--imatrix imatrix.dat)
}

# Plan and run of these arguments: the same tensors, types and bytes; or the same
# refusal, but for a missing encoder or importance, which a plan does not mind.
same() {
	local planned ran
	apr-quant -n --json "$@" >plan 2>plan.err && planned=0 || planned=$?
	apr-quant "$@" >made 2>run.err && ran=0 || ran=$?
	if [ $ran -ne 0 ]; then
		refused=$((refused + 1))
		[ ! -s made ] || fail "$*: refused, and yet it wrote" || return
		[ $planned -eq $ran ] && cmp -s plan.err run.err && return
		[ $planned -eq 0 ] && [ $ran -eq 2 ] &&
			grep -qE 'there is no encoder|is noise' run.err || fail "$*" "$(cat plan.err run.err)"
		return
	fi
	[ $planned -eq 0 ] || fail "$*: planned $planned" "$(cat plan.err)" || return
	ran_well=$((ran_well + 1))
	sed 's/.*"name":"\([^"]*\)".*"to":"\([^"]*\)".*"bytes":\([0-9]*\).*/\1 \2 \3/' plan >want
	apr-header -l made | awk '{ print $1, $2, $NF }' | diff want - || fail "$*" || return
	# Each tensor's frame has that many bytes too, or reading it had failed.
	[ "$(awk '{ n += $3 } END { print n + 0 }' want)" -eq "$(apr-get --list made | awk '{ n += $NF } END { print n + 0 }')" ]
}

types() {
	apr-quant 2>&1 | sed -n 's/.* TYPE is missing: //p'
}

# bats test_tags=repeats
@test "every mixture and type: the plan of a real model is what the run does" {
	local type ran_well=0 refused=0
	for type in $(types); do
		same --fallback warn $type "$model"
		same --fallback warn --pure --imatrix "$root/tests/data/imatrix.dat" $type "$model"
	done
	echo "# $ran_well runs, $refused refusals" >&3
	[ $ran_well -ge 55 ]
	[ $refused -ge 10 ]
}

@test "models, types and options by chance: the plan is what the run does" {
	local i type options ran_well=0 refused=0 all
	cp "$root/tests/data/imatrix.dat" .
	read -r -a all < <(types)
	for ((i = 0; i < 60; i++)); do
		[ $((i % 5)) -ne 0 ] || { random_model >description; mkmodel <description >model.gguf; }
		random_options
		one_of "${all[@]}"; type=$got
		same "${options[@]}" "$type" model.gguf || fail "model:" "$(cat description)"
	done
	echo "# $ran_well runs, $refused refusals" >&3
	[ $ran_well -ge 25 ]
	[ $refused -ge 10 ]
}
