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
	try apr-push --create x oci://h/m:1
	said 2 '--create is for the hub: a registry creates what is pushed'
	try apr-push --private x hf://o/m
	said 2 '--private needs --create'
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
	mkdir "$hub/models/org/m/v2"
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

@test "apr-push to the hub: parts of an earlier run are not sent again" {
	local record
	start --chunk 30000
	sha256=$(sha256sum <m/model.safetensors | cut -c 1-64)
	faults "PUT /lfs/$sha256/3 status=500"
	try apr-push --retries 1 m/model.safetensors hf://org/m
	said 6 'the server answers 500'
	record=$(find apr/uploads -type f)
	[ "$(stat -c %a "$record")" = 600 ]
	[ "$(wc -l <"$record")" -eq 3 ]
	run ! grep -r hf_reader apr
	# Another repository and another hub have their own.
	faults
	touch -d '8 days ago' apr/uploads/old.json
	try apr-push m/model.safetensors hf://org/m
	[ "$status" -eq 0 ]
	grep -qx 'apr-push: model.safetensors: 2 of 4 parts were sent by an earlier run' "$err"
	cmp m/model.safetensors "$hub/models/org/m/main/model.safetensors"
	[ "$(served "^/lfs/$sha256/1")" = '1 0' ]
	[ -z "$(find apr -type f)" ]
	# Addresses that have expired, parts that are gone, and records that are damaged.
	while read -r want rule; do
		size=$((100000 + RANDOM % 20000))
		head -c $size /dev/urandom >m/model.safetensors
		sha256=$(sha256sum <m/model.safetensors | cut -c 1-64)
		faults "PUT /lfs/$sha256/4 status=500 times=1"
		try apr-push --retries 1 m/model.safetensors hf://org/m
		said 6
		faults
		case $rule in
		cut) truncate -s -1 apr/uploads/* ;;
		zero) : >"$(find apr/uploads -type f)" ;;
		other) sed -i s/"$sha256"/"${sha256/?/x}"/ apr/uploads/* ;;
		*) faults "${rule//SHA/$sha256}" ;;
		esac
		try apr-push --json m/model.safetensors hf://org/m
		[ "$status" -eq 0 ] || fail "$rule: $(cat "$err")"
		grep -q "\"sent\":$((size - want))}" "$out" || fail "$rule: $(cat "$out")"
		cmp m/model.safetensors "$hub/models/org/m/main/model.safetensors"
		[ -z "$(find apr -type f)" ]
	done <<-'E'
		90000
		60000 cut
		0 zero
		0 other
		0 PUT /lfs/SHA/4 status=403 times=1
		90000-size POST /lfs/SHA status=404 times=1
	E
}

@test "apr-push to the hub: killed before parts are joined; without a place for the record" {
	local job
	start --chunk 30000
	echo '{}' >"$hub/none"
	faults 'POST /lfs/* body=none stall=0'
	apr-push m/model.safetensors hf://org/m &
	job=$!
	server_stalled 1
	kill -KILL $job
	wait $job || true
	faults
	apr-push --json m/model.safetensors hf://org/m >said
	[ -z "$(find apr -type f)" ]
	grep -q '"sent":0}' said
	cmp m/model.safetensors "$hub/models/org/m/main/model.safetensors"
	head -c 90001 /dev/urandom >m/model.safetensors
	APR_CACHE=/dev/null/none try apr-push m/model.safetensors hf://org/m
	quiet
	cmp m/model.safetensors "$hub/models/org/m/main/model.safetensors"
}

@test "apr-push to the hub: --create makes the repository" {
	start
	try apr-push m/config.json hf://org/new
	said 3 'hint: --create creates it'
	apr-push --create m/config.json hf://org/new
	cmp m/config.json "$hub/models/org/new/main/config.json"
	try apr-push m/config.json hf://org/new@nobranch
	said 3 'has no revision nobranch'
	[ "$(grep -c create "$err")" = 0 ]
	[ ! -e "$hub/models/org/new/.private" ]
	apr-push --create --private m/config.json hf://org/own
	[ -e "$hub/models/org/own/.private" ]
	try apr-push --create --private m/README.md hf://org/new
	[ "$status" -eq 0 ]
	grep -qx 'apr-push: the repository exists already: --private does not change it' "$err"
	[ ! -e "$hub/models/org/new/.private" ]
	HF_TOKEN=hf_outsider try apr-push --create m/README.md hf://org/other
	said 7 'org/other: is not open to this token'
	[ ! -e "$hub/models/org/other" ]
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
