# Models in several files: GGUF shards, APR2 manifests, safetensors indexes
load helper

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
	try bash -c 'apr-unpack <shards/folder/m-00002-of-00003.gguf'
	said 4 'is shard 2 of 3, and the others cannot be found (E001)'
	# What is no shard may be called like one, and a merged file say that it was one.
	cp shards/whole.gguf m-00002-of-00003.gguf
	try apr-header m-00002-of-00003.gguf
	quiet
}

@test "GGUF: the header lists the shards, and where each tensor lies" {
	vectors gguf_shards shards
	try apr-header --json shards/folder/m-00002-of-00003.gguf
	quiet
	grep -qF '"shards":[["m-00001-of-00003.gguf",1],["m-00002-of-00003.gguf",1],["m-00003-of-00003.gguf",1]]' "$out"
	try apr-header --json -t shards/folder
	quiet
	[ "$(sed -n 's/.*"name":"\(.*\)","dtype".*"file":"\(.*\)".*/\1 \2/p' "$out")" = "$(
		printf '%s\n' 'a m-00001-of-00003.gguf' 'b m-00002-of-00003.gguf' 'c m-00003-of-00003.gguf')" ]
	apr-header -t shards/folder | grep -q '^b .* m-00002-of-00003.gguf$'
}

@test "GGUF: no file of the input folder is replaced" {
	vectors gguf_shards shards
	cp -r shards/folder m
	for tool in apr-unpack apr-pack; do
		try $tool -f -o m/m-00003-of-00003.gguf m/m-00001-of-00003.gguf
		said 2 'lies in the input folder already'
		try $tool -o m/new m/m-00001-of-00003.gguf
		quiet
		rm m/new
	done
	diff -r m shards/folder
}
