# apr-lora: adapters of low rank
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The tensors of a description (mkmodel) as the folder $1 of PEFT, with the members $2 of its
# adapter_config.json beside peft_type and r.
peft() {
	mkdir -p "$1"
	mkmodel >made.gguf
	apr-unpack made.gguf | apr-pack --plain -f -t safetensors -o "$1/adapter_model.safetensors" 2>made.err
	printf '{"peft_type":"LORA","r":2,%s}\n' "$2" >"$1/adapter_config.json"
}

# The values of tensor $2 of model $1 on one line.
values() {
	apr-get --text "$2" "$1" | tr -s '\n ' ' ' | sed 's/ $//'
}

# A base of two matrices of 2 outputs and 4 inputs, and an adapter of rank 2 that adds, without its
# scale, 1 0 2 0 and 0 3 0 0.
simple() {
	mkmodel <<-END >base.gguf
		tensor a.weight F32 2x4 values 1 2 3 4 5 6 7 8
		tensor b.weight F16 2x4 values 0x3c00
	END
	peft ad '"lora_alpha":4' <<-END
		tensor base_model.model.a.lora_A.weight F32 2x4 values 1 0 2 0 0 1 0 0
		tensor base_model.model.a.lora_B.weight F32 2x2 values 1 0 0 3
	END
}

@test "apr-lora passes the exam" {
	peft ad '"lora_alpha":1' <<-END
		tensor base_model.model.blk.0.attn_q.lora_A.weight F32 1x256 values 0.5
		tensor base_model.model.blk.0.attn_q.lora_B.weight F32 256x1 values 0.25
	END
	exam filter apr-lora apply --adapter "$PWD/ad"
}

@test "scale times B A is added; scales of users, ranks and modules multiply" {
	simple
	try apr-lora apply base.gguf ad -o out
	[ "$status" -eq 0 ]
	grep -qx 'apr-lora: 1 of 2 tensors change' "$err"
	[ "$(values out a.weight)" = '3 2 7 4 5 12 7 8' ]
	[ "$(values out b.weight)" = '1 1 1 1 1 1 1 1' ]
	# A file of the folder stands for it.
	for i in ad/adapter_model.safetensors ad/adapter_config.json; do
		apr-lora apply base.gguf "$i" | cmp - out
	done
	apr-unpack base.gguf | apr-lora apply --adapter ad=0.5 | apr-pack -o half.apr
	[ "$(values half.apr a.weight)" = '2 2 5 4 5 9 7 8' ]
	# Taken away again, and two in turn.
	[ "$(values <(apr-lora apply out ad=-1) a.weight)" = "$(values base.gguf a.weight)" ]
	[ "$(values <(apr-lora apply base.gguf ad=0.25 ad=0.75) a.weight)" = "$(values out a.weight)" ]
	# rsLoRA: 4 / sqrt(4). A module of its own: the end of its name, or a pattern.
	peft rs '"lora_alpha":4,"use_rslora":true' <<-END
		tensor base_model.model.a.lora_A.weight F32 4x4 values 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
		tensor base_model.model.a.lora_B.weight F32 2x4 values 1 0 0 0 0 0 0 0
	END
	[ "$(values <(apr-lora apply base.gguf rs) a.weight)" = '3 2 3 4 5 6 7 8' ]
	for key in a 'a|c' '[ab]'; do
		sed 's/"r"/"alpha_pattern":{"x":1,"'"$key"'":8},"r"/' ad/adapter_config.json >c
		cp c ad/adapter_config.json
		[ "$(values <(apr-lora apply base.gguf ad) a.weight)" = '5 2 11 4 5 18 7 8' ] || fail "$key"
		simple
	done
}

@test "DoRA gives rows the length of their magnitude" {
	simple
	peft dora '"lora_alpha":2,"use_dora":true' <<-END
		tensor base_model.model.a.lora_A.weight F32 2x4 values 2 0 0 0 0 0 0 0
		tensor base_model.model.a.lora_B.weight F32 2x2 values 1 0 0 0
		tensor base_model.model.a.lora_magnitude_vector F32 2 values 10 26.38181191654584
	END
	mkmodel <<<'tensor a.weight F32 2x4 values 1 0 0 4 5 6 7 8' >base.gguf
	[ "$(values <(apr-lora apply base.gguf dora) a.weight)" = '6 0 0 8 10 12 14 16' ]
}

@test "whole tensors replace those of the model; types stay" {
	mkmodel <<-END >base.gguf
		tensor a.weight F16 2x32 values 0x3c00
		tensor a.bias F32 2 values 1 2
		tensor q.weight Q8_0 2x32 noise
	END
	peft ad '"lora_alpha":2,"modules_to_save":["a"]' <<-END
		tensor base_model.model.a.modules_to_save.weight F32 2x32 values 3
		tensor base_model.model.a.bias F32 2 values 5 7
		tensor base_model.model.q.lora_A.weight F32 2x32 values 1
		tensor base_model.model.q.lora_B.weight F32 2x2 values 0.5
	END
	try apr-lora apply base.gguf ad -o out
	said 5 'q.weight: is quantized, as Q8_0, and would be quantized again'
	grep -qx 'hint: --requantize allows that; better is a base in F16 or BF16' "$err"
	[ ! -e out ]
	apr-lora apply --requantize base.gguf ad -o out
	[ "$(values out a.weight | tr ' ' '\n' | sort -u)" = 3 ]
	[ "$(values out a.bias)" = '5 7' ]
	diff <(apr-header -l base.gguf | cut -c 1-40) <(apr-header -l out | cut -c 1-40)
	# 2 / 2 × (0.5 + 0.5) is added to each value, before it is rounded to Q8_0 again.
	paste <(values base.gguf q.weight | tr ' ' '\n') <(values out q.weight | tr ' ' '\n') |
		awk '{ d = $2 - $1 - 1; if (d > 0.01 || d < -0.01) bad++; n++ } END { exit bad || n != 64 }'
}

@test "a folder's adapter on GGUF, and the reverse; one becomes the other" {
	local at=$root/tests/data/convert/llama2 m i=0
	{
		for m in self_attn.q_proj:64 self_attn.k_proj:64 mlp.down_proj:64:128; do
			IFS=: read -r m out in <<<"$m"
			echo "tensor base_model.model.model.layers.1.$m.lora_A.weight F32 2x${in:-64} noise"
			echo "tensor base_model.model.model.layers.1.$m.lora_B.weight F32 ${out}x2 noise"
		done
		echo "tensor base_model.model.lm_head.lora_A.weight F32 4x64 noise"
		echo "tensor base_model.model.lm_head.lora_B.weight F32 420x4 noise"
	} | peft ad '"lora_alpha":64,"alpha_pattern":{"down_proj":9}'
	apr-lora apply "$at/hf" ad | apr-adapt gguf >want
	apr-lora apply "$at/expected.gguf" ad >got
	apr-diff --tensors -q want got
	run ! apr-diff --tensors -q "$at/expected.gguf" got
	try_pipe "apr-lora convert --base $at/hf ad | apr-pack -t gguf -o ad.gguf"
	grep -qx 'apr-lora: B takes the scale of its module in 1 of 4 cases' "$err"
	apr-header --json ad.gguf | grep -qF '"general.type"'
	apr-diff --tensors -q --tolerance 1e-6 <(apr-lora apply "$at/hf" ad.gguf | apr-adapt gguf) want
	apr-lora convert --base "$at/expected.gguf" ad.gguf | apr-pack -t safetensors -o back/
	ls back | diff - <(printf '%s\n' adapter_config.json adapter_model.safetensors)
	apr-diff --tensors -q --tolerance 1e-6 <(apr-lora apply "$at/expected.gguf" back) want
	# Unmerged, logits agree within rounding; the scale counts.
	apr-pack -t gguf -o merged.gguf got
	apr-run --logits --tokens 3,1,4,1,5 merged.gguf >merged.f32
	for m in "--lora ad $at/hf" "--lora ad.gguf $at/expected.gguf" "--lora ad=0.25 --lora ad.gguf=0.75 $at/hf"; do
		# shellcheck disable=SC2086
		apr-run --logits --tokens 3,1,4,1,5 $m >apart.f32
		nearlogits apart.f32 merged.f32 420 0.02
	done
}

@test "extract: the adapter that was added comes back, in the form of the base" {
	local at=$root/tests/data/convert/llama2 m
	for m in layers.0.self_attn.q_proj:64:64:2 layers.1.mlp.down_proj:128:64:4; do
		IFS=: read -r m in out rank <<<"$m"
		echo "tensor base_model.model.model.$m.lora_A.weight F32 ${rank}x$in noise"
		echo "tensor base_model.model.model.$m.lora_B.weight F32 ${out}x$rank noise"
	done | peft ad '"lora_alpha":3'
	apr-quant f32 "$at/hf" >base 2>log
	apr-lora apply base ad >tuned 2>log
	try_pipe "apr-lora extract --base base --rank 4 --verbose tuned | apr-pack -t safetensors -o back/"
	grep -q '^apr-lora: model.layers.1.mlp.down_proj.weight: rank 4, error .*e-0[67]$' "$err"
	grep -q '^apr-lora: 2 weights, error .*e-0[67] of the difference$' "$err"
	apr-diff -q --max-delta 2e-7 <(apr-lora apply base back/) tuned
	# Of less rank: the error of the result is the one that is stated.
	try apr-lora extract --base base --rank 2 -o some tuned
	stated=$(sed -n 's/.*error \(.*\) of the difference/\1/p' "$err")
	apr-pack -t safetensors -o less/ some
	mine=$(apr-diff --json <(apr-lora apply base less/) tuned | sed -n '1s/.*"l2":\([^,]*\),.*/\1/p')
	whole=$(apr-diff --json base tuned | sed -n '1s/.*"l2":\([^,]*\),.*/\1/p')
	awk -v a="$mine" -v b="$whole" -v c="$stated" 'BEGIN { exit !(b > 0 && a / b > c * 0.99 && a / b < c * 1.01) }'
	for m in 1 7; do
		apr-lora extract -j $m --base base --rank 2 tuned | cmp - some
	done
	# Of a share of the squares; a base in GGUF, a tuned model in a folder's form.
	apr-adapt gguf base | apr-pack -t gguf -o base.gguf
	try_pipe "apr-lora extract --base base.gguf --energy 0.9999999 --rank 8 tuned | apr-pack -t gguf -o ad.gguf"
	apr-diff -q --max-delta 2e-4 <(apr-lora apply base ad.gguf) tuned
	apr-header --json ad.gguf | grep -qF '"adapter.type"'
}

@test "extract: embeddings and whole tensors with --all; what cannot be is named" {
	mkmodel <<-END >a.gguf
		key general.architecture string llama
		tensor token_embd.weight F32 8x4 values 3 1
		tensor output_norm.weight F32 4 values 1
		tensor blk.0.ffn_up.weight F32 4x4 values 0
	END
	mkmodel <<-END >b.gguf
		key general.architecture string llama
		tensor token_embd.weight F32 8x4 values 3 1 3 2
		tensor output_norm.weight F32 4 values 1 2
		tensor blk.0.ffn_up.weight F32 4x4 values 1 2 2 4
	END
	try_pipe "apr-lora extract --base a.gguf --rank 3 b.gguf | apr-pack -t gguf -o ad.gguf"
	grep -q '2 tensors that differ are not weights of layers and are left out (--all takes them)' "$err"
	apr-header -l ad.gguf | awk '{ print $1, $3 }' | diff - <(printf '%s\n' 'blk.0.ffn_up.weight.lora_a 1x4' 'blk.0.ffn_up.weight.lora_b 4x1')
	try_pipe "apr-lora extract --all --base a.gguf --rank 3 b.gguf | apr-pack -t gguf -o all.gguf"
	grep -q 'apr-lora: 2 weights, error 0 of the difference' "$err"
	apr-diff --tensors -q --max-delta 1e-6 <(apr-lora apply a.gguf all.gguf) b.gguf
	try apr-lora extract --base a.gguf --rank 1 a.gguf -o none
	said 1 'a.gguf: no weight differs from the base'
	mkmodel <<<'tensor blk.0.ffn_up.weight F32 5x4 values 0' >c.gguf
	try apr-lora extract --base a.gguf --rank 1 c.gguf -o none
	said 5 'c.gguf: lacks the tensor token_embd.weight of a.gguf'
	mkmodel <<<'tensor blk.0.ffn_up.weight F32 4x4 values 0' >d.gguf
	try apr-lora extract --base d.gguf --rank 1 c.gguf -o none
	said 5 'c.gguf: its tensor blk.0.ffn_up.weight is 5x4, and that of d.gguf is 4x4'
	mkmodel <<<'tensor blk.0.ffn_up.weight F32 4x4 values 0 0x7fc00000' >nan.gguf
	try apr-lora extract --base d.gguf --rank 1 nan.gguf -o none
	said 5 'blk.0.ffn_up.weight: value 1 of row 0 is not finite'
	[ ! -e none ]
	while IFS=: read -r args message; do
		# shellcheck disable=SC2086
		try apr-lora $args
		said 2 "$message"
	done <<-END
		extract --rank 1 a.gguf:extract needs --base
		extract --base a.gguf b.gguf:extract needs --rank, --energy, or both
		extract --base a.gguf --rank 1 b.gguf c.gguf:extract takes one model beside the base
		extract --base a.gguf --energy 2 b.gguf:--energy
		apply --rank 2 a.gguf ad.gguf:--rank, --energy, --all and --verbose are for extract
	END
}

# changes ROW: the adapter ad gives the first row of a.weight these values, and leaves b alone.
changes() {
	[ "$(values <(apr-lora apply base.gguf ad 2>/dev/null) a.weight)" = "$1 5 6 7 8" ] || {
		cat ad/adapter_config.json
		values <(apr-lora apply base.gguf ad) a.weight
		return 1
	}
}

@test "folders as PEFT and others save them: each member works or is refused by name" {
	local A='1 0 2 0 0 0 0 0' B='1 0 0 0' i
	simple
	for i in .lora_A.weight/.lora_B.weight .lora_A.default.weight/.lora_B.default.weight; do
		peft ad '"lora_alpha":2' <<-END
			tensor base_model.model.a${i%/*} F32 2x4 values $A
			tensor base_model.model.a${i#*/} F32 2x2 values $B
		END
		changes '2 2 5 4'
	done
	# What only says where the training put parts changes nothing; alpha_pattern does: names, ends of
	# names, regular expressions for the whole name, the first that fits.
	for i in '"target_modules":".*[ab]"' '"target_modules":["a","b"],"layers_to_transform":[0],"layers_pattern":"layers"' \
		'"rank_pattern":{"a":2}' '"exclude_modules":"z","bias":"none","task_type":"CAUSAL_LM"' \
		'"init_lora_weights":true,"lora_dropout":0.1,"inference_mode":true,"revision":null' \
		'"loftq_config":{},"megatron_core":"megatron.core","use_dora":false,"eva_config":null' \
		'"alpha_pattern":{"b":7}' '"alpha_pattern":{"(b|c)":7,"a.":9}'; do
		echo "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":2,$i}" >ad/adapter_config.json
		changes '2 2 5 4'
	done
	for i in '"alpha_pattern":{"a":4}' '"alpha_pattern":{"[a-b]":4,"a":6}' '"alpha_pattern":{"^a$":4}'; do
		echo "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":2,$i}" >ad/adapter_config.json
		changes '3 2 7 4'
	done
	for i in 'init_lora_weights":"pissa_niter_4' 'init_lora_weights":"olora' 'init_lora_weights":"loftq' \
		'layer_replication":[[0,1]],"x":"' 'trainable_token_indices":[1],"x":"' 'lora_bias":true,"x":"' \
		'use_qalora":true,"x":"' 'target_parameters":["a"],"x":"' 'peft_type":"ADALORA' 'use_dora":true,"x":"'; do
		echo "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":2,\"$i\"}" >ad/adapter_config.json
		try apr-lora apply base.gguf ad
		said 4 "${i%%\"*}"
	done
	# Both names of a matrix; two adapters in one file; a part that is not known.
	for i in lora_A.default.weight lora_A.other.weight lora_E; do
		peft ad '"lora_alpha":2' <<-END
			tensor base_model.model.a.lora_A.weight F32 2x4 values $A
			tensor base_model.model.a.$i F32 2x4 values $A
			tensor base_model.model.a.lora_B.weight F32 2x2 values $B
		END
		try apr-lora apply base.gguf ad
		[ "$status" -eq 4 ]
		grep -q 'is there twice\|is a part of an adapter that is not known' "$err"
	done
}

@test "a folder of a whole llama: tables, head, bias and modules that were trained whole" {
	local at=$root/tests/data/convert/llama2/hf m=base_model.model.model
	peft ad '"lora_alpha":2,"modules_to_save":["lm_head"],"bias":"lora_only"' <<-END
		tensor $m.embed_tokens.lora_embedding_A F32 2x420 noise
		tensor $m.embed_tokens.lora_embedding_B F32 64x2 noise
		tensor $m.norm.weight F32 64 values 2
		tensor base_model.model.lm_head.modules_to_save.default.weight F32 420x64 values 3
		tensor $m.layers.0.mlp.up_proj.lora_A.default.weight F32 2x64 noise
		tensor $m.layers.0.mlp.up_proj.lora_B.default.weight F32 128x2 noise
	END
	try apr-lora apply "$at" ad -o out
	[ "$status" -eq 0 ]
	grep -q '^apr-lora: 4 of' "$err"
	[ "$(values out model.norm.weight | tr ' ' '\n' | sort -u)" = 2 ]
	[ "$(values out lm_head.weight | tr ' ' '\n' | sort -u)" = 3 ]
	# Two rows more than the model: a vocabulary that was resized for the training.
	peft ad '"lora_alpha":2' <<<"tensor base_model.model.lm_head.base_layer.weight F32 422x64 values 1"
	try apr-lora apply "$at" ad
	said 5 'lm_head.weight: the tensor of the adapter that replaces it has shape 422x64'
}

@test "no output replaces an input: models, adapters, files of an adapter" {
	simple
	ln base.gguf base
	cp base.gguf b
	for i in "extract --rank 1 --base base.gguf b -o b" \
		"extract --rank 1 --base base.gguf b -o ./base" \
		"convert --base base.gguf ad -o base"; do
		try apr-lora $i -f
		said 2 'is the input file itself'
	done
	for i in apply\ base.gguf "convert --base base.gguf"; do
		try apr-lora $i ad -f -o ad/adapter_config.json
		said 2 'lies in the input folder already'
		try apr-lora $i ad/adapter_model.safetensors -f -o ad/adapter_config.json
		said 2 'lies in the input folder already'
	done
	try bash -c 'apr-lora extract --rank 1 --base base.gguf - <b >>b'
	said 2 '<stdout>: is the input file itself'
	cmp base.gguf b
}

@test "extract: a read error names the file that it is in" {
	local pid status=0
	simple
	mkmodel <<-END >b.gguf
		tensor a.weight F32 2x4 values 1 2 3 4 5 6 7 9
		tensor b.weight F16 2x4 values 0
	END
	mkfifo p
	apr-lora extract --rank 1 --base base.gguf - <p >out 2>said 3>&- &
	pid=$!
	exec 5>p
	sleep 0.5
	truncate -s -64 base.gguf # behind the back of the tool, which has read its header
	apr-unpack b.gguf >&5
	exec 5>&-
	wait "$pid" || status=$?
	[ "$status" -eq 4 ]
	grep -q 'base.gguf' said
}
