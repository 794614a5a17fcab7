# The statements of apr-formats(7) on containers: a test for each of its tables.
load ../helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$APR_BIN:$PATH
	export APR_LOG_LEVEL=error
	apr-keygen -W -o key >/dev/null
	apr-unpack "$model" >m.aprs
	apr-sign key m.aprs >signed.aprs
}

setup() {
	shared=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	set +T # each command of a loop would be traced
}

# NAME TYPE OFFSET BYTES of each tensor.
places() {
	apr-header -l --json "$1" |
		sed -n 's/.*"name":"\([^"]*\)","dtype":"\([^"]*\)".*"offset":\([0-9]*\),"bytes":\([0-9]*\).*/\1 \2 \3 \4/p'
}

# The bytes of a file's header as text, from outside.
raw() {
	head -c 300000 "$1" | tr -c '[:print:]' '\n'
}

@test "alignment" {
	printf 'tensor %s I8 %s ramp\n' a 3 b 5 c 70 | mkmodel >odd.gguf
	for n in 32 64; do
		apr-pack --align $n -f -o odd.apr odd.gguf
		places odd.apr | awk -v n=$n '$3 % n { exit 1 }'
	done
	apr-pack -f -o odd.apr odd.gguf
	places odd.apr | awk '{ if ($3 % 64) exit 1; n++ } END { exit n != 3 }'
	for n in 1 8 4096; do
		{ echo "key general.alignment u32 $n"
			printf 'tensor %s I8 %s ramp\n' a 3 b 5 c 70; } | mkmodel >aligned.gguf
		places aligned.gguf | awk -v n=$n '$3 % n { exit 1 }'
		apr-pack -t gguf aligned.gguf | cmp - aligned.gguf
	done
	places odd.gguf | awk '$3 % 32 { exit 1 }'
	# One tensor after another; the first begins at a multiple of 8.
	apr-pack -t safetensors -o odd.safetensors odd.gguf
	places odd.safetensors |
		awk 'NR == 1 && $3 % 8 || NR > 1 && $3 != end { exit 1 } { end = $3 + $4 } END { exit NR != 3 }'
}

@test "compression" {
	local codec format
	apr-pack -o plain.apr "$shared/m.aprs"
	for codec in lz4 zstd; do
		apr-pack -z $codec -o $codec.apr "$shared/m.aprs"
		cmp <(apr-sum $codec.apr) <(apr-sum plain.apr)
	done
	[ "$(wc -c <zstd.apr)" -lt $(($(wc -c <plain.apr) * 9 / 10)) ]
	for format in gguf safetensors; do
		try apr-pack -t $format -z zstd -o made "$shared/m.aprs"
		said 2 "$format has no compression"
	done
}

@test "quantization" {
	apr-quant q4_k_m -o q.aprs "$shared/m.aprs"
	for format in apr2 gguf safetensors; do
		apr-pack -t $format -o q.$format q.aprs
		cmp <(apr-sum q.$format) <(apr-sum q.aprs)
	done
	# GGML's types are types of both, by their numbers.
	places q.apr2 | grep -q ' Q4_K '
	places q.gguf | grep -q ' Q4_K '
	# There they are bytes, and a key of ours tells what they are.
	raw q.safetensors | grep -q '"apr.dtype.[^"]*":"Q4_K"'
	raw q.safetensors | grep -q '"dtype":"U8"'
	! raw q.safetensors | grep '"dtype":"Q'
	# A type that GGML does not have.
	apr-quant --pure f8_e4m3 -o f8.aprs "$shared/m.aprs"
	for format in apr2 gguf safetensors; do
		apr-pack -t $format -o f8.$format f8.aprs
		cmp <(apr-sum f8.$format) <(apr-sum f8.aprs)
	done
	raw f8.safetensors | grep -q '"dtype":"F8_E4M3"'
	raw f8.gguf | grep -q 'apr.dtype.'
}

@test "sharding" {
	apr-pack --shard-size 2M -o m.apr "$shared/m.aprs"
	apr-pack -t gguf --shard-size 2M -o m.gguf "$shared/m.aprs"
	apr-pack -t safetensors --shard-size 2M -o folder/ "$shared/m.aprs"
	[ -e m.apr.json ] && [ -e folder/model.safetensors.index.json ]
	for file in m-00002-of-00003.apr m-00002-of-00003.gguf m.apr.json folder \
		folder/model-00002-of-00003.safetensors; do
		cmp <(apr-sum $file) <(apr-sum "$shared/m.aprs")
	done
	# Without an index, the metadata of a shard states its number.
	[ "$(find . -name 'm*gguf*' | wc -l)" -eq 3 ]
	raw m-00002-of-00003.gguf | grep -q split.count
}

@test "streaming" {
	for format in apr2 gguf safetensors; do
		pipe "apr-pack -t $format <'$shared/m.aprs' | apr-unpack | apr-sum | cmp - <(apr-sum '$shared/m.aprs')"
	done
	# A signature is known last.
	pipe "apr-pack <'$shared/signed.aprs' | apr-unpack | apr-verify -q '$shared/key.pub'"
	for format in gguf safetensors; do
		try_pipe "apr-pack -t $format <'$shared/signed.aprs' | cat"
		said 2 'a signature is written last'
	done
}

@test "typed metadata" {
	printf 'key %s\n' 'a u8 7' 'b array:string x y' 'c f64 0.1' 's string text' |
		mkmodel >keys.gguf
	apr-header --json keys.gguf | grep -o '"metadata":.*' >want
	for format in apr2 gguf safetensors; do
		apr-pack -t $format -o keys.$format.made keys.gguf
		apr-header --json keys.$format.made | grep -o '"metadata":.*' | cmp - want
	done
	# Strings are all that the format itself has.
	raw keys.safetensors.made | grep -q '"s":"text"'
	raw keys.safetensors.made | grep -q 'apr.metadata'
	apr-pack -t safetensors --plain -o plain keys.gguf
	apr-header --json plain | grep -q '"metadata":\[\["s","string","text"\]\]'
}

# One byte of a tensor, changed.
damage() {
	local at
	at=$(places "$1" | awk 'NR == 1 { print $3 + 1 }')
	printf '\377\377\377\377' | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

@test "checksums and signatures" {
	for format in apr2 gguf safetensors; do
		apr-pack -t $format -o m.$format "$shared/signed.aprs"
		try apr-verify -q "$shared/key.pub" m.$format
		[ "$status" -eq 0 ]
		damage m.$format
		try apr-unpack m.$format
		if [ $format = apr2 ]; then
			said 4 '(E004)'
		else
			quiet
			try apr-verify -q "$shared/key.pub" m.$format
			said 1 '(E006)'
		fi
	done
	apr-header --json m.apr2 | grep -q '"checksum":"0x'
	apr-header --json m.gguf | grep -q '"checksum":false'
	apr-header --json m.safetensors | grep -q '"checksum":false'
}

@test "limits of names and dimensions" {
	local long
	long=$(printf 'n%.0s' {1..64})
	printf 'tensor %s F32 4 ramp\n' "$long" | mkmodel | apr-unpack >long.aprs
	apr-get --npy -o /dev/null "$long" long.aprs
	for format in apr2 safetensors; do
		apr-pack -t $format -o long.$format long.aprs
		[ "$(places long.$format | cut -d' ' -f1)" = "$long" ]
	done
	try apr-pack -t gguf -o made long.aprs
	said 5 'GGUF has at most 63'
	# The maximum is eight dimensions.
	mkplan "" '["t","F32",[1,1,1,1,1]]' >five.aprs
	try apr-pack -t gguf -o made <five.aprs
	said 5 'GGUF has at most 4'
	mkplan "" '["t","F32",[1,1,1,1,1,1,1,1]]' >eight.aprs
	long=$(printf 'n%.0s' {1..65535})
	mkplan "" "[\"$long\",\"F32\",[1]]" >longest.aprs
	for format in apr2 safetensors; do
		# The plan is taken, and only the data that mkplan leaves out is missed.
		for name in eight longest; do
			try apr-pack -t $format -o made <$name.aprs
			said 4 'announces 1 TENS frames, 0 came (E002)'
		done
	done
	mkplan "" "[\"n$long\",\"F32\",[1]]" >longer.aprs
	try apr-pack -o made <longer.aprs
	said 4 'a tensor name of 65536 bytes'
	mkplan "" '["t","F32",[1,1,1,1,1,1,1,1,1]]' >nine.aprs
	try apr-pack -o made <nine.aprs
	said 4 dimensions
}

@test "files of other formats are refused by name" {
	local magic name
	while IFS='|' read -r magic name; do
		{ printf "$magic"; head -c 64 /dev/zero; } >other
		try apr-unpack other
		said 4 "$name, which is not read here (E001)"
	done <<-'END'
		APR1\1\0|a model of whisper.apr (magic APR1)
		APR1{}|an APR1 file of an unknown layout
		APBUNDLE|an APBUNDLE archive of models
		ggml|a big-endian GGML file from before GGUF
		FUGG|a big-endian GGUF file
		\x28\xb5\x2f\xfd|compressed by zstd
		\x1f\x8b|compressed by gzip
		age-encryption.org/v1|encrypted by age
		ftrt|a TensorRT engine
		\x12\1\0\0\0\0\0\0|a parameter file of MXNet
		\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\x08|a parameter file of PaddlePaddle
		CBM1|a model of CatBoost
		binf|a model of XGBoost
		ccopy_reg\n_reconstructor\n|a pickled object of Python
		\x78\x9c|compressed by zlib, as joblib does
		ZF0x|a compressed file of joblib
		\0\0\0\x3f\x21\0\0\0\6\0\0\0|a model of XGBoost (old binary form)
		\x0a\x90\3\x08\0\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1|a program of PaddlePaddle (.pdmodel)
	END
	# Models of trees, which are damaged.
	while IFS='|' read -r magic name; do
		printf "$magic" >other.json
		try apr-unpack other.json
		said 4 "$name"
		try apr-unpack - <other.json
		said 4 "$name"
	done <<-'END'
		{"learner":{},"version":[1,7,6]}|the objective  is not known here
		{ "name": "tree", "version": "v3", "tree_info": [] }|is not a classical model
		{"model_info":{},"oblivious_trees":[]}|the model has no trees
		tree\nversion=v3\n|the number of features is missing or wrong
	END
	printf '\x08\x07\x12\x07pytorch\x1a\x05' >m.onnx
	try apr-unpack m.onnx
	said 4 'is not a model file of a known format'
}

@test "--from reads a file as the format that the user names" {
	cp "$model" m
	pipe 'apr-unpack --from gguf m | cmp - <(apr-unpack m)'
	try apr-unpack --from safetensors m
	said 4
	try apr-header --from gguf m
	[ "$status" -eq 0 ]
	try apr-header --from apr1 m
	said 4
	for tool in apr-unpack apr-header; do
		try $tool --from pdf m
		said 2 "--from: pdf is not a format that is read here"
		grep -q '^hint: formats: gguf, .*pytorch' "$err"
	done
}
