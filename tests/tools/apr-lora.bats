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
