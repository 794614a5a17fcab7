#!/usr/bin/env bats
# apr-pull into a pipe: tensors flow while they arrive, and the cache fills beside.

setup() {
	load ../helper
	load server
	cd "$BATS_TEST_TMPDIR" || return
	unset "${!HF_@}" http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	export HOME=$PWD XDG_CACHE_HOME=$PWD/cache TMPDIR=$PWD APR_LOG_LEVEL=error
	server_start
	export HF_ENDPOINT=$HUB
	blobs=cache/huggingface/hub/models--org--m/blobs
}

# big: a GGUF file of 40 MB, three pieces of a download, as hf://org/m/m.gguf.
big() {
	printf 'tensor %s I8 %s %s\n' a 18000000 ramp b 4999999 ramp c 17000000 ramp |
		"$APR_GEN/mkmodel" >m.gguf
	repo org/m m.gguf <m.gguf
	bytes=$(stat -c %s m.gguf)
	apr-unpack m.gguf >local.aprs
	blob=$blobs/$(sha256sum <m.gguf | cut -c 1-64)
}

# sent: bytes of weights that the server has sent.
sent() {
	served '^/cdn' | cut -d ' ' -f 2
}

@test "a stream from the hub: each byte is fetched once, and the cache has the model" {
	big
	try apr-pull hf://org/m/m.gguf
	quiet
	cmp "$out" local.aprs
	cmp "$blob" m.gguf
	[ "$(sent)" -eq "$bytes" ]
	[ "$(readlink cache/huggingface/hub/models--org--m/snapshots/*/m.gguf)" = "../../blobs/${blob##*/}" ]
	[ -z "$(find . -name '*.incomplete')" ]
	# Once more, with requests and without: the cache's.
	try apr-pull hf://org/m/m.gguf
	cmp "$out" local.aprs
	server_stop
	try apr-pull --offline hf://org/m/m.gguf
	quiet
	cmp "$out" local.aprs
}

@test "tensors flow while the server stands still, and the rest comes later" {
	big
	faults 'GET /cdn/* stall=12000000 skip=1 times=1'
	# In the second of three pieces. Much of what has come is left, so that the end of the pipe is
	# seen.
	apr-pull -j 1 --stall 600 hf://org/m/m.gguf | head -c 15000000 | cmp -n 15000000 - local.aprs
	[ ! -e "$blob" ]
	[ -e "$blob.apr.incomplete" ]
	faults
	try apr-pull hf://org/m/m.gguf
	quiet
	cmp "$out" local.aprs
	cmp "$blob" m.gguf
}

@test "faults end a stream without DONE, and no wrong byte has a name" {
	local n rule text
	big
	while IFS=: read -r n rule text; do
		rm -rf cache
		faults "GET /cdn/* $rule"
		try apr-pull --retries 1 --retry-wait 0 --stall 1 hf://org/m/m.gguf
		said "$n" "$text" || fail "$rule"
		[ ! -e "$blob" ]
		! apr-sum "$out" >/dev/null 2>&1 || fail "$rule: a stream with an end"
	done <<-E
		4:flip=39000000:apr-unpack: m.gguf: arrived with the SHA-256
		6:cut=20000000:/m.gguf: the connection broke off
		6:stall=3000000 skip=1:/m.gguf: the server has stopped sending
		6:status=503 skip=2:/m.gguf: the server answers 503
		7:status=451:m.gguf: 
	E
	# Before the first byte: the message is that of apr-pull.
	try apr-pull hf://org/none
	said 3 'apr-pull: org/none: does not exist'
	# Those that a download gets over.
	for rule in noranges 'cut=5000000 times=1' 'status=503 header=Retry-After:0 times=1'; do
		rm -rf cache
		faults "GET /cdn/* $rule"
		try apr-pull --retry-wait 0 hf://org/m/m.gguf
		quiet || fail "$rule"
		cmp "$out" local.aprs
		cmp "$blob" m.gguf
	done
}

@test "what an earlier download has left is read from the disk" {
	big
	faults 'GET /cdn/* stall=16000000 times=1'
	apr-pull -j 1 --stall 600 --path hf://org/m/m.gguf >/dev/null 3>&- &
	server_stalled 1
	kill -KILL $!
	wait $! || true
	faults
	try apr-pull hf://org/m/m.gguf
	quiet
	cmp "$out" local.aprs
	cmp "$blob" m.gguf
	# What the buffers of the sockets held comes again.
	[ "$(sent)" -lt $((bytes + 16000000)) ]
	# A part that is damaged: the digest tells, and the next run begins anew.
	rm -r cache
	faults 'GET /cdn/* flip=5000000' 'GET /cdn/* stall=10000000 times=1'
	apr-pull -j 1 --stall 600 --path hf://org/m/m.gguf >/dev/null 3>&- &
	server_stalled 2
	kill -KILL $!
	wait $! || true
	faults
	try apr-pull hf://org/m/m.gguf
	said 4 'm.gguf: arrived with the SHA-256'
	try apr-pull hf://org/m/m.gguf
	quiet
	cmp "$out" local.aprs
}

@test "shards: their headers come first, and nothing twice" {
	local file all=0
	big
	mkdir s
	apr-pack -t safetensors --shard-size 24M -o s/model.safetensors m.gguf
	echo '{"model_type":"odd"}' >s/config.json
	for file in s/*; do
		repo org/s "${file##*/}" <"$file"
	done
	all=$(($(stat -c '%s +' s/*.safetensors) 0))
	try apr-pull hf://org/s
	quiet
	[ "$(sent)" -eq "$all" ]
	apr-unpack "$(apr-pull --path hf://org/s)" | cmp - "$out"
	rm -r cache
	# The first one flows though the second one stands still behind its header.
	faults 'GET /cdn/*00002-of* stall=300000 skip=1'
	apr-pull --stall 600 hf://org/s | head -c 15000000 | cmp -n 15000000 - "$out"
}
