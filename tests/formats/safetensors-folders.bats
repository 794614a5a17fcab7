# safetensors in several files: folders, indexes, shards
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "every fault is named and leaves no output (CHECK-090)" {
	local name code says n=0
	vectors safetensors_folders folders
	cd folders
	limit_memory 65536
	set +T
	while IFS=$'\t' read -r name code says; do
		n=$((n + 1))
		try apr-unpack -o made "$name"
		said "$code" "$says" || fail "$name"
		[ ! -e made ]
		try apr-header "$name"
		said "$code" "$says" || fail "apr-header $name"
		try apr-pack -t safetensors -o made/ "$name"
		said "$code" "$says" || fail "apr-pack $name"
		[ ! -e made ]
	done <MANIFEST
	[ $n -ge 40 ]
	[ -z "$(find . -name '.made*')" ]
}

@test "every folder comes back as it was, through apr2 and as a stream (CHECK-086)" {
	local name back n=0
	vectors safetensors_folders folders
	cd folders
	while IFS=$'\t' read -r name back; do
		n=$((n + 1))
		try_pipe "apr-unpack '$name' | apr-pack -t safetensors -o made/"
		quiet
		diff -r "$back" made
		rm -r made
		apr-pack -f -o made.apr "$name"
		apr-pack -t safetensors -o made/ made.apr
		diff -r "$back" made
		rm -r made
	done <SOUND
	[ $n -ge 9 ]
}

@test "through GGUF and back the model is the same, in one file" {
	vectors safetensors_folders folders
	apr-pack -t gguf -o made.gguf folders/folder_shards
	apr-pack -t safetensors -o made/ made.gguf
	[ "$(ls made)" = "config.json"$'\n'"model.safetensors" ]
	cmp made/config.json folders/folder_shards/config.json
	apr-sum folders/folder_shards >want
	apr-sum -c want made
	apr-unpack made | apr-pack -t gguf | cmp - made.gguf
}

@test "an index is its shards, without what lies beside them" {
	vectors safetensors_folders folders
	try apr-header --json folders/folder_shards/model.safetensors.index.json
	quiet
	grep -q '"tensors":3,.*"files":\[\]' "$out"
	try_pipe "apr-unpack folders/folder_shards/model.safetensors.index.json |
		apr-pack -t safetensors -o made/"
	quiet
	[ ! -e made/config.json ]
	rm folders/folder_shards/config.json
	diff -r made folders/folder_shards
	cp -r made plain && cd plain
	try apr-header model.safetensors.index.json
	quiet
}

@test "a total_size that is wrong is told; --strict refuses it" {
	vectors safetensors_folders folders
	try apr-unpack folders/index_total_size
	[ "$status" -eq 0 ]
	grep -qF 'its total_size is not the 16 bytes' "$err"
	try apr-unpack --strict folders/index_total_size
	said 4 'its total_size is not the 16 bytes that the tensors have (E002)'
	# The written value is correct, and an integer.
	apr-pack -t safetensors -o made/ folders/index_total_size
	grep -qx '    "total_size": 16' made/model.safetensors.index.json
	rm -r made
	sed -i 's/17/16.0/' folders/index_total_size/model.safetensors.index.json
	grep -q '16\.0$' folders/index_total_size/model.safetensors.index.json
	try apr-pack -t safetensors -o made/ folders/index_total_size
	quiet
	grep -qx '    "total_size": 16' made/model.safetensors.index.json
}

@test "one file comes before an index, and its style is not the index" {
	vectors safetensors_folders folders
	cp -r folders/folder_shards both
	apr-pack -t safetensors -o both/model.safetensors "$model"
	cmp <(apr-unpack both | digests) <(apr-unpack "$model" | digests)
	# The index is written as Python's json does, however it was.
	cp -r folders/folder_shards dense
	tr -d ' \n' <folders/folder_shards/model.safetensors.index.json \
		>dense/model.safetensors.index.json
	apr-pack -t safetensors -o made/ dense
	diff -r made folders/folder_shards
}

@test "what is left behind is listed" {
	vectors safetensors_folders folders
	cp -r folders/folder_shards m
	mkdir m/onnx m/.git
	touch m/.gitattributes m/pytorch_model.bin m/fine.txt
	printf 'GGUF\3\0\0\0................................' >m/model.dat
	truncate -s 67108864 m/just.txt
	truncate -s 67108865 m/more.txt
	ln -s /etc/passwd m/passwd.txt
	ln -s config.json m/alias.json
	mkfifo m/pipe.txt
	touch "m/$(printf 'esc\033[2J')"
	cp m/model-00001-of-00002.safetensors m/adapter.safetensors
	try apr-pack -o made.apr m
	[ "$status" -eq 0 ]
	cat >want <<-'END'
		apr-unpack: left behind: .git, which is a folder
		apr-unpack: left behind: .gitattributes, which begins with a dot
		apr-unpack: left behind: adapter.safetensors, which holds weights
		apr-unpack: left behind: alias.json, which is a link
		apr-unpack: left behind: esc\x1b[2J, which has a name that cannot travel
		apr-unpack: left behind: model.dat, which holds weights
		apr-unpack: left behind: more.txt, which is larger than 64 MiB
		apr-unpack: left behind: onnx, which is a folder
		apr-unpack: left behind: passwd.txt, which is a link
		apr-unpack: left behind: pipe.txt, which is not a regular file
		apr-unpack: left behind: pytorch_model.bin, which holds weights
	END
	diff want "$err"
	try apr-header --json made.apr
	grep -qF '"files":[["config.json","file",24],["fine.txt","file",0],["just.txt","file",67108864]]' "$out"
}

@test "the file of a pooling module is the only side file in a folder below" {
	vectors safetensors_folders folders
	cp -r folders/folder_shards m
	mkdir m/1_Pooling m/2_Dense
	echo '{"pooling_mode_mean_tokens":true}' >m/1_Pooling/config.json
	echo '{}' >m/2_Dense/config.json
	try apr-pack -t safetensors -o made/ m
	said 0 'left behind: 2_Dense, which is a folder'
	rm -r m/2_Dense
	diff -r m made
	try_pipe "apr-unpack m | apr-pack -o m.apr"
	quiet
	apr-pack -t safetensors -o again/ m.apr
	diff -r m again
	# Neither a link in place of the folder nor one in place of the file.
	mkdir elsewhere
	mv m/1_Pooling/config.json elsewhere
	ln -s ../../elsewhere/config.json m/1_Pooling/config.json
	try apr-pack -o linked.apr m
	said 0 'left behind: 1_Pooling, which is a folder'
	rm -r m/1_Pooling
	ln -s ../elsewhere m/1_Pooling
	try apr-pack -f -o linked.apr m
	said 0 'left behind: 1_Pooling, which is a link'
	[ -z "$(find . -name '.*.tmp')" ]
}

# A model whose side file has that name, in JSON.
with_file() {
	local header
	header='{"__metadata__":{"apr.blobs":"[[\"'$1'\",\"file\"]]","apr.blob.'$1'":"eA=="}}'
	printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
}

@test "only plain names become files" {
	local name
	with_file 'a b.json' >good
	apr-pack -t safetensors -o made/ good
	[ "$(cat 'made/a b.json')" = x ]
	rm -r made
	for name in ../evil .. . .hidden /tmp/evil a/b a/ x_Pooling/y a/x_Pooling/config.json \
		../x_Pooling/config.json made/../../evil; do
		with_file "$name" >bad
		try apr-pack -t safetensors -o made/ bad
		said 5 "is not the name of a file that a folder may get"
		[ ! -e made ]
	done
	with_file model.safetensors >bad
	try apr-pack -t safetensors -o made/ bad
	said 5 'is the name of a side file and of a file with tensors'
	[ "$(find .. -name evil)" = "" ]
	# In one file they are only names.
	with_file ../evil >bad
	apr-unpack bad | apr-pack -t safetensors -o same
	apr-sum bad >want
	apr-sum -c want same
}

@test "a folder is made whole, or not at all, and replaces nothing" {
	apr-unpack "$model" >in
	mkdir full empty
	touch full/mine file
	try apr-pack -t safetensors -o full/ in
	said 2 'full: exists already'
	try apr-pack -t safetensors -f -o full/ in
	said 2 'full: exists already'
	[ "$(ls full)" = mine ]
	try apr-pack -t safetensors -o file/ in
	said 2 'file: exists already'
	try apr-pack -t safetensors -o nowhere/made/ in
	said 3 'cannot be created'
	try apr-pack -t gguf -o made/ in
	said 2 'a model in GGUF is one file, not a folder'
	try apr-pack -t safetensors -o empty/ in
	quiet
	[ "$(ls empty)" = model.safetensors ]
	[ "$(stat -c %a empty)" = "$(printf %o $((0777 & ~$(umask))))" ]
	head -c 1000000 in >cut
	try_pipe "head -c 1000000 in | apr-pack -t safetensors -o made/"
	said 4 '(E002)'
	[ ! -e made ]
	[ "$(ls -A)" = "$(printf '%s\n' cut empty file full in try.err try.out)" ] || fail "$(ls -A)"
}

@test "a process that is killed leaves no folder" {
	local signal pid got
	apr-unpack "$model" >in
	mkdir room
	mkfifo fifo
	for signal in TERM INT HUP KILL; do
		env --default-signal=INT apr-pack -t safetensors -o room/made/ <fifo 2>/dev/null 3>&- &
		pid=$!
		exec 9>fifo
		head -c 3000000 in >&9
		while [ -z "$(find "/proc/$pid/fd" -lname "*/room/*" 2>/dev/null)" ]; do
			sleep 0.02
		done
		kill -$signal $pid
		got=0
		wait $pid || got=$?
		exec 9>&-
		[ $got -gt 128 ]
		[ -z "$(ls -A room)" ] || fail "$signal: $(ls -A room)"
	done
}

@test "no file of the input folder is replaced" {
	vectors safetensors_folders folders
	cp -r folders/folder_shards m
	for from in m m/ m/model.safetensors.index.json; do
		for tool in apr-unpack 'apr-pack -t safetensors' apr-pack; do
			try $tool -f -o m/config.json "$from"
			said 2 'lies in the input folder already'
			try $tool -o m/new "$from"
			quiet
			rm m/new
		done
	done
	diff -r m folders/folder_shards
}

@test "a signature holds for the folder, side files and all" {
	vectors safetensors_folders folders
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack folders/folder_shards | apr-sign key 2>/dev/null |
		apr-pack -t safetensors -o made/"
	try apr-verify -q key.pub made
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	pipe "apr-unpack made | apr-pack -o made.apr"
	try apr-verify -q key.pub made.apr
	[ "$status" -eq 0 ]
	apr-pack -t safetensors -o again/ made.apr
	diff -r made again
	sed -i s/llama/lamas/ made/config.json
	try apr-verify -q key.pub made
	said 1 'config.json: its bytes differ from what was signed'
	cp again/config.json made/
	sed -i 's/"dtype":"F16"/"dtype":"I16"/' made/model-00002-of-00002.safetensors
	try apr-verify -q key.pub made
	said 1 'tensors: a name, type or shape differs from what was signed'
}

@test "what changes the tensors keeps the shards" {
	vectors safetensors_folders folders
	pipe "apr-unpack folders/folder_weights | apr-quant --pure bf16 2>/dev/null |
		apr-pack -t safetensors -o made/"
	[ "$(ls made)" = "$(ls folders/folder_weights)" ]
	grep -q '"total_size": 16$' made/model.safetensors.index.json
	apr-header made | grep -q 'BF16 2'
	# Where they are not the same tensors, there is one file.
	pipe "apr-unpack --only a folders/folder_shards | apr-pack -t safetensors -o one/"
	[ "$(ls one)" = "config.json"$'\n'"model.safetensors" ]
}

@test "every model folder of the reference data comes back" {
	local f n=0 file
	need_data
	export APR_LOG_LEVEL=error
	while IFS= read -r -d '' f; do
		n=$((n + 1))
		apr-pack -f -o made.apr "$(dirname "$f")"
		apr-pack -t safetensors -o made/ made.apr
		for file in made/*; do
			cmp "$file" "$(dirname "$f")/${file#made/}"
		done
		[ -e made/config.json ] && [ -e made/model.safetensors ]
		rm -r made
	done < <(find "$APR_TEST_DATA/models" -name model.safetensors -print0)
	[ $n -ge 3 ]
}

# with_config TEXT: a folder with one tensor and that config.json
with_config() {
	rm -rf hf
	mkdir hf
	printf '\x48\0\0\0\0\0\0\0%s\0\0\0\0\0\0\0\0' \
		'{"model.norm.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  ' >hf/model.safetensors
	printf '%s' "$1" >hf/config.json
}

@test "what config.json says the model is goes into a header, a stream and APR2" {
	local bad
	with_config '{"architectures":["X"],"hidden_size":256,"name":"n","eps":1e-5,"tied":false,"nothing":null,"inner":{"model_type":"y"},"model_type":"llama","act":"si\"lu"}'
	apr-header hf | grep -Eqx 'architecture +llama'
	apr-pack -o made.apr hf
	grep -aqF '"model_type":"llama","architecture":{"name":"llama","hidden_size":256,"eps":1.0000000000000001e-5,"tied":false,"act":"si\"lu"},"source_format":"safetensors"' made.apr
	apr-unpack hf | "$APR_GEN/frames" | sed 's/,"folder":"hf"//' |
		cmp - <(apr-unpack made.apr | "$APR_GEN/frames")
	apr-pack -t apr2-64 hf 2>/dev/null | grep -aqF '"model_type":"llama"'
	# It is not content.
	apr-sum hf >want
	apr-sum -c want made.apr
	# And follows from the plan.
	sed 's/"model_type":"llama","arch/"model_type":"qwen2","arch/' made.apr >other.apr
	try apr-unpack other.apr
	[ "$status" -eq 4 ]
	# No signature covers source.
	apr-keygen -W -o key 2>/dev/null
	apr-sign key hf 2>/dev/null | apr-pack -o signed.apr
	grep -aqF '"model_type":"unknown","architecture":{"name":"unknown"}' signed.apr
	# A config.json that does not state the architecture is not an error.
	for bad in '{' '[]' '{"model_type":5}' '{"model_type":""}' '{"a":1}' '{"model_type":null}' \
		"{\"model_type\":\"$(printf 'x%.0s' {1..200})\"}"; do
		with_config "$bad"
		try apr-pack -f -o made.apr hf
		quiet
		grep -aqF '"model_type":"unknown","architecture":{"name":"unknown"}' made.apr || fail "$bad"
	done
}
