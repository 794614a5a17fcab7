# Files of PyTorch: real ones, and what the options do.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# The digest of names, shapes and bytes of all tensors, as Python's zipfile and pickle with stubs
# for the functions of PyTorch give them.
listed() {
	apr-unpack "$1" 2>/dev/null >m.aprs
	apr-header -l --json m.aprs |
		jq -r '[.name, (.shape | map(tostring) | join("x"))] | @tsv' |
		while IFS=$'\t' read -r name shape; do
			printf '%s\0%s\0' "$name" "$shape"
			apr-get "$name" m.aprs
		done | sha256sum | cut -d' ' -f1
}

@test "pytorch: real files have the tensors that Python finds in them" {
	need_data
	local file digest
	while read -r digest file; do
		[ "$(listed "$APR_TEST_DATA/import/pytorch/$file")" = "$digest" ] || fail "$file"
	done <<-'END'
		12a2ad6e441b5585a4156288c2c9f45747c8cc39f5d9eaa6aa91908be67d7c9d resnet20-12fca82f.th
		00c3ccc8b76829be848fe8db1c1190c67ff675ced8dd94080524c58f96f83e2a crepe-tiny.pth
		e558670cb63d1f4832d3cc80b10c7d2318c8e043d66f1f281728cfe83f7ad351 silero_vad.jit
		84861ef3eb8f38a782e2c937e01168651c2bded8ad58ac4cda1ec632584b3e71 mtcnn/onet.pt
		e48a53e95c1d82bd61e553c6d70e4f49d67cc9a912a9a73b39787db0b13e01c2 mtcnn/pnet.pt
		47d9691cda29e1b2b5e6f87e8dfdd755f0ca4a9b49b47d4725b89afc72016559 mtcnn/rnet.pt
	END
}

# The storage of the made file has 24 bytes: the values 1 to 6.
made() {
	vectors torch_good .
}

@test "pytorch: views are read as the tensors that they show" {
	made
	local row name shape text
	apr-unpack views >v.aprs
	while read -r name shape text; do
		[ "$(apr-header -l --json v.aprs | jq -r --arg n "$name" 'select(.name == $n) |
			.shape | map(tostring) | join("x")')" = "$shape" ] || fail "$name: shape"
		row=$(apr-get --text "$name" v.aprs | tr -s '\n' ' ')
		[ "${row% }" = "$text" ] || fail "$name: $row"
	done <<-'END'
		plain 2x3 1 2 3 4 5 6
		turned 3x2 1 4 2 5 3 6
		column 2 2 5
		every_2 3 1 3 5
		expanded 2x3 4 4 4 4 4 4
		overlap 3x2 1 2 2 3 3 4
		tied 2x3 1 2 3 4 5 6
		size 2x3 1 2 3 4 5 6
		box 2x1x3 1 2 3 4 5 6
	END
}

@test "pytorch: sparse tensors are made dense if the user says so" {
	made
	local name text
	while read -r name text; do
		[ "$(apr-unpack --dense $name | apr-get --text w | tr -s ' \n' ' ')" = "$text " ] || fail $name
		apr-unpack --dense < <(cat $name) | cmp - <(apr-unpack --dense $name) || fail "$name, pipe"
		try apr-unpack -o dense.aprs $name
		said 4 'w: is a sparse tensor, which is read only as a dense one'
		grep -q '^hint: apr-unpack --dense makes it dense$' "$err"
		[ ! -e dense.aprs ]
	done <<-'END'
		sparse_coo 2 0 0 0 0 4
		sparse_csr 0 1 0 2 0 0
		sparse_bsc 0 0 0 4 5 6 1 2 3 0 0 0
	END
	try apr-unpack --dense "$model"
	said 5 '--dense needs a file of format pytorch'
}

@test "pytorch: columns of a matrix do not cost a read for each value" {
	made
	local calls
	apr-unpack slices >s.aprs
	apr-get --text col s.aprs | tr -s ' \n' '\n' >col
	seq 1 4 262141 | cmp - col
	apr-get --text pair s.aprs | tr -s ' \n' '\n' >pair
	seq 1 262143 | awk '$1 % 4 == 1 || $1 % 4 == 2' | cmp - pair
	"$APR_GEN/killed" count apr-unpack slices 2>/dev/null >counted ||
		[ $? -ne 77 ] || skip "ptrace is not possible here"
	calls=$(grep -ao 'calls [0-9]* read' counted | tr -dc 0-9)
	[ "$calls" -lt 1000 ] || fail "$calls system calls"
}

@test "pytorch: every form has the same tensors" {
	made
	local f
	apr-unpack views | apr-sum >want
	for f in views_deflated views_without_folder views_protocol_4 views_late_sizes; do
		apr-unpack "$f" | apr-sum | cmp - want || fail "$f"
	done
	for f in views views_deflated; do
		apr-unpack <"$f" | apr-sum | cmp - want || fail "$f from a descriptor"
		apr-unpack < <(cat "$f") | apr-sum | cmp - want || fail "$f from a pipe"
	done
	apr-unpack views_big_endian >big.aprs
	apr-unpack views >little.aprs
	cmp <(apr-get --text turned big.aprs) <(apr-get --text turned little.aprs)
	cmp <(apr-get --text plain big.aprs) <(apr-get --text plain little.aprs)
}

@test "pytorch: --strict checks the CRC-32 of storages that are not compressed" {
	made
	local f want='archive/data/0 has a wrong CRC-32'
	apr-unpack views | apr-sum >sums
	apr-unpack views_wrong_crc | apr-sum | cmp - sums
	mkdir folder
	cp views_wrong_crc folder/pytorch_model.bin
	for f in views_wrong_crc folder; do
		try apr-unpack --strict -o strict.aprs "$f"
		said 4 "$want"
		[ ! -e strict.aprs ]
	done
	try_pipe 'cat views_wrong_crc | apr-unpack --strict >strict.aprs'
	said 4 "$want"
	# Correct ones are accepted, and so are the real files.
	for f in views views_deflated views_late_sizes views_big_endian \
		"$APR_TEST_DATA"/import/pytorch/{crepe-tiny.pth,silero_vad.jit,mtcnn/onet.pt}; do
		[ -e "$f" ] || continue
		apr-unpack --strict "$f" | apr-sum >got
		apr-unpack "$f" | apr-sum | cmp - got || fail "$f"
	done
}

@test "pytorch: a checkpoint gives its model; options give other parts" {
	made
	try apr-unpack checkpoint
	grep -q 'read: the tensors of model.state_dict' "$err"
	grep -q 'tensors outside the model, which --all keeps: 1' "$err"
	[ "$(apr-header -l <"$out" | cut -d' ' -f1)" = module.w ]
	[ "$(apr-unpack --all checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1 | tr '\n' ' ')" = \
		'model.state_dict.module.w optimizer.state.0.avg ' ]
	[ "$(apr-unpack --key optimizer.state.0 checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1)" = avg ]
	[ "$(apr-unpack --prefix module. checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1)" = w ]
	try apr-unpack --key nothing checkpoint
	said 5 'has no key nothing'
	try apr-unpack --prefix nothing checkpoint
	said 5 'has no tensor whose name begins with nothing'
	try apr-unpack --all "$model"
	said 5 '--all needs a file of format pytorch'
}

@test "pytorch: --opaque passes calls over that no tensor depends on" {
	made
	try apr-unpack calls
	said 4 "is refused: its pickle calls os.system('id') (E001)"
	try apr-unpack --opaque calls
	[ "$status" -eq 0 ]
	grep -qF "passed over, and not made: calls in the pickle, such as os.system('id'): 1" "$err"
	try apr-unpack --opaque depends
	said 4 'does not lie in a storage of the file'
}

@test "pytorch: a tensor of qint8 is a Q8_TENSOR" {
	made
	[ "$(apr-unpack quantized | apr-get --text q)" = "$(printf '%s\n' '-1 -0.5' '0 62')" ]
}

@test "pytorch: quantized and complex types are numbers, and a key says what they mean" {
	made
	local name shape text
	apr-unpack meanings >q.aprs
	apr-meta get pytorch.tensors q.aprs | jq -c . >got
	cat >want <<-'END'
		{"axis":{"type":"qint8","scale":[0.5,0.10000000000000001],"zero_point":[3,-1],"axis":0},"lists":{"type":"quint8","scale":[0.5,1],"zero_point":[0,7],"axis":1},"quint8":{"type":"quint8","scale":0.5,"zero_point":3},"qint32":{"type":"qint32","scale":0.5,"zero_point":0},"complex128":{"type":"complex128"},"backward":{"type":"complex128"},"conj":{"type":"complex128"},"both":{"type":"complex128"}}
	END
	diff <(jq -cS . got) <(jq -cS . want)
	while read -r name shape text; do
		[ "$(apr-header -l --json q.aprs | jq -r --arg n "$name" 'select(.name == $n) |
			.dtype + (.shape | map(tostring) | join("x"))')" = "$shape" ] || fail "$name: shape"
		[ "$(apr-get --text "$name" q.aprs | tr -s ' \n' ' ')" = "$text " ] || fail "$name"
	done <<-'END'
		axis I82x2 1 2 3 127
		lists U82x2 1 2 3 127
		quint8 U84 1 2 3 127
		qint32 I321 2130903553
		complex128 F642x2 1 2 3 4
		backward F642 3 4
		conj F642x2 1 -2 3 -4
		both F642x2 -1 2 -3 4
		neg F642x2 -1 -3 -2 -4
	END
	[ "$(apr-get c64 q.aprs | od -An -tf4 | tr -s ' ')" = ' 1 -2 3 -4' ]
	# The names in the key are those of the plan, in folders too.
	mkdir folder
	cp meanings folder/pytorch_model.bin
	diff <(apr-unpack folder | apr-meta get pytorch.tensors) <(apr-meta get pytorch.tensors q.aprs)
	[ "$(apr-unpack --prefix a meanings | apr-meta get pytorch.tensors | jq -r '.xis.axis')" = 0 ]
	apr-unpack meanings | apr-pack -t gguf 2>/dev/null | apr-unpack | apr-meta get pytorch.tensors |
		diff - <(apr-meta get pytorch.tensors q.aprs)
	# More scales than fit into the plan travel beside it; a folder refuses them.
	[ "$(apr-unpack many_scales | apr-meta get pytorch.tensors |
		jq -c '.many | [(.scale | length), (.scale | unique), .axis]')" = '[20000,[0.5],0]' ]
	cp many_scales folder/pytorch_model.bin
	try apr-unpack folder
	said 4 'with scales of more than 65536 bytes'
}

@test "pytorch: arrays of NumPy in the pickle are tensors" {
	made
	local name text
	try apr-unpack arrays
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	grep -q 'left out: values that are not tensors: ' "$err"
	[ "$(apr-header -l <"$out" | cut -d' ' -f1 | tr '\n' ' ')" = 'w big turned letters none ' ]
	while read -r name text; do
		[ "$(apr-get --text "$name" <"$out" | tr -s ' \n' ' ')" = "$text " ] || fail "$name"
	done <<-'END'
		w 1 2 3 4 5 6
		big 258 -2
		turned 1 3 5 2 4 6
		letters 1 255 128 127
	END
	apr-unpack < <(cat arrays) 2>/dev/null | cmp - "$out"
	apr-sum arrays 2>/dev/null | cmp - <(apr-sum <"$out")
}

# What looks like a pickle in a storage is weights: only what refers to a member decides.
@test "pytorch: weights that look like a pickle give no alarm" {
	made
	apr-unpack weights_like_a_pickle | apr-get w | head -c 12 | grep -q 'cos'
}

@test "pytorch: TorchScript's constants and code come along; pickles beside them do not" {
	made
	local f
	for f in code/__torch__/m.py extra/empty extra/info.txt; do echo $f; done >names
	try apr-unpack script
	[ "$status" -eq 0 ]
	grep -q 'left out: other members of the archive: 1' "$err"
	apr-header --json <"$out" | jq -r '.files[] | select(.[1] == "torch")[0]' | cmp - names
	[ "$(apr-get --text CONSTANTS.c0 <"$out" | tr -s ' \n' ' ')" = '5 6 ' ]
	apr-unpack script | apr-pack -t gguf 2>/dev/null >m.gguf
	grep -qa 'c = CONSTANTS.c0' m.gguf
	grep -qa hello m.gguf
	! grep -qa "S'id'" m.gguf
	apr-unpack script 2>/dev/null | cmp - <(apr-unpack < <(cat script) 2>/dev/null)
	# Another part of the object has no constants.
	[ "$(apr-unpack --key plain script 2>/dev/null | apr-header -l | wc -l)" = 1 ]
}

# The form, and NAME: VALUES of each tensor, of models of torch.export.
exported() {
	try apr-unpack "$1"
	[ "$status" -eq 0 ] || fail "$1: $(cat "$err")" || return
	apr-header -l --json <"$out" | jq -r .name | while read -r name; do
		echo "$name:" $(apr-get --text "$name" <"$out")
	done | tr '\n' '|'
}

@test "pytorch export: all forms are read, with their names, types and strides" {
	local want='w: 1 2 3 4 5 6|' f
	vectors torch_export models
	cd models
	[ "$(exported export_new)" = "${want}turned: 1 4 2 5 3 6|tail: 5 6|one: 3|pickled: 1 2 3 4 5 6|c: 7|" ]
	grep -q 'left out: objects of custom classes: 1' "$err"
	for f in export_plain export_big_endian export_old export_first export_middle; do
		[ "$(exported $f)" = "$want" ] || fail "$f"
		apr-unpack < <(cat $f) | cmp - <(apr-unpack <$f) || fail "$f from a pipe"
	done
	[ "$(exported export_two_models)" = "a.$want""b.$want" ]
	[ "$(apr-header --json export_two_models | jq -c '[.form, .files]')" = \
		'["export",[["models/a.json","torch",59],["models/b.json","torch",59]]]' ]
	# Values are lent where they lie, those of an archive inside too.
	apr-sum export_new | cmp - <(apr-unpack export_new | apr-sum)
	apr-unpack --strict export_new | cmp - <(apr-unpack export_new)
	[ "$(apr-unpack --prefix pick export_new 2>/dev/null | apr-header -l | grep -c '^led ')" = 1 ]
	try apr-unpack --key w export_new
	said 5 'has no key w: it is a model of torch.export'
	# The graph comes with the tensors.
	apr-unpack export_old | apr-pack -t gguf | apr-unpack | apr-header --json |
		jq -e '.files[0][0] == "serialized_exported_program.json"'
}

@test "pytorch export: every fault is named, from a file and from a pipe" {
	vectors torch_export models
	cd models
	limit_memory 131072
	while IFS=$'\t' read -r name code says _; do
		try apr-unpack -o made "$name"
		said "$code" "$says" || fail "$name"
		try apr-unpack < <(cat "$name")
		said "$code" "$says" || fail "$name from a pipe"
		[ ! -e made ]
	done <MANIFEST
	[ "$(wc -l <MANIFEST)" -ge 48 ]
	# A call in an archive inside is reported.
	apr-header export_inner_hostile | grep -Eqx "would_call +os\.system\('id'\)"
}

@test "pytorch: nothing is opened or started while a hostile pickle is read" {
	local f
	command -v strace >/dev/null || skip "no strace"
	made
	for f in calls depends script meanings tar sparse_coo; do
		strace -f -o trace apr-unpack --opaque --dense $f >/dev/null 2>&1 || true
		grep -q "\"$f\"" trace || skip "strace does not work here"
		sed "1,/\"$f\"/d" trace >after
		! grep -E 'execve\(|socket\(|connect\(|fork\(|open[a-z0-9]*\(.*(O_WRONLY|O_RDWR|O_CREAT)' after
	done
}

@test "pytorch: a sparse file of 100 GB lists its tensors" {
	made
	cp sparse_head big
	truncate -s $(($(wc -c <big) + 100000000000)) big
	try timeout 5 apr-header -l big
	quiet
	grep -Eq '^a +F32 +25000000000 +[0-9]+ 100000000000$' "$out"
}

@test "pytorch: a sparse zip of 100 GB, whose numbers need 64 bits, lists its tensors" {
	local zeros
	"$APR_GEN/torch_huge" big 2 50000000000
	try timeout 60 apr-header -l big
	quiet
	grep -Eq '^w0 +F32 +12207031x1024 +[0-9]+ +49999998976$' "$out"
	grep -Eq '^w1 +F32 +12207031x1024 +49999999[0-9]+ +49999998976$' "$out"
	# One whose numbers need 32 bits, with the values.
	"$APR_GEN/torch_huge" small 3 40960
	zeros=$(head -c 40960 /dev/zero | sha256sum | cut -d' ' -f1)
	apr-unpack --strict small | apr-sum --sha256 >sums
	[ "$(grep -c "^$zeros  w[012]  F32 10x1024$" sums)" -eq 3 ]
}

# ---- folders ----

# Model folder $2 with the tensors of tests/data/convert/$1, in $3 files of PyTorch, 0 for one
# without an index. $4: turned.
convert() {
	local from=$root/tests/data/convert/$1/hf
	mkdir -p "$2"
	cp "$from"/* "$2"
	rm "$2/model.safetensors"
	"$APR_GEN/torch_from" "$from/model.safetensors" "$2" "$3" ${4:+"$4"}
}

@test "pytorch folders: every sound one has the same tensors" {
	local name n=0
	vectors torch_folders folders
	cd folders
	apr-unpack torch_one_file | apr-sum | grep 'content  tensors' >want
	while read -r name; do
		n=$((n + 1))
		try apr-unpack "$name"
		[ "$status" -eq 0 ] || fail "$name"
		apr-sum <"$out" | grep 'content  tensors' | cmp - want || fail "$name"
		apr-sum "$name" | grep 'content  tensors' | cmp - want || fail "$name by places"
	done <SOUND
	[ $n -ge 9 ]
	# A shard is opened twice, and its notes come once.
	[ "$(apr-unpack torch_shard_with_a_value 2>&1 >/dev/null | grep -c 'values that are not tensors')" = 1 ]
	apr-header -l --json torch_shards | jq -r '[.name, .file] | @tsv' |
		diff - <(printf '%s\t%s\n' a pytorch_model-00001-of-00002.bin \
			b pytorch_model-00001-of-00002.bin c pytorch_model-00002-of-00002.bin)
}

@test "pytorch folders: every fault is named and leaves no output" {
	local name code says n=0
	vectors torch_folders folders
	cd folders
	limit_memory 65536
	set +T
	while IFS=$'\t' read -r name code says; do
		n=$((n + 1))
		try apr-unpack -o made "$name"
		said "$code" "$says" || fail "$name"
		try apr-pack -t safetensors -o made/ "$name"
		said "$code" "$says" || fail "apr-pack $name"
		[ ! -e made ]
		# A report lists calls, and accepts a file without tensors.
		[ "${name%calls_*}" = torch_ ] && continue
		try apr-header "$name"
		[ "$status" -eq "$code" ] || fail "apr-header $name"
	done <MANIFEST
	[ $n -ge 40 ]
	[ -z "$(find . -name '.made*')" ]
	apr-header torch_calls_in_the_last_shard | grep -Eqx "would_call +os\.system\('x'\)"
	apr-unpack --opaque torch_calls_in_the_last_shard 2>/dev/null | apr-sum | grep 'content  tensors' |
		cmp - <(apr-unpack torch_shards | apr-sum | grep 'content  tensors')
}

@test "pytorch folders: they become the GGUF files of the reference" {
	local name shards turned
	while read -r name shards turned; do
		rm -rf hf
		convert "$name" hf "$shards" "$turned"
		apr-adapt --no-record gguf hf | apr-pack -f -t gguf -o got.gguf
		cmp got.gguf "$root/tests/data/convert/$name/expected.gguf" || fail "$name $shards"
		apr-unpack hf | apr-adapt gguf | apr-sum | grep '  tensor  ' | sort |
			cmp - <(apr-sum got.gguf | grep '  tensor  ' | sort) || fail "$name from a pipe"
	done <<-'END'
		llama2 0
		llama2 2 turned
		gpt2 3
		gpt2 0 turned
		qwen3moe 4
	END
}

@test "pytorch folders: apr-run gives the logits of the safetensors folder" {
	local from=$root/tests/data/convert/llama2/hf
	apr-run --logits --tokens 1,2,3 "$from" >want
	[ -s want ]
	convert llama2 one 0
	convert llama2 shards 3 turned
	apr-run --logits --tokens 1,2,3 one | cmp - want
	apr-run --logits --tokens 1,2,3 shards | cmp - want
	try apr-run --logits --tokens 1,2,3 one/pytorch_model.bin
	cmp "$out" want
	grep -q 'is read with the files of its folder' "$err"
}

@test "pytorch folders: they come back as a safetensors folder with the same side files" {
	local from=$root/tests/data/convert/gpt2/hf
	convert gpt2 m 2
	apr-unpack m | apr-pack -t safetensors -o made/
	diff -r m made | grep -v '^Only in m: pytorch_model' >got || true
	echo 'Only in made: model.safetensors' | diff - got
	apr-sum made | grep '  tensor  ' | sort |
		cmp - <(apr-sum "$from" | grep '  tensor  ' | sort)
}

@test "pytorch folders: safetensors beside them win, and a note says so" {
	local from=$root/tests/data/convert/gpt2/hf
	convert gpt2 hf 2 # a stream carries the name
	cp "$from/model.safetensors" hf
	try apr-unpack hf
	[ "$status" -eq 0 ]
	cmp "$out" <(apr-unpack "$from")
	cat >want <<-'END'
		apr-unpack: left behind: pytorch_model-00001-of-00002.bin, which holds weights
		apr-unpack: left behind: pytorch_model-00002-of-00002.bin, which holds weights
		apr-unpack: left behind: pytorch_model.bin.index.json, which is the index of other weights
	END
	cmp "$err" want
	# The index is still a model by its own name.
	apr-unpack hf/pytorch_model.bin.index.json | apr-sum | grep '  tensor  ' | sort |
		cmp - <(apr-sum "$from" | grep '  tensor  ' | sort)
	# A GGUF file beside PyTorch's is left behind.
	rm hf/model.safetensors
	cp "$root/tests/data/convert/gpt2/expected.gguf" hf/gpt2.gguf
	try apr-unpack hf
	[ "$status" -eq 0 ]
	grep -qx 'apr-unpack: left behind: gpt2.gguf, which holds weights' "$err"
}

@test "pytorch folders: options choose in every shard" {
	convert llama2 m 21
	apr-unpack --prefix model. m >short.aprs
	apr-header -l --json short.aprs | jq -r .name >names
	grep -qx embed_tokens.weight names
	grep -qx lm_head.weight names
	! grep -q '^model\.' names
	[ "$(wc -l <names)" = 21 ]
	try apr-unpack --prefix nothing. m
	said 5 'm: has no tensor whose name begins with nothing.'
	try apr-unpack --key nothing m
	said 5 'has no key nothing'
}

@test "pytorch folders: a total_size that is wrong is noted; --strict refuses it" {
	convert llama2 m 2
	sed -i 's/"total_size": [0-9]*/"total_size": 17/' m/pytorch_model.bin.index.json
	try apr-unpack m
	[ "$status" -eq 0 ]
	grep -q 'its total_size is not the [0-9]* bytes that the tensors have' "$err"
	try apr-unpack --strict m
	said 4 'its total_size is not the'
}

# What a tool reads at its place is not sent: only views that are not in one piece are.
@test "pytorch: the places of tensors are lent, in a file and in a folder" {
	local whole lent
	convert llama2 m 2
	convert llama2 turned 0 turned
	for file in m/pytorch_model-00002-of-00002.bin turned/pytorch_model.bin; do
		whole=$(apr-unpack "${file%/*}" | wc -c)
		lent=$(apr-unpack --places 8,9 "${file%/*}" 8<m/pytorch_model-00001-of-00002.bin 9<"$file" | wc -c)
		echo "$file: $whole, lent: $lent"
		[ "$lent" -lt "$whole" ]
	done
	apr-sum m >want
	apr-unpack m | apr-sum | cmp - want
	grep '  tensor  ' want | sort >tensors
	apr-sum turned | grep '  tensor  ' | sort | cmp - tensors
	apr-stats --json turned | cmp - <(apr-unpack turned | apr-stats --json)
}
