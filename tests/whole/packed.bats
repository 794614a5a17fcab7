# Model folders that are quantized in their own way: apr-adapt decodes them, exactly
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	vectors packed folders
}

# The tensors of a model, whatever their order.
tensors() {
	apr-sum --sha256 "$1" | sort >"$1.sums" && [ -s "$1.sums" ]
}

logits() {
	apr-run --tokens 1,2,3,63 --logits "$1" >"$2" && [ -s "$2" ]
}

@test "packed folders become the GGUF of their twins in F32, and say the same" {
	[ "$(wc -l <folders/SOUND)" -eq 7 ]
	while read -r name; do
		for folder in "$name" "$name-twin"; do
			apr-adapt gguf --type f32 "folders/$folder" 2>/dev/null | apr-pack -t gguf -o "$folder.gguf"
			tensors "$folder.gguf"
			logits "$folder.gguf" "$folder.logits"
		done
		cut -d' ' -f1,3- "$name-twin.gguf.sums" >twin.sums
		cut -d' ' -f1,3- "$name.gguf.sums" | diff - twin.sums || fail "$name" || return
		cmp "$name.logits" "$name-twin.logits" || fail "$name" || return
		logits "folders/$name-twin" folder.logits
		nearlogits "$name.logits" folder.logits 64 1e-5 >near || fail "$name: $(cat near)" || return
	done <folders/SOUND
}

@test "packed folders from a pipe give the same tensors as from a file" {
	while read -r name; do
		apr-adapt gguf "folders/$name" 2>/dev/null | apr-pack -t gguf -o file.gguf
		apr-unpack "folders/$name" | apr-adapt gguf 2>/dev/null | apr-pack -t gguf -o pipe.gguf
		tensors file.gguf
		tensors pipe.gguf
		sed s/pipe.gguf/file.gguf/ pipe.gguf.sums | diff - file.gguf.sums || fail "$name" || return
		rm ./*.gguf
	done <folders/SOUND
}

@test "packed folders are imported as .apr files, which give the GGUF of the folder" {
	local name from
	while read -r name; do
		apr import "folders/$name" -o "$name.apr" 2>/dev/null
		apr-unpack "folders/$name" | apr-adapt apr | apr-pack -f -o pipe.apr
		apr-adapt gguf "folders/$name" 2>/dev/null | apr-sum | grep '  tensor  ' | sort >want
		[ "$(wc -l <want)" -eq 21 ]
		for from in "$name.apr" pipe.apr; do
			apr-adapt gguf "$from" 2>/dev/null | apr-sum | grep '  tensor  ' | sort | diff want - ||
				fail "$name: $from" || return
		done
		apr-unpack "$name.apr" | apr-pack -t safetensors -o "$name-plain/"
		jq -e '.model_type == "llama" and .quantization_config == null' "$name-plain/config.json"
	done <folders/SOUND
}

# Weights of 4 bits come last, others keep their place.
@test "packed folders: places of the weights in a GGUF file" {
	order() {
		apr-adapt gguf "folders/$1" 2>/dev/null | apr-pack -t gguf -o "$1.gguf"
		apr-header -l "$1.gguf" | awk '{ print $1 }'
	}
	order fp8 >fp8
	order fp8-twin | diff fp8 -
	order int8 | diff fp8 -
	order gptq >gptq
	[ "$(sed -n 1p gptq)" = output.weight ]
	[ "$(sed -n 7,8p gptq | tr '\n' ' ')" = 'output_norm.weight blk.0.ffn_down.weight ' ]
	[ "$(wc -l <gptq)" -eq 21 ]
}

refused() {
	try apr-adapt gguf "folders/$1" && said "$2" "$3"
}

@test "packed folders with a fault: one message each" {
	cd folders
	[ "$(wc -l <MANIFEST)" -ge 35 ]
	cd ..
	cp folders/MANIFEST .
	rows refused
}

@test "apr-run of a packed folder points at apr-adapt" {
	for name in gptq fp8; do
		try apr-run --tokens 1 --logits "folders/$name"
		said 4 'hint: config.json says that the weights are quantized; apr-adapt gguf decodes them'
	done
}
