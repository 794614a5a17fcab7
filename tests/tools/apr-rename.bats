# apr-rename: other names for tensors
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The names of the tensors of a model, one per line.
names() {
	apr-header -l "$@" | cut -d ' ' -f 1
}

@test "apr-rename passes the exam" {
	exam filter apr-rename '^blk=block'
	echo '{"token_embd.weight":"emb"}' >../map.json
	exam_input apr-rename --map ../map.json
}

@test "rules work in order, on what matches first" {
	try apr-rename '^blk\.(\d+)\.=layers.\1.' '^layers\.=h.' -o out "$model"
	[ "$status" -eq 0 ]
	diff <(names out) <(names "$model" | sed 's/^blk\./h./')
	# Only names change.
	diff <(apr-sum --sha256 out | sed 's/  h\./  blk./') <(apr-sum --sha256 "$model")
	diff <(apr-unpack "$model" | apr-rename '^blk\.(\d+)\.=h.\1.' | apr-header -l) \
		<(apr-header -l out)
}

@test "unchanged names keep a signature, changed ones end it with a record" {
	apr-keygen -W -o key 2>/dev/null
	apr-sign key "$model" >signed 2>/dev/null
	apr-rename '^blk=blk' signed >same 2>"$err"
	cmp same signed
	grep -q '0 of 30 tensors get another name' "$err"
	apr-rename '^blk=b' signed >other 2>"$err"
	grep -q 'its signature, which was not verified, is dropped' "$err"
	apr-header other >"$out"
	grep -qx 'signatures        0' "$out"
	grep -qx 'provenance        1 (claims)' "$out"
	try apr-verify -q key.pub other
	[ "$status" -ne 0 ]
	grep -aq '"operation":"apr-rename"' other
}

@test "a map exchanges names; --dry-run and --json print what changes" {
	echo '{"output.weight":"token_embd.weight","token_embd.weight":"output.weight","x":"y"}' >m.json
	try apr-rename -n --map m.json "$model"
	quiet
	diff "$out" - <<-END
		token_embd.weight                -> output.weight
		output.weight                    -> token_embd.weight
		2 of 30 tensors get another name
	END
	try apr-rename --json -n --map m.json "$model"
	quiet
	diff "$out" - <<-END
		{"name":"token_embd.weight","new":"output.weight"}
		{"name":"output.weight","new":"token_embd.weight"}
	END
	apr-rename --map m.json "$model" 2>/dev/null | names >once
	head -n 1 once | grep -qx output.weight
	apr-rename --map m.json "$model" 2>/dev/null | apr-rename --map m.json 2>/dev/null |
		names | diff - <(names "$model")
}

@test "--strict names tensors that are unknown and those that are missing" {
	try apr-rename --strict '^blk=b' "$model"
	said 5 'UnknownTensor: 3 tensors have no rule: token_embd.weight, output_norm.weight, output.weight'
	echo '{"tensors":[{"from":"blk.#.attn_q.weight","to":"l.#.q","required":true},
		{"from":"blk.#.attn_x.weight","to":"l.#.x","required":true},
		{"from":["blk.#.{N}"],"to":"a"}]}' >bad.json
	try apr-rename --schema bad.json "$model"
	said 4 'bad.json: blk.#.{N}: has both # and letters'
	apr-unpack --only 'blk\.[02]\.attn_q' "$model" 2>/dev/null >two
	echo '{"tensors":[{"from":"blk.#.attn_q.weight","to":"l.#.q","required":true}]}' >q.json
	try apr-rename --strict --schema q.json two
	said 5 'MissingTensor: there is no tensor l.1.q'
	try apr-rename --schema q.json two
	[ "$status" -eq 0 ]
	[ "$(names <"$out" | tr '\n' ' ')" = 'l.0.q l.2.q ' ]
}

@test "names that collide, grow or are not text are refused, and nothing is written" {
	try apr-rename '\d=0' -o made "$model"
	said 5 'would be the name of both blk.0.'
	try apr-rename '.*=' -o made "$model"
	said 5 'token_embd.weight: would have an empty name'
	local double=()
	for _ in {1..40}; do double+=('^.*$=\0\0'); done
	try apr-rename "${double[@]}" -o made "$model"
	said 5 'would have a name of more than 65535 bytes'
	try apr-rename $'x=\xff' -o made "$model"
	said 2 'not UTF-8'
	try apr-rename 'nowhere=x' -o made "$model"
	said 2 'nowhere: matches no tensor'
	mkmodel >long.gguf <<-END
		tensor $(printf 'a%.0s' {1..60}) F32 2 noise
	END
	try apr-rename '(a+)+$|(a|aa)+!=x' '^x=y' -o made long.gguf
	[ "$status" -eq 0 ]
	rm made
	try apr-rename '(a*)*!|(a|aa)+b|x=x' -o made long.gguf
	said 2 'takes too long to match'
	[ ! -e made ]
}

@test "wrong maps, schemas and command lines" {
	try apr-rename "$model"
	said 2 'no names'
	try apr-rename a=b --map x "$model"
	said 2 'cannot be combined'
	try apr-rename --json a=b "$model"
	said 2 '--json needs --dry-run'
	try apr-rename a=b x y
	said 2 'one operand too many'
	try apr-rename --map nowhere.json "$model"
	said 3 'nowhere.json: cannot be opened'
	while IFS='|' read -r text message; do
		printf '%s' "$text" >bad.json
		try apr-rename --map bad.json "$model"
		said 4 "$message" || fail "$text"
	done <<-'END'
		|is not valid JSON
		[]|JSON
		{"a":"b"|JSON
		{"a":1}|not text
		{"a":"b","a":"c"}|duplicate
		{"a":""}|a name is empty
		{}|names no tensor
	END
}

@test "a file in any format, and a pipe, give the same" {
	apr-unpack "$model" | apr-pack -o m.apr
	apr-rename '^blk=b' m.apr 2>/dev/null | apr-sum >a
	apr-unpack m.apr | apr-rename '^blk=b' 2>/dev/null | apr-sum >b
	diff a b
	apr-rename '^blk=b' m.apr 2>/dev/null | apr-rename '^b\.=blk.' 2>/dev/null |
		apr-pack -t gguf -o back.gguf
	diff <(apr-sum back.gguf) <(apr-sum "$model")
}

# ---- schemas of architectures ----

# The names of a small Whisper as HuggingFace has them.
whisper_names() {
	local part layer name
	echo model.encoder.conv{1,2}.{weight,bias} model.{encoder,decoder}.embed_positions.weight \
		model.decoder.embed_tokens.weight model.{encoder,decoder}.layer_norm.{weight,bias} \
		proj_out.weight
	for part in encoder decoder; do
		for layer in 0 1; do
			for name in self_attn encoder_attn; do
				[ $part = decoder ] || [ $name = self_attn ] || continue
				echo model.$part.layers.$layer.$name.{k_proj.weight,{q,v,out}_proj.{weight,bias}} \
					model.$part.layers.$layer.${name}_layer_norm.{weight,bias}
			done
			echo model.$part.layers.$layer.{fc1,fc2,final_layer_norm}.{weight,bias}
		done
	done
}

# A model of tensors with these names, and no metadata.
named() {
	local name
	for name; do
		echo "tensor $name F32 4 noise"
	done | mkmodel
}

@test "Whisper: HuggingFace, the form apr, ONNX's names, and back" {
	local onnx=()
	read -rd '' -a list < <(whisper_names) || :
	[ "${#list[@]}" -eq 90 ]
	named "${list[@]}" >hf.gguf
	apr-rename --strict --schema whisper hf.gguf 2>/dev/null >w.stream
	names w.stream >got
	for name in encoder.conv1.weight encoder.positional_embedding decoder.positional_embedding \
		decoder.token_embedding encoder.layers.1.self_attn.q_proj.weight decoder.layer_norm.bias \
		decoder.layers.0.encoder_attn_layer_norm.weight; do
		grep -qxF "$name" got || fail "$name"
	done
	! grep -q '^model\.' got
	# The names show the architecture; the schema apr is the same.
	apr-rename --strict --schema apr hf.gguf 2>/dev/null | cmp - w.stream
	apr-rename --strict --schema hf w.stream 2>/dev/null | names | diff - <(names hf.gguf)
	try apr-rename --strict --schema apr w.stream
	cmp "$out" w.stream
	for name in "${list[@]}"; do
		name=/${name#model.}
		onnx+=("${name//.//}")
	done
	[[ " ${onnx[*]} " == *' /encoder/conv1/weight '* ]]
	named "${onnx[@]}" >onnx.gguf
	apr-rename --strict --schema whisper onnx.gguf 2>/dev/null | names | diff - got
	# A layer is missing, and an unknown tensor.
	named "${list[@]/model.decoder.layers.1.fc1.weight/model.x.weight}" >bad.gguf
	try apr-rename --strict --schema whisper bad.gguf
	said 5 'UnknownTensor: 1 tensor has no rule: model.x.weight'
	named "${list[@]/model.decoder.layers.1.fc1.weight/model.decoder.layers.2.fc1.weight}" >bad.gguf
	try apr-rename --strict --schema whisper bad.gguf
	said 5 'MissingTensor: there is no tensor decoder.layers.'
}

@test "LLaMA: three forms, each from each (CHECK-087)" {
	apr-rename --strict --schema apr "$model" 2>/dev/null >apr.stream
	names apr.stream | head -n 3 | diff - <(printf '%s\n' token_embedding \
		layers.0.input_layernorm.weight layers.0.attn.q_proj.weight)
	apr-rename --strict --schema hf "$model" 2>/dev/null >hf.stream
	names hf.stream | grep -qx model.layers.2.mlp.down_proj.weight
	apr-rename --strict --schema apr hf.stream 2>/dev/null | names | diff - <(names apr.stream)
	for file in hf.stream apr.stream; do
		apr-rename --strict --schema gguf $file 2>/dev/null | apr-pack -t gguf -o back.gguf
		diff <(apr-sum back.gguf) <(apr-sum "$model")
		rm back.gguf
	done
	# Without metadata, the names show it.
	read -rd '' -a list < <(names "$model") || :
	named "${list[@]}" >bare.gguf
	apr-rename --strict --schema apr bare.gguf 2>/dev/null | names | diff - <(names apr.stream)
}

@test "an architecture that is not known, not stated, or another one (CHECK-095)" {
	try apr-rename --schema lama "$model"
	said 3 'lama: cannot be opened'
	try apr-rename --schema gguf --arch lama "$model"
	said 1 'architecture lama is not known'
	grep -q '^hint: the nearest known one is llama; --arch llama takes the model as such' "$err"
	named a b >none.gguf
	try apr-rename --schema apr none.gguf
	said 1 'the names of its tensors do not show it; --arch takes llama, mistral, '
	grep -qx 'hint: --arch NAME states it' "$err"
	try apr-rename --schema apr --arch llama none.gguf
	said 5 'ArchitectureMismatch: none of its tensors has a name of architecture llama'
	try apr-rename --strict --schema qwen3 "$model"
	said 5 'ArchitectureMismatch: its architecture is llama, not qwen3'
	echo '{"architecture":"bert","tensors":[{"from":"output.weight","to":"o"}]}' >s.json
	try apr-rename --strict --schema s.json "$model"
	said 5 'ArchitectureMismatch: its architecture is llama, not bert'
	try apr-rename -n --schema s.json "$model"
	quiet
	try apr-rename --arch llama a=b "$model"
	said 2 '--arch needs --schema'
}

@test "model folders: form apr and back, with each tensor's bytes" {
	need_data
	local folder
	for folder in bert roberta llama3 qwen2 gemma3 t5 mamba mixtral; do
		folder=$APR_TEST_DATA/convert/$folder/hf
		apr-rename --strict --schema apr "$folder" 2>/dev/null >a.stream
		apr-rename --strict --schema hf a.stream 2>/dev/null | apr-sum --sha256 >back
		# BERT folders may lack the prefix of their names.
		diff <(cut -d ' ' -f 1 back) <(apr-sum --sha256 "$folder" | cut -d ' ' -f 1) ||
			fail "$folder"
	done
	apr-rename --schema apr "$APR_TEST_DATA/convert/bert/hf" 2>/dev/null | names |
		grep -qx bert.encoder.layer.0.attention.self.query.weight
}
