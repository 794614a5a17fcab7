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
