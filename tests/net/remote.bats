#!/usr/bin/env bats
# Models read in place, from a server on the loopback: by tools that have no network, through
# apr-pull.

setup() {
	load ../helper
	load server
	cd "$BATS_TEST_TMPDIR" || return
	unset "${!HF_@}" http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	export HOME=$PWD XDG_CACHE_HOME=$PWD/cache TMPDIR=$PWD
	mkdir -p hub/files
	server_start
	export HF_ENDPOINT=$HUB
	# What lies at the address of the hub would be its model.
	url=$CDN/files
}

# big NAME: a GGUF file of 9 MB.
big() {
	printf 'tensor %s I8 %s %s\n' a 300000 ramp b 4999999 ramp c 3000000 ramp d 700000 ramp |
		"$APR_GEN/mkmodel" >"hub/files/$1"
}

# wide: a safetensors file with a header of some 200 KB.
wide() {
	{
		for i in {1..2000}; do
			echo "tensor layers.with.a.long.name.$i.weight I8 1 ramp"
		done
		echo 'tensor all I8 20000000 hole'
	} | "$APR_GEN/mkmodel" >wide.gguf
	apr-pack -t safetensors -o hub/files/wide.safetensors wide.gguf
}

# same ADDRESS FILE: the stream of both is the same, apart from the name of the model.
same() {
	apr-unpack "$1" >remote.aprs
	apr-unpack "$2" >local.aprs
	cmp remote.aprs local.aprs
}

@test "a header takes two requests, and only its bytes" {
	local n requests bytes
	wide
	try apr-header "$url/wide.safetensors"
	quiet
	n=$(od -An -t u8 -N 8 hub/files/wide.safetensors)
	[ "$n" -gt 65536 ]
	read -r requests bytes <<<"$(served wide)"
	[ "$requests" -eq 2 ]
	[ "$bytes" -le $((n + 1048576)) ] || fail "$bytes bytes for a header of $n"
	apr-header hub/files/wide.safetensors | sed 1d >local
	sed 1d "$out" | diff - local
	[ ! -e cache ]
}

@test "any format read in place gives the stream of the file" {
	big m.gguf
	apr-pack -o hub/files/m.apr hub/files/m.gguf
	apr-pack -t safetensors -o 'hub/files/a b.safetensors' hub/files/m.gguf
	same "$url/m.gguf" hub/files/m.gguf
	same "$url/m.apr" hub/files/m.apr
	same "$url/a%20b.safetensors" 'hub/files/a b.safetensors'
	same "file://$PWD/hub/files/a%20b.safetensors" 'hub/files/a b.safetensors'
	apr-pack -t safetensors --shard-size 6M -o hub/files/s.safetensors hub/files/m.gguf
	same "$url/s-00002-of-00002.safetensors" hub/files/s-00002-of-00002.safetensors
	apr-sum hub/files/m.gguf | cmp - <(apr-sum "$url/m.gguf")
}

@test "a repository is read as a folder, its files by their digests" {
	big m.gguf
	mkdir -p local/model
	apr-pack -t safetensors --shard-size 6M -o local/model/model.safetensors hub/files/m.gguf
	echo '{"model_type":"odd"}' >local/model/config.json
	for file in local/model/*; do
		repo org/model "${file##*/}" <"$file"
	done
	same hf://org/model local/model
	same hf://org/model/model-00001-of-00002.safetensors local/model/model-00001-of-00002.safetensors
	faults 'GET /cdn/*00002-of* flip=2900000'
	try apr-unpack -o made hf://org/model
	said 4 'its SHA-256 is '
	[ ! -e made ]
	faults 'GET *config.json flip=3'
	try apr-unpack -o made hf://org/model
	said 4 'hf://org/model/config.json: its git SHA-1 is '
	[ ! -e made ]
}

@test "--only fetches the tensors that pass" {
	local bytes
	big m.gguf
	try apr-unpack --only '^[ad]$' -o part "$url/m.gguf"
	quiet
	apr-unpack --only '^[ad]$' hub/files/m.gguf | cmp - part
	read -r _ bytes <<<"$(served gguf)"
	[ "$bytes" -le $((1000000 + 1048576)) ] || fail "$bytes bytes"
	repo org/m m.gguf <hub/files/m.gguf
	try apr-unpack --only '^a$' -o part -f hf://org/m/m.gguf
	[ "$status" -eq 0 ]
	grep -q 'only parts of it were read, so its digest is not verified' "$err"
}

@test "a server that has only whole files, or another file than before" {
	big m.gguf
	faults 'GET /files/* noranges'
	try apr-header "$url/m.gguf"
	said 6 'm.gguf: the server only sends whole files, not parts of them'
	[[ $(<"$err") == *'hint: apr-pull -o FILE fetches it whole' ]]
	faults 'GET /files/* noranges skip=1'
	try apr-unpack -o made "$url/m.gguf"
	said 6 'm.gguf: the server only sends whole files, not parts of them'
	faults 'GET /files/* skip=1 etag=other'
	try apr-unpack -o made "$url/m.gguf"
	said 6 'm.gguf: has changed on the server while it was read'
	faults 'GET /files/* badrange skip=1'
	try apr-unpack -o made "$url/m.gguf"
	said 6 'm.gguf: the server answers with other bytes than were asked'
	[ ! -e made ]
}

@test "connections that end early are taken up again" {
	big m.gguf
	faults 'GET /files/* cut=6000000 times=1' 'GET /files/* short=100000 skip=1 times=1'
	try apr-unpack -o made "$url/m.gguf"
	[ "$status" -eq 0 ]
	apr-unpack hub/files/m.gguf | cmp - made
	faults 'GET /files/* status=404 skip=2'
	try apr-unpack -o broken "$url/m.gguf"
	said 3 'm.gguf: does not exist on the server (404)'
	[ ! -e broken ]
}

@test "messages and reports have no query of an address" {
	local tool
	big m.gguf
	try apr-header "$url/m.gguf?X-Amz-Signature=secret"
	quiet
	run ! grep -q secret "$out"
	for tool in apr-header apr-unpack apr-sum apr-stats apr-check; do
		try "$tool" "$url/none.gguf?X-Amz-Signature=secret"
		said 3 'none.gguf: does not exist on the server (404)'
		run ! grep -q secret "$err" "$out"
	done
	try apr-header "https://user:secret@127.0.0.1:1/m" "$url/none?secret"
	[ "$status" -ne 0 ]
	run ! grep -q secret "$err" "$out"
	apr-unpack "$url/m.gguf?secret" | apr-pack -o made.apr
	run ! grep -q secret made.apr
}

@test "sources that are wrong" {
	local source
	while read -r n source; do
		try apr-header "$source"
		said "$n"
	done <<-E
		2 hf://org
		2 hf://datasets/org/name
		2 hf://org/../x
		3 hf://org/none
		2 s3://bucket/key
		2 https://
		2 https://host name/x
		2 https://a\\b/x
		2 http://192.0.2.1/model
	E
	try apr-header "https://127.0.0.1/$(printf 'x%.0s' {1..9000})"
	said 2
	echo x >hub/files/x
	try apr-header "$url/x"
	said 4 'is not a model file of a known format'
	: >hub/files/empty
	try apr-header "$url/empty"
	said 4 'is empty'
}

@test "without apr-pull beside it a tool says what it lacks" {
	mkdir alone
	cp "$APR_BIN/apr-header" alone
	try alone/apr-header "$url/m.gguf"
	said 3 'apr-pull: is needed by apr-header to read from the network, but cannot be run'
}

@test "apr-pull into a pipe: tensors flow while they arrive, and nothing is stored" {
	local right
	big m.gguf
	repo org/m m.gguf <hub/files/m.gguf
	apr-unpack hub/files/m.gguf >local.aprs
	try apr-pull --no-cache hf://org/m/m.gguf
	[ "$status" -eq 0 ]
	cmp "$out" local.aprs
	[ ! -e cache ]
	right=$(sha256sum <hub/files/m.gguf)
	try apr-pull --no-cache --sha256 "${right%% *}" "$url/m.gguf?signature=secret"
	quiet
	cmp "$out" local.aprs
	try apr-pull --no-cache --sha256 "${right//[0-9 -]/0}${right//[^0-9]/}" "$url/m.gguf"
	[ "$status" -ne 0 ]
	apr-unpack --only a hub/files/m.gguf | cmp - <(apr-pull --only a "$url/m.gguf")
	run ! apr-unpack "$out"
}

@test "apr-pull into a pipe: faults end it without DONE" {
	big m.gguf
	repo org/m m.gguf <hub/files/m.gguf
	while read -r n rule; do
		faults "GET /cdn/* $rule"
		apr-pull --no-cache --retries 1 --stall 1 hf://org/m/m.gguf 2>all | cat >cut.aprs
		status=${PIPESTATUS[0]}
		grep '^apr-unpack: ' -A1 all >"$err" || true
		said "$n"
		try apr-sum cut.aprs
		[ "$status" -ne 0 ] || fail "$rule: a stream with an end"
	done <<-E
		4 flip=8000000
		6 cut=5000000
		6 stall=3000000 skip=1
		6 status=503 skip=2
		6 noranges
		7 status=451
		6 etag=other skip=1
		6 length=70000
	E
}

@test "a model in the cache is read without its server" {
	big m.gguf
	repo org/m m.gguf <hub/files/m.gguf
	apr-pull --path hf://org/m/m.gguf >path
	faults 'GET /cdn/* status=500'
	same hf://org/m/m.gguf "$(<path)"
	server_stop
	export HF_HUB_OFFLINE=1
	same hf://org/m/m.gguf "$(<path)"
	try apr-header hf://org/m/none.gguf
	said 3 'is not in the cache, and no request is made: offline'
}
