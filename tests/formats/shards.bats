# Models in several files: GGUF shards, APR2 manifests, safetensors indexes
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# ---- reading ----

faults() {
	local name code says n=0
	vectors "$1" shards
	cd shards
	limit_memory 65536
	set +T
	while IFS=$'\t' read -r name code says; do
		n=$((n + 1))
		try apr-unpack -o made "$name"
		said "$code" "$says" || fail "$name"
		[ ! -e made ]
		try apr-header "$name"
		said "$code" "$says" || fail "apr-header $name"
	done <MANIFEST
	[ $n -ge "$2" ]
}

@test "GGUF: every fault is named and leaves no output" {
	faults gguf_shards 32
}

@test "GGUF: shards are one model, whichever is named, and make one file" {
	local name whole n=0
	vectors gguf_shards shards
	cd shards
	while IFS=$'\t' read -r name whole; do
		n=$((n + 1))
		try apr-pack -t gguf -o made "$name"
		quiet || fail "$name"
		cmp made "$whole" || fail "$name"
		apr-pack -f -o made.apr "$name"
		apr-unpack made.apr | apr-pack -t gguf | cmp - "$whole" || fail "$name"
		rm made
	done <SOUND
	[ $n -ge 10 ]
}

@test "GGUF: a shard alone, in a pipe, is no model" {
	vectors gguf_shards shards
	try bash -c 'apr-unpack <shards/gguf_shards_folder/m-00002-of-00003.gguf'
	said 4 'is shard 2 of 3, and the others cannot be found (E001)'
	# Another file may have the name of a shard, and a merged file may have been one.
	cp shards/whole.gguf m-00002-of-00003.gguf
	try apr-header m-00002-of-00003.gguf
	quiet
}

@test "GGUF: the header lists the shards, and where each tensor lies" {
	vectors gguf_shards shards
	try apr-header --json shards/gguf_shards_folder/m-00002-of-00003.gguf
	quiet
	grep -qF '"shards":[["m-00001-of-00003.gguf",1],["m-00002-of-00003.gguf",1],["m-00003-of-00003.gguf",1]]' "$out"
	try apr-header --json -l shards/gguf_shards_folder
	quiet
	[ "$(sed -n 's/.*"name":"\(.*\)","dtype".*"file":"\(.*\)".*/\1 \2/p' "$out")" = "$(
		printf '%s\n' 'a m-00001-of-00003.gguf' 'b m-00002-of-00003.gguf' 'c m-00003-of-00003.gguf')" ]
	apr-header -l shards/gguf_shards_folder | grep -q '^b .* m-00002-of-00003.gguf$'
}

@test "GGUF: no file of the input folder is replaced" {
	vectors gguf_shards shards
	cp -r shards/gguf_shards_folder m
	try apr-pack -f -o m/m-00003-of-00003.gguf m/m-00001-of-00003.gguf
	said 2 'lies in the input folder already'
	for tool in apr-unpack apr-pack; do
		try $tool -o m/new m/m-00001-of-00003.gguf
		quiet
		rm m/new
	done
	diff -r m shards/gguf_shards_folder
}

@test "a file beside the shards that is not one of the model is replaced" {
	vectors gguf_shards shards
	cp -r shards/gguf_shards_folder m
	for tool in apr-unpack 'apr-pack -t gguf'; do
		for name in x x.gguf n-00001-of-00003.gguf; do
			# Only apr-pack writes files of that name.
			[[ $tool$name != apr-unpack*.gguf ]] || continue
			printf old >m/$name
			try $tool -f -o m/$name m/m-00001-of-00003.gguf
			quiet || fail "$tool $name" || return
			$tool m/m-00001-of-00003.gguf | cmp - m/$name
			rm m/$name
			# A folder may hold it all as one model.
			printf old >m/$name
			try $tool -f -o m/$name m
			[ "$status" -ne 0 ]
			[ "$(cat m/$name)" = old ]
			rm m/$name
		done
	done
	diff -r m shards/gguf_shards_folder
}

@test "APR2: every fault is named and leaves no output" {
	faults apr2_shards 40
}

@test "APR2: manifest, shard or folder are one model, also as existing software writes them" {
	local name n=0
	vectors apr2_shards shards
	cd shards
	apr-sum whole.apr >want
	while IFS= read -r name; do
		n=$((n + 1))
		try apr-pack -o made "$name"
		quiet || fail "$name"
		apr-sum -c want made
		# Members of the draft are written as in the draft.
		cmp made <(apr-unpack whole.apr | apr-pack) || fail "$name"
		rm made
	done <SOUND
	[ $n -ge 9 ]
}

@test "a folder with models of two formats is not guessed at" {
	apr-pack --shard-size 2M -o m.apr "$model"
	cp "$model" m.gguf
	try apr-header .
	said 4 'holds 1 manifest of APR2 files, and GGUF files (E001)'
	rm m.gguf
	try apr-header .
	quiet
	apr-pack -t gguf --shard-size 2M -o n.gguf "$model"
	try apr-header .
	said 4 'holds 1 manifest of APR2 files, and GGUF files (E001)'
	rm m*
	try apr-header .
	quiet
	# A model folder with other weights beside it: these are left behind.
	apr-pack -t safetensors -o model.safetensors "$model"
	try apr-header .
	[ "$status" -eq 0 ]
	grep -q '^format  *safetensors$' "$out"
}

@test "APR2: a shard alone, in a pipe, is no model" {
	vectors apr2_shards shards
	try bash -c 'apr-unpack <shards/apr2_shards_folder/m-00002-of-00002.apr'
	said 4 'is one of several files, and the others cannot be found (E001)'
}

@test "APR2: a byte that is changed is found, where the manifest, the file or a tensor says so" {
	local at
	apr-pack --shard-size 1M -o m.apr "$model"
	for at in 20 200 400000 919600 919630; do
		mkdir d
		cp m* d
		printf 'x' | dd of=d/m-00004-of-00005.apr bs=1 seek=$at conv=notrunc 2>/dev/null
		try apr-unpack -o made d
		said 4 || fail "$at"
		[ ! -e made ]
		rm -r d
	done
	# Another file of that name, sound by itself.
	apr-unpack "$model" | apr-quant --pure f16 2>/dev/null | apr-pack --shard-size 1M -o n.apr
	cp n-00004-of-00005.apr m-00004-of-00005.apr
	try apr-header m.apr.json
	said 4 'm-00004-of-00005.apr: is not the file that the manifest names'
	printf x >>m-00003-of-00005.apr
	try apr-header m.apr.json
	said 4 'm-00003-of-00005.apr: has 986201 bytes, but by the manifest it has 986200'
}

# ---- writing ----

@test "GGUF: what was cut is one file again, byte for byte" {
	local f name first n=0
	vectors gguf_good good
	export APR_LOG_LEVEL=error
	for f in good/gguf_*; do
		name=${f##*/}
		n=$((n + 1))
		apr-pack -t gguf -o one.gguf "$f"
		apr-pack -t gguf --shard-size 1 -o cut.gguf "$f"
		first=$(find . -maxdepth 1 -name 'cut-00001-of-*.gguf')
		apr-pack -t gguf -o back.gguf "${first:-cut.gguf}"
		cmp back.gguf one.gguf || fail "$name"
		rm -f cut*.gguf back.gguf one.gguf
	done
	[ $n -ge 20 ]
}

@test "GGUF: files are as large as they may be, and one tensor at least" {
	local size files
	for size in 1:30 262145:18 1M:5 2097152:3 4594688:1 1G:1; do
		files=${size#*:} size=${size%:*}
		mkdir d
		try apr-pack -t gguf --shard-size "$size" -o d/m.gguf "$model"
		quiet
		[ "$(find d -type f | wc -l)" -eq "$files" ] || fail "$size: $(ls d)"
		if [ "$files" -eq 1 ]; then
			cmp d/m.gguf "$model"
		else
			[ -e "d/m-00001-of-$(printf %05d "$files").gguf" ]
			apr-unpack d | apr-pack -t gguf | cmp - "$model"
		fi
		rm -r d
	done
}

@test "GGUF: a shard says where it belongs, in the types of llama-gguf-split" {
	apr-pack -t gguf --shard-size 2M -o m.gguf "$model"
	tail -c +25 m-00002-of-00003.gguf | head -c 107 | od -An -v -tx1 | tr -d ' \n' >got
	{
		printf '0800000000000000%s02000000' "$(printf split.no | od -An -tx1 | tr -d ' \n')"
		printf '0100'
		printf '0b00000000000000%s02000000' "$(printf split.count | od -An -tx1 | tr -d ' \n')"
		printf '0300'
		printf '1300000000000000%s05000000' "$(printf split.tensors.count | od -An -v -tx1 | tr -d ' \n')"
		printf '1e000000'
	} >want
	[ "$(head -c "$(wc -c <want)" got)" = "$(cat want)" ] || fail "$(cat got)" "$(cat want)"
}

@test "GGUF: a merged file of llama-gguf-split can be cut again" {
	# Its keys split.* stay, with a count of 0.
	vectors gguf_shards shards
	apr-pack -t gguf -o made.gguf shards/merged.gguf
	cmp made.gguf shards/merged.gguf
	apr-sum made.gguf >want
	apr-pack -t gguf --shard-size 1 -o cut.gguf made.gguf
	[ -e cut-00003-of-00003.gguf ]
	apr-sum -c want cut-00001-of-00003.gguf
	apr-pack -t gguf -o back.gguf cut-00001-of-00003.gguf
	cmp back.gguf made.gguf
}

@test "a signature holds in shards of any format, and back" {
	apr-keygen -W -o key >/dev/null
	pipe "apr-unpack '$model' | apr-sign key 2>/dev/null | apr-pack -o one.apr"
	apr-pack -t gguf -o one.gguf one.apr
	apr-pack -t gguf --shard-size 1M -o g.gguf one.apr
	apr-pack -t safetensors --shard-size 1M -o s.safetensors g-00003-of-00005.gguf
	apr-pack -t safetensors --shard-size 1M -o f/ s.safetensors.index.json
	apr-pack --shard-size 1M -o a.apr f
	apr-pack -z zstd --shard-size 512K -o z.apr a.apr.json
	for made in a.apr.json a-00003-of-00005.apr z.apr.json g-00002-of-00005.gguf s.safetensors.index.json s-00004-of-00005.safetensors f; do
		try apr-verify -q key.pub $made
		[ "$status" -eq 0 ] || fail "$made: $(cat "$err")"
	done
	apr-unpack f | apr-pack -t gguf -o back.gguf
	cmp back.gguf one.gguf
	apr-unpack z.apr.json | apr-pack -o back.apr
	cmp back.apr <(apr-unpack f | apr-pack)
	try apr-verify -q key.pub back.apr
	[ "$status" -eq 0 ]
	# One byte of the last shard.
	printf x | dd of=g-00005-of-00005.gguf bs=1 seek=700000 conv=notrunc 2>/dev/null
	try apr-verify -q key.pub g-00001-of-00005.gguf
	said 1 'differ'
}

# What is written by TO to OUT.
all_or_none() {
	local to=$1 out=$2 first=$3 before
	mkdir room
	# No file, if the stream is cut.
	try bash -c "apr-unpack '$model' | head -c 3000000 | apr-pack -t $to --shard-size 1M -o room/$out"
	said 4 '(E002)'
	[ -z "$(ls -A room)" ] || fail "$(ls -A room)"
	# No file, if one name exists.
	echo mine >"room/$first"
	try apr-pack -t "$to" --shard-size 1M -o room/$out "$model"
	said 2 "$first: exists already"
	[ "$(ls -A room)" = "$first" ]
	# No file, if one name appears meanwhile.
	rm "room/$first"
	mkfifo fifo
	apr-pack -t "$to" --shard-size 1M -o room/$out <fifo 2>"$err" 3>&- &
	exec 9>fifo
	apr-unpack "$model" >in
	head -c 3000000 in >&9
	while [ -z "$(find "/proc/$!/fd" -lname "*/room/*" 2>/dev/null)" ]; do
		sleep 0.02
	done
	echo mine >"room/$first"
	tail -c +3000001 in >&9
	exec 9>&-
	status=0
	wait $! || status=$?
	said 1 "$first: cannot be given its name: File exists"
	[ "$(ls -A room)" = "$first" ] || fail "$(ls -A room)"
	# All, with -f.
	try apr-pack -f -t "$to" --shard-size 1M -o room/$out "$model"
	quiet
	before=$(ls -A room)
	apr-unpack "room/$first" | apr-pack -t gguf | cmp - "$model"
	try apr-pack -f -t "$to" --shard-size 1M -o room/$out "$model"
	quiet
	[ "$(ls -A room)" = "$before" ]
	# A folder cannot be replaced.
	rm "room/$first"
	mkdir "room/$first"
	try apr-pack -f -t "$to" --shard-size 1M -o room/$out "$model"
	said 2 "$first: is a directory"
	rm -r room fifo in
}

@test "GGUF: all files get their names, or none" {
	all_or_none gguf m.gguf m-00003-of-00005.gguf
}

@test "safetensors: all files get their names, or none" {
	all_or_none safetensors m.safetensors m-00003-of-00005.safetensors
}

@test "APR2: all files get their names, or none" {
	all_or_none apr2 m.apr m-00003-of-00005.apr
}

@test "APR2: the manifest is what the draft says" {
	local file size crc
	apr-pack --shard-size 2M -o m.apr "$model"
	jq -e '.apr_version == "2.0.0" and .sharded == true and .shard_count == 3 and
		(.shards | length) == 3 and (.tensor_shard_map | length) == 30 and
		.tensor_shard_map["token_embd.weight"] == 0 and
		.tensor_shard_map["output.weight"] == 2' m.apr.json >"$out" || fail "$(cat m.apr.json)"
	while read -r file size crc; do
		[ "$(wc -c <"$file")" -eq "$size" ]
		[ "$(tail -c 16 "$file" | head -c 4 | od -An -tx4 | tr -d ' ')" = "$crc" ]
		[ "$(head -c -16 "$file" | gzip | tail -c 8 | head -c 4 | od -An -tx4 | tr -d ' ')" = "$crc" ]
	done < <(jq -r '.shards[] | .file + " " + (.size | tostring) + " " + .crc32' m.apr.json)
	# The same model, the same bytes.
	mkdir again
	apr-unpack m.apr.json | apr-pack --shard-size 2M -o again/m.apr
	for file in m*; do
		cmp "$file" "again/$file"
	done
}

@test "APR2: what is cut and read again is what it was, side files and all" {
	local f name n=0
	vectors stream_good good
	export APR_LOG_LEVEL=error
	for f in good/*; do
		name=${f##*/}
		# Unknown frames between tensors: shards have more places for them.
		case $name in MANIFEST* | stream_unknown_frames) continue ;; esac
		apr-unpack "$f" 2>/dev/null | apr-pack -o one.apr 2>/dev/null || continue
		n=$((n + 1))
		try apr-pack --shard-size 1 -o cut.apr "$f"
		[ "$status" -eq 0 ] || fail "$name: $(cat "$err")"
		if [ -e cut.apr.json ]; then
			try apr-pack -o back.apr cut.apr.json
			[ "$status" -eq 0 ] || fail "$name: $(cat "$err")"
			cmp back.apr one.apr || fail "$name"
		else
			cmp cut.apr one.apr || fail "$name"
		fi
		rm -f cut* back.apr one.apr
	done
	[ $n -ge 7 ]
}

# bats test_tags=repeats
@test "a process that is killed leaves no shard" {
	local signal pid got
	apr-unpack "$model" >in
	mkdir room
	mkfifo fifo
	for signal in TERM INT KILL; do
		env --default-signal=INT apr-pack -t gguf --shard-size 1M -o room/m.gguf <fifo 2>/dev/null 3>&- &
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

@test "safetensors: shards and index, as the field's tools name them" {
	vectors safetensors_folders folders
	apr-pack -t safetensors --shard-size 1 -o m.safetensors folders/folder_shards
	[ "$(ls m*)" = "$(printf '%s\n' m-0000{1,2,3}-of-00003.safetensors m.safetensors.index.json)" ]
	grep -qF '"b": "m-00002-of-00003.safetensors"' m.safetensors.index.json
	grep -qF '"total_size": 16' m.safetensors.index.json
	apr-sum folders/folder_shards >want
	apr-sum -c want m.safetensors.index.json
	# Any shard names the whole model; in a folder, side files are files again.
	apr-pack -t safetensors --shard-size 12 -o made/ m-00002-of-00003.safetensors
	diff -r made folders/folder_shards
	# An index that does not name it, and none at all.
	cp m-00002-of-00003.safetensors m-00002-of-00004.safetensors
	try apr-unpack m-00002-of-00004.safetensors
	said 4 'is not named by the index m.safetensors.index.json beside it (E002)'
	rm m.safetensors.index.json
	try apr-unpack -o one m-00002-of-00003.safetensors
	[ "$status" -eq 0 ]
	grep -qF 'is read alone: there is no m.safetensors.index.json beside it' "$err"
}

@test "--shard-size: what is refused" {
	try apr-pack --shard-size 1M -t gguf "$model"
	said 2 '--shard-size needs -o'
	try apr-pack --shard-size 1M -t gguf -o - "$model"
	said 2 '--shard-size needs -o'
	for size in 0 -1 1X x ''; do
		try apr-pack --shard-size "$size" -t gguf -o m.gguf "$model"
		said 2
	done
	try apr-pack --shard-size 1M -t gguf -o m/ "$model"
	said 2 'is one file, not a folder'
	try bash -c "ulimit -n 80; apr-pack -t gguf --shard-size 1 -o m.gguf '$model'"
	said 2 'would have 30 shards, more files than may be open at once'
	try bash -c "ulimit -S -n 80; apr-pack -t gguf --shard-size 1 -o m.gguf '$model'"
	quiet
}

@test "--only reads the data of those shards alone that it needs" {
	apr-pack --shard-size 1M -o m.apr "$model"
	printf x | dd of=m-00005-of-00005.apr bs=1 seek=400000 conv=notrunc 2>/dev/null
	try apr-unpack -o made m.apr.json
	said 4 '(E004)'
	try apr-unpack --only '^output.weight' -o made m.apr.json
	said 4 '(E004)'
	try apr-unpack --only '^blk.0.ffn|^blk.2.attn_q' -o made m.apr.json
	quiet
	apr-unpack --only '^blk.0.ffn|^blk.2.attn_q' "$model" | apr-pack -t gguf >want
	apr-pack -t gguf made | cmp - want
	try apr-unpack --only '^token_embd' --except . -o none m.apr.json
	quiet
}

@test "memory does not grow with the number of shards" {
	! grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-pack" ||
		skip 'a sanitizer has memory of its own'
	"$APR_GEN/llama" 24 64 128 500 >m.gguf
	apr-unpack m.gguf >in
	for to in 'apr2 -z zstd' gguf safetensors; do
		mkdir d
		"$APR_GEN/peak" kib apr-pack -t $to --shard-size 1 -o d/m in
		[ "$(find d -type f | wc -l)" -ge 219 ] || fail "$(find d -type f | wc -l)"
		[ "$(cat kib)" -le 32768 ] || fail "$to: $(cat kib) KiB"
		rm -r d
	done
}

# bats test_tags=repeats
@test "models of the reference data are what they were, cut and read again" {
	local f n=0
	need_data
	export APR_LOG_LEVEL=error
	for f in "$APR_TEST_DATA"/models/arch/*.gguf "$APR_TEST_DATA"/models/stories260K/*f32.gguf; do
		n=$((n + 1))
		apr-pack -t gguf --shard-size 256K -o cut.gguf "$f"
		apr-unpack cut-00002-of-*.gguf | apr-pack -t gguf | cmp - "$f"
		apr-pack --shard-size 300K -o cut.apr "$f"
		apr-unpack cut.apr.json | apr-pack -t gguf | cmp - "$f"
		rm cut*
	done
	[ $n -ge 5 ]
}
