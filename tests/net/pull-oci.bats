# apr-pull from registries: manifests of three dialects, tokens, blobs by digest.
load ../helper

setup() {
	load server
	cd "$BATS_TEST_TMPDIR" || return
	export APR_CACHE=$PWD/apr HF_HUB_CACHE=$PWD/hf
	unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE REGISTRY_AUTH_FILE DOCKER_CONFIG
	export no_proxy='*'
	server_start
	registry=${HUB#http://}
}

# blob NAME FILE: stores it; prints its descriptor without the closing brace.
blob() {
	local hex
	hex=$(sha256sum <"$2" | cut -c 1-64)
	mkdir -p "$hub/v2/$1/blobs"
	cp "$2" "$hub/v2/$1/blobs/sha256:$hex"
	printf '{"digest":"sha256:%s","size":%d' "$hex" "$(stat -c %s "$2")"
}

# layer NAME FILE TYPE [PATH]: the same as a layer.
layer() {
	blob "$1" "$2"
	printf ',"mediaType":"%s"%s}' "$3" "${4:+,\"annotations\":{\"org.cncf.model.filepath\":\"$4\"\}}"
}

manifest() {
	mkdir -p "$hub/v2/$1/manifests"
	printf '{"schemaVersion":2,"layers":[%s]}' "$3" >"$hub/v2/$1/manifests/$2"
}

ollama() {
	echo 'a template' >template
	echo 'the licence' >licence
	manifest library/m latest "$(layer library/m "$model" application/vnd.ollama.image.model),$(
		layer library/m template application/vnd.ollama.image.template),$(
		layer library/m licence application/vnd.ollama.image.license)"
	echo text/plain >"$hub/v2/library/m/.type"
}

modelpack() {
	local type=application/vnd.cncf.model
	echo '{}' >config.json
	echo 'print()' >run.py
	head -c 3000 /dev/zero >w1
	head -c 2000 /dev/zero >w2
	manifest org/pack v1 "$(layer org/pack w1 $type.weight.v1.raw sub/w1.safetensors),$(
		layer org/pack w2 $type.weight.v1.raw w2.safetensors),$(
		layer org/pack config.json $type.weight.config.v1.raw config.json),$(
		layer org/pack run.py $type.code.v1.raw run.py)"
}

@test "ollama: the model comes verified, the cache keeps it, and offline it is there" {
	ollama
	try apr-pull --path "ollama://$registry/library/m"
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	cmp "$(cat "$out")" "$model"
	[ "$(served '^/v2/library/m/manifests/.*')" = "1 $(stat -c %s "$hub/v2/library/m/manifests/latest")" ]
	# What was fetched is not fetched again.
	apr-pull -o m.gguf "ollama://$registry/library/m:latest"
	cmp m.gguf "$model"
	[ "$(served '^/v2/library/m/blobs/.*' | cut -d' ' -f 2)" -eq "$(stat -c %s "$model")" ]
	apr-cache list | grep -q " oci://$registry/library/m:latest"
	# A stream, from the registry and from the cache.
	apr-unpack "$model" >local.aprs
	APR_CACHE=$PWD/other apr-pull "ollama://$registry/library/m" | cmp - local.aprs
	cmp other/blobs/sha256/* "$model"
	server_stop
	apr-pull --offline "ollama://$registry/library/m" | cmp - local.aprs
	apr-pull --offline -f -o m.gguf "ollama://$registry/library/m"
	cmp m.gguf "$model"
	try apr-pull --offline --path "ollama://$registry/library/other"
	said 3 'is not in the cache, and requests are switched off (offline)'
}

@test "oci: layers by their names, with redirects and a token that stays at the registry" {
	modelpack
	touch "$hub/v2/org/pack/.token" "$hub/v2/org/pack/.redirect"
	apr-pull -o pack/ "oci://$registry/org/pack:v1"
	[ "$(cd pack && find . -type f | sort | tr '\n' ' ')" = \
		'./config.json ./sub/w1.safetensors ./w2.safetensors ' ]
	cmp pack/sub/w1.safetensors w1
	server_log >log
	grep -q '^cdn GET /v2/org/pack/blobs/' log
	# The CDN never sees the token.
	! awk '/^(hub|cdn)/ { cdn = /^cdn/ } cdn && tolower($1) == "authorization:"' log | grep . ||
		fail "$(cat log)"
	apr-pull --no-cache --include run.py -o run.py2 "oci://$registry/org/pack:v1"
	cmp run.py2 run.py
	digest=$(sha256sum <"$hub/v2/org/pack/manifests/v1" | cut -c 1-64)
	cp "$hub/v2/org/pack/manifests/v1" "$hub/v2/org/pack/manifests/sha256:$digest"
	apr-pull --path "oci://$registry/org/pack@sha256:$digest" >path
	cmp "$(cat path)/sub/w1.safetensors" w1
	# Both references share a folder.
	apr-cache clear "oci://$registry/org/pack:v1"
	cmp "$(cat path)/sub/w1.safetensors" w1
	apr-cache clear "oci://$registry/org/pack@sha256:$digest"
	[ ! -e "$(cat path)" ]
}

@test "oci: TLS, credentials of docker login, and refusals" {
	ollama
	export CURL_CA_BUNDLE=$HUB_CA
	touch "$hub/v2/library/m/.token"
	echo user:secret >"$hub/v2/library/m/.basic"
	export DOCKER_CONFIG=$PWD
	try apr-pull --path "ollama://${HUBS#https://}/library/m"
	[ "$status" -eq 7 ] || fail "$status $(cat "$err")"
	grep -qx "hint: docker login ${HUBS#https://} writes the credentials that are used" "$err"
	printf '{"auths":{"%s":{"auth":"%s"}}}' "${HUBS#https://}" "$(printf user:secret | base64)" >config.json
	apr-pull --path "ollama://${HUBS#https://}/library/m" >path
	cmp "$(cat path)" "$model"
	try apr-pull --path "oci://$registry/none/m:v1"
	said 3 'does not exist in the registry'
	try apr-pull --path "oci://$registry/none/m@sha256:12"
	said 2 'has a digest that is not sha256'
}

@test "oci: wrong digests, hostile manifests and failures" {
	local args text code
	modelpack
	source=oci://$registry/org/pack:v1
	blob=/v2/org/pack/blobs/sha256:$(sha256sum <w1 | cut -c 1-64)
	faults "GET $blob flip=7"
	try apr-pull --path --retry-wait 0 "$source"
	[ "$status" -ne 0 ] && grep -q 'arrived with the SHA-256' "$err" || fail "$status $(cat "$err")"
	# Nothing that is wrong has a final name.
	for file in apr/blobs/sha256/*[0-9a-f]; do
		[ "$(sha256sum <"$file" | cut -c 1-64)" = "${file##*/}" ] || [[ $file == *.incomplete ]] || fail "$file"
	done
	faults 'GET /v2/org/pack/manifests/* header=Docker-Content-Digest:sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
	try apr-pull --path "$source"
	grep -q 'the manifest arrived with the digest sha256:' "$err" || fail "$(cat "$err")"
	faults 'GET /v2/org/pack/manifests/* status=503 times=2' "GET $blob cut=1000 times=1"
	try apr-pull --path --retry-wait 0 "$source"
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	cmp "$(cat "$out")/sub/w1.safetensors" w1
	mkdir -p "$hub/v2/bad/manifests" "$hub/v2/bad/blobs"
	faults
	while IFS='|' read -r code args text; do
		echo "$args" >"$hub/v2/bad/manifests/v1"
		try apr-pull --path "oci://$registry/bad:v1"
		said "$code" "$text"
	done <<-'END'
		4|[]|
		4|{"layers":[{"digest":"sha256:../../../x","size":1}]}|not sha256 and 64 digits
		4|{"layers":3}|is not a manifest with layers
		4|{"layers":[]}|is an artifact without a layer of weights
		4|{"layers":[{"mediaType":"application/vnd.cncf.model.weight.v1.tar","digest":"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","size":1}]}|has its files in tar archives, which are not read
		4|{"manifests":[]}|has none for a model
	END
	faults 'GET /v2/bad/manifests/* endless'
	try apr-pull --path "oci://$registry/bad:v1"
	[ "$status" -ne 0 ] && [ ! -s "$out" ]
}

# big: a GGUF file of 9 MB as the model of org/big:v1.
big() {
	printf 'tensor %s I8 %s %s\n' a 300000 ramp b 4999999 ramp c 3000000 ramp d 700000 ramp |
		"$APR_GEN/mkmodel" >big.gguf
	manifest org/big v1 "$(layer org/big big.gguf application/vnd.cncf.model.weight.v1.raw big.gguf)"
	blob=/v2/org/big/blobs/sha256:$(sha256sum <big.gguf | cut -c 1-64)
}

@test "registries are read in place: a header in three requests, tensors by ranges, whole by digest" {
	local requests bytes
	big
	ollama
	touch "$hub/v2/org/big/.token" "$hub/v2/org/big/.redirect"
	try apr-header "oci://$registry/org/big:v1"
	quiet
	sed 1d "$out" | diff - <(apr-header big.gguf | sed 1d)
	read -r requests bytes <<<"$(served "${blob//:/.}")"
	# The redirect, and the beginning at the CDN.
	[ "$requests" -eq 2 ] && [ "$bytes" -le 1048576 ] || fail "$requests requests, $bytes bytes"
	[ ! -e apr ]
	apr-unpack big.gguf >local.aprs
	apr-unpack "oci://$registry/org/big:v1" | cmp - local.aprs
	apr-unpack "$model" | cmp - <(apr-unpack "ollama://$registry/library/m")
	read -r _ bytes <<<"$(served '^/v2/org/big/blobs')"
	apr-unpack --only '^[ad]$' big.gguf | cmp - <(apr-unpack --only '^[ad]$' "oci://$registry/org/big:v1" 2>said)
	grep -qx "apr-pull: oci://$registry/org/big:v1: only parts of it were read, so its digest is not verified" said
	read -r _ requests <<<"$(served '^/v2/org/big/blobs')"
	[ $((requests - bytes)) -le $((1000000 + 1048576)) ] || fail "$((requests - bytes)) bytes"
	# The CDN never sees the token.
	server_log | awk '/^(hub|cdn)/ { cdn = /^cdn/ } cdn && tolower($1) == "authorization:"' >seen
	[ ! -s seen ]
	# What the cache has is read there.
	apr-pull --path "oci://$registry/org/big:v1" >path
	faults "GET $blob status=500"
	apr-unpack "oci://$registry/org/big:v1" | cmp - local.aprs
	server_stop
	export HF_HUB_OFFLINE=1
	apr-unpack "oci://$registry/org/big:v1" | cmp - local.aprs
	try apr-header "oci://$registry/org/other:v1"
	said 3 'is not in the cache, and requests are switched off (offline)'
	rm "$(<path)"
	try apr-header "oci://$registry/org/big:v1"
	said 3 "oci://$registry/org/big:v1: is not in the cache, and no request is made: offline"
}

@test "registries read in place: several files are a folder, tokens end, bytes are judged" {
	local type=application/vnd.cncf.model
	big
	mkdir -p local
	apr-pack -t safetensors --shard-size 6M -o local/model.safetensors big.gguf
	echo '{"model_type":"odd"}' >local/config.json
	manifest org/set v1 "$(for file in local/*; do
		layer org/set "$file" $type.weight.v1.raw "${file#local/}"
		echo ,
	done | sed '$s/,$//')"
	apr-unpack "oci://$registry/org/set:v1" >remote.aprs
	mv local set:v1
	apr-unpack set:v1 | cmp - remote.aprs
	touch "$hub/v2/org/big/.token"
	apr-unpack big.gguf >local.aprs
	# Once: of two readers, one may get both answers, and gives up.
	faults "GET $blob status=401 skip=1 times=1"
	apr-unpack "oci://$registry/org/big:v1" | cmp - local.aprs
	while read -r code rule text; do
		faults "GET $blob ${rule//,/ }"
		try apr-unpack -o made "oci://$registry/org/big:v1"
		said "$code" "oci://$registry/org/big:v1: $text"
		[ ! -e made ]
	done <<-E
		4 flip=5000000 its SHA-256 is
		6 noranges the server only sends whole files, not parts of them
		6 etag=other,skip=1 has changed on the server while it was read
	E
}
