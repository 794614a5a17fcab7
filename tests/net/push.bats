# apr-push: to the hub by LFS and commits, to registries as ModelPack artifacts.
load ../helper

setup() {
	load server
	cd "$BATS_TEST_TMPDIR" || return
	export APR_CACHE=$PWD/apr HF_HUB_CACHE=$PWD/hf HF_TOKEN=hf_reader
	unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE REGISTRY_AUTH_FILE DOCKER_CONFIG
	export no_proxy='*'
	mkdir m
	head -c 100000 /dev/zero | tr '\0' w >m/model.safetensors
	echo '{"a":1}' >m/config.json
	echo '# Model' >m/README.md
	: >m/empty.txt
	echo hidden >m/.hidden
}

start() {
	repo org/m .gitattributes </dev/null
	server_start "$@"
	export HF_ENDPOINT=$HUB
	registry=${HUB#http://}
}

@test "apr-push: wrong usage" {
	echo x >x
	exam_synopsis apr-push
	try apr-push --help
	quiet
	try apr-push --no-such-option
	said 2 'unknown option --no-such-option'
	try bash -c 'apr-push -n x hf://o/m >/dev/full'
	said 1 '<stdout>: cannot be written'
	try apr-push
	said 2 'FILEs and a destination are missing'
	try apr-push x
	said 2 'a destination is missing'
	try apr-push x y
	said 2 'y: not a destination'
	try apr-push x https://host/x
	said 2 'is not hf://ORG/REPO or oci://HOST/NAME:TAG'
	try apr-push x "oci://h/m@sha256:$(printf %064d 0)"
	said 2 'names a digest'
	try apr-push --message x x oci://h/m:1
	said 2 '--message is for the hub'
	try apr-push --signature x x hf://o/m
	said 2 '--signature is for registries'
	try apr-push no-such-file hf://o/m
	said 3 'no-such-file: cannot be opened'
	try apr-push x ./x hf://o/m
	said 2 'would be x, as x'
	mkfifo fifo
	try apr-push fifo hf://o/m
	said 2 'fifo: is not a file'
}

@test "apr-push to the hub: an LFS object and a commit; what is there is not sent again" {
	start
	try apr-push -n m hf://org/m/sub
	quiet
	[ "$(awk '{ print $NF }' "$out" | tr '\n' ' ')" = 'sub/README.md sub/config.json sub/empty.txt sub/model.safetensors ' ]
	[ ! -e "$hub/log" ]
	try apr-push --message 'the first' m hf://org/m
	quiet
	grep -qE "^$HUB/org/m/commit/[0-9a-f]{40}$" "$out"
	for file in model.safetensors config.json README.md empty.txt; do
		cmp "m/$file" "$hub/models/org/m/main/$file"
	done
	[ ! -e "$hub/models/org/m/main/.hidden" ]
	[ "$(served '^/lfs/')" = '1 2' ]
	# The CDN never sees the token.
	server_log | awk '/^(hub|cdn)/ { cdn = /^cdn/ } cdn && tolower($1) == "authorization:"' >seen
	[ ! -s seen ]
	try apr-push --json m hf://org/m@v2
	quiet
	grep -q '"name":"model.safetensors",.*"there":true' "$out"
	[ "$(served '^/lfs/')" = '1 2' ]
	cmp m/model.safetensors "$hub/models/org/m/v2/model.safetensors"
	apr-pull -o got/ hf://org/m
	cmp got/model.safetensors m/model.safetensors
}

@test "apr-push to the hub: parts, failures that pass, and refusals" {
	start --chunk 30000
	faults 'PUT /lfs/* status=503 times=1' 'POST /api/models/*/commit/* status=502 times=1'
	apr-push --retry-wait 0 m/model.safetensors hf://org/m
	cmp m/model.safetensors "$hub/models/org/m/main/model.safetensors"
	[ "$(find "$hub/parts" -type f | wc -l)" -eq 4 ]
	faults
	HF_TOKEN='' try apr-push m hf://org/m
	said 7 'needs a token that may write'
	HF_TOKEN=hf_outsider try apr-push m hf://org/m
	[ "$status" -eq 7 ] || fail "$status $(cat "$err")"
	try apr-push m hf://org/none
	[ "$status" -eq 3 ] || [ "$status" -eq 7 ] || fail "$status $(cat "$err")"
	# An answer that is not as it should be, and one that leads elsewhere.
	echo '{"objects":[{"oid":"x","actions":{"upload":{"href":"http://192.0.2.1/"}}}]}' >"$hub/evil"
	faults 'POST *batch body=evil'
	try apr-push m hf://org/m
	said 4 'the hub names an object that was not asked for'
	echo '[' >"$hub/evil"
	try apr-push m hf://org/m
	said 4
}

@test "apr-push to a registry: a ModelPack artifact, a signature beside it, and back" {
	start
	mkdir -p "$hub/v2/org/m"
	touch "$hub/v2/org/m/.token"
	echo 'a signature' >m.sig
	try apr-push --signature m.sig m "oci://$registry/org/m:v1"
	quiet
	digest=$(sha256sum <"$hub/v2/org/m/manifests/v1" | cut -c 1-64)
	[ "$(cat "$out")" = "$registry/org/m@sha256:$digest" ]
	grep -q '"artifactType":"application/vnd.cncf.model.manifest.v1+json"' "$hub/v2/org/m/manifests/v1"
	grep -q '"mediaType":"application/vnd.cncf.model.weight.v1.raw"' "$hub/v2/org/m/manifests/v1"
	grep -q "\"subject\":{[^}]*sha256:$digest" "$hub/v2/org/m/manifests/sha256-$digest"
	cmp m.sig "$hub/v2/org/m/blobs/sha256:$(sha256sum <m.sig | cut -c 1-64)"
	apr-pull -o back/ "oci://$registry/org/m:v1"
	rm m/.hidden
	diff -r m back
	# Again: nothing is sent, and the manifest has the same bytes.
	try apr-push --json m "oci://$registry/org/m:v2"
	quiet
	[ "$(grep -c '"there":true' "$out")" -eq 4 ]
	cmp "$hub/v2/org/m/manifests/v1" "$hub/v2/org/m/manifests/v2"
	# A registry that fails once.
	echo more >m/more.txt
	faults 'PUT /v2/org/m/blobs/* status=503 times=1'
	apr-push --retry-wait 0 m "oci://$registry/org/m:v3"
	cmp m/more.txt "$hub/v2/org/m/blobs/sha256:$(sha256sum <m/more.txt | cut -c 1-64)"
}
