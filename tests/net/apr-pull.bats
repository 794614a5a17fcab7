#!/usr/bin/env bats
# apr-pull against the server: what it fetches, what it refuses, and what it leaves behind.

setup() {
	load ../helper
	load server
	cd "$BATS_TEST_TMPDIR" || return
	export HF_HUB_CACHE=$PWD/cache APR_CACHE=$PWD/apr APR_LOG_LEVEL=error
	unset HF_HOME HF_TOKEN HF_HUB_OFFLINE HTTPS_PROXY HTTP_PROXY http_proxy https_proxy
	repo org/m config.json <<<'{"a":1}'
	# 17 MiB: two pieces.
	yes 'the weights of a model' | head -c 17825793 >weights
	repo org/m model.safetensors <weights
	repo org/m sub/dir/x.txt <<<hello
	sha256=$(sha256sum <weights | cut -c 1-64)
	server_start --page 2
	export HF_ENDPOINT=$HUB
	file=hf://org/m/model.safetensors
	repo_cache=cache/models--org--m
}

# pull ARG…: without waits between tries.
pull() {
	try apr-pull --retry-wait 0 "$@"
}

# The cache has nothing that counts as a file, and no commit.
nothing_named() {
	[ -z "$(find cache apr -type f -not -name '*.lock' -not -name '*.incomplete' \
		-not -name CACHEDIR.TAG -not -path '*/trees/*' 2>/dev/null)" ] ||
		fail "$(find cache apr -type f)"
}

no_part() {
	[ -z "$(find . -name '*.incomplete')" ] || fail "$(find . -name '*.incomplete')"
}

# refused STATUS TEXT ARG…: the pull ends with this message and no file under a final name.
refused() {
	local how=(--path) # not a stream
	[ "$1" -ne 2 ] || how=()
	pull "${how[@]}" "${@:3}"
	said "$1" "$2" || return
	nothing_named
}

# ---- the cache ----

@test "a repository lies in the cache as the hub's Python client has it" {
	pull --path hf://org/m
	quiet
	commit=$(cat $repo_cache/refs/main)
	[ "$(cat "$out")" = "$PWD/$repo_cache/snapshots/$commit" ]
	[ "$(stat -c %s $repo_cache/refs/main)" -eq 40 ]
	cmp "$repo_cache/blobs/$sha256" weights
	[ "$(readlink "$repo_cache/snapshots/$commit/model.safetensors")" = "../../blobs/$sha256" ]
	[ "$(readlink "$repo_cache/snapshots/$commit/sub/dir/x.txt")" = \
		../../../../blobs/ce013625030ba8dba906f756967f9e9ca394464a ]
	[ -f "cache/.locks/models--org--m/$sha256.lock" ]
	[ "$(head -n 1 cache/CACHEDIR.TAG)" = 'Signature: 8a477f597d28d172789f06886806bc55' ]
	grep -q '"format_version":1' "$repo_cache/trees/$commit.json"
	no_part
	# The second time, nothing but the list is asked for; offline, nothing.
	before=$(served '^/cdn')
	pull --json hf://org/m
	quiet
	[[ $(cat "$out") == *'"cached":true'* && $(cat "$out") != *'"cached":false'* ]]
	[ "$(served '^/cdn')" = "$before" ]
	before=$(served)
	HF_HUB_OFFLINE=1 pull --path hf://org/m
	quiet
	pull --offline -o x hf://org/m/sub/dir/x.txt
	quiet
	grep -qx hello x
	pull --path "hf://org/m/model.safetensors@$commit"
	quiet
	[ "$(served)" = "$before" ]
}

@test "CHECK-092 a cache of another program is used without a request" {
	commit=0123456789abcdef0123456789abcdef01234567
	mkdir -p $repo_cache/{blobs,refs,snapshots/$commit/sub}
	printf '%s\n' $commit >$repo_cache/refs/main
	echo a >$repo_cache/blobs/78981922613b2afb6025042ff6bd878ac1994e85
	ln -s ../../blobs/78981922613b2afb6025042ff6bd878ac1994e85 $repo_cache/snapshots/$commit/a
	# Where links cannot be made, files lie there themselves.
	echo b >$repo_cache/snapshots/$commit/sub/b
	find cache | sort >before
	pull --offline -o D hf://org/m
	quiet
	[ "$(cat D/a D/sub/b)" = $'a\nb' ]
	pull --offline --path hf://org/m/a
	quiet
	refused_offline() {
		pull --offline --path "$1"
		said 3 'is not in the cache, and requests are switched off (offline)'
	}
	refused_offline hf://org/m/c
	refused_offline hf://org/m@other
	refused_offline hf://org/n
	refused_offline https://127.0.0.1:1/x
	find cache | sort | diff before -
	[ "$(served)" = '0 0' ]
}

@test "what a commit lacks is kept as the hub's Python client keeps it, and not asked again" {
	local commit n
	repo org/m model.safetensors <weights
	repo org/m sub/x.txt <<<x
	for n in 1 2; do
		try apr-pull --path hf://org/m/none.json
		said 3 'org/m/none.json: does not exist in this revision'
	done
	commit=$(cat $repo_cache/refs/main)
	[ "$(find $repo_cache/.no_exist -type f -printf '%P %s\n')" = "$commit/none.json 0" ]
	[ -z "$(find $repo_cache/blobs $repo_cache/snapshots -type f)" ]
	n=$(server_log | grep -c '^hub ')
	try apr-pull --path "hf://org/m@$commit/none.json"
	said 3 "hf://org/m@$commit/none.json: does not exist in this revision"
	try apr-header "hf://org/m@$commit/none.json"
	said 3 "hf://org/m@$commit/none.json: does not exist in this revision"
	[ "$(server_log | grep -c '^hub ')" = "$n" ]
	# Another program asked for a folder as a file.
	mkdir -p "$repo_cache/.no_exist/$commit/deep"
	touch "$repo_cache/.no_exist/$commit"/{sub,deep/other}
	try apr-pull --path "hf://org/m@$commit/sub"
	quiet
	[ "$(cat "$(cat "$out")/x.txt")" = x ]
	# Nothing is kept of what was asked without the cache.
	rm -r cache
	try apr-pull --no-cache -o none hf://org/m/none.json
	said 3 'does not exist in this revision'
	try apr-header hf://org/m/none.json
	said 3 'does not exist in this revision'
	[ ! -e cache ]
	apr-pull --path hf://org/m >path
	mkdir -p "$repo_cache/.no_exist/$commit/deep"
	touch "$repo_cache/.no_exist/$commit"/{deep/other,model.safetensors}
	server_stop
	for n in apr-pull 'apr-header'; do
		HF_HUB_OFFLINE=1 try "$n" hf://org/m/deep/other
		said 3 'hf://org/m/deep/other: does not exist in this revision'
		HF_HUB_OFFLINE=1 try "$n" hf://org/m/deep/new
		said 3 'is not in the cache, and '
	done
	HF_HUB_OFFLINE=1 apr-pull -o there hf://org/m/model.safetensors
	cmp there weights
}

@test "a hub that cannot be reached: the copy in the cache is used, with a note" {
	pull --path hf://org/m
	quiet
	faults '* /* status=503'
	APR_LOG_LEVEL= pull --retries 1 --path hf://org/m
	[ "$status" -eq 0 ]
	grep -q 'the server answers 503.*; the copy in the cache is used' "$err"
}

@test "where links cannot be made, the snapshot has the file itself" {
	HF_HUB_DISABLE_SYMLINKS=1 pull --path $file
	quiet
	cmp "$(cat "$out")" weights
	[ ! -L "$(cat "$out")" ]
	before=$(served '^/cdn')
	HF_HUB_DISABLE_SYMLINKS=1 pull --path $file
	quiet
	[ "$(served '^/cdn')" = "$before" ]
}

# ---- the hub ----

@test "redirects: the token stays at the hub, files come from the CDN, names change" {
	touch hub/models/org/m/.private
	HF_TOKEN=hf_reader pull -o got $file
	quiet
	cmp got weights
	server_log | awk '/^[a-z]/ { cdn = $1 == "cdn" } cdn' >cdn.log
	grep -q '^cdn GET ' cdn.log
	! grep -i authorization cdn.log
	server_log | grep -q 'Authorization: Bearer hf_reader'
	[ "$(served '^/cdn' | cut -d ' ' -f 2)" -eq 17825793 ]
}

@test "what a private, gated, disabled or missing model needs" {
	touch hub/models/org/m/.private
	refused 3 'org/m: does not exist on the hub, or is private (E007) hint: for a private model set HF_TOKEN' \
		hf://org/m
	HF_TOKEN=hf_wrong refused 7 'does not know the token' hf://org/m
	HF_TOKEN=hf_outsider refused 3 'or the token gives no access to it' hf://org/m
	! grep -r hf_wrong "$err" cache
	rm hub/models/org/m/.private
	touch hub/models/org/m/.gated
	refused 7 "org/m: is gated: its owner asks for consent or approval first hint: accept at $HUB/org/m, then set HF_TOKEN" \
		$file
	HF_TOKEN=hf_outsider refused 7 "is gated" $file
	HF_TOKEN=hf_reader pull --path $file
	quiet
	rm -r hub/models/org/m/.gated cache
	# The commit is known then, and that it lacks the file.
	pull --path hf://org/m/none
	said 3 'org/m/none: does not exist in this revision'
	rm -r cache
	refused 3 'org/m: has no revision none' hf://org/m@none
	refused 3 'org/none: does not exist on the hub, or is private' hf://org/none
	touch hub/models/org/m/.disabled
	refused 7 'is disabled by the hub' hf://org/m
}

@test "licences: told before, and judged by a policy" {
	echo cc-by-nc-4.0 >hub/models/org/m/.license
	APR_LOG_LEVEL= pull -n $file
	grep -q 'licence cc-by-nc-4.0 (warning: it does not allow commercial use)' "$err"
	echo '{"denied_licenses": ["cc-by-nc*"]}' >policy.json
	refused 7 'has the licence cc-by-nc-4.0, which policy.json does not allow hint: --accept-license' \
		--policy policy.json $file
	pull --policy policy.json --accept-license --path $file
	quiet
}

@test "several files: patterns, other forms, GGUF by tag" {
	repo org/m pytorch_model.bin <<<x
	repo org/m onnx/model.onnx <<<x
	APR_LOG_LEVEL= pull -n hf://org/m
	[[ $(cat "$err") == *'2 files with the same weights in other forms are left out'* ]]
	! grep -q -e onnx -e pytorch "$out"
	pull --include '*.onnx' --exclude 'x*' -o D hf://org/m
	quiet
	[ "$(find D -type f)" = D/onnx/model.onnx ]
	repo org/g m-Q4_K_M.gguf <<<q4
	repo org/g m-Q8_0.gguf <<<q8
	pull hf://org/g
	said 2 'has 2 GGUF files: m-Q4_K_M.gguf, m-Q8_0.gguf'
	pull -o m.gguf hf://org/g:q4_k_m
	quiet
	grep -qx q4 m.gguf
	pull hf://org/g:Q5_0
	said 3 'no GGUF file has Q5_0 in its name'
	pull hf://org/g:q
	said 2 'more than one GGUF file has q in its name'
	pull --no-cache -o E/ hf://org/m/sub/
	quiet
	[ "$(find E -type f)" = E/sub/dir/x.txt ]
	pull --sha256 "$sha256" --path $file
	quiet
	pull --sha256 "${sha256//[0-9]/0}" --path hf://org/m/config.json
	said 4 'config.json: has the SHA-256'
}

@test "a pipe gets the model as a stream" {
	repo org/g m.gguf <"$model"
	pipe "apr-pull hf://org/g/m.gguf | apr-pack -t gguf" | cmp - "$model"
	try_pipe "apr-pull hf://org/none | apr-pack -t gguf -o none.gguf"
	[ "$status" -ne 0 ]
	[ ! -e none.gguf ]
}

@test "a stream whose reader cannot be started says so" {
	mkdir bin
	cp "$(command -v apr-pull)" bin
	printf '#!/nowhere/none\n' >bin/apr-unpack
	chmod +x bin/apr-unpack
	repo org/g m.gguf <"$model"
	try bin/apr-pull hf://org/g/m.gguf
	said 1 'apr-unpack: cannot be started'
}

# ---- servers that fail ----

@test "failures for a while: the request is made again" {
	for fault in status=503 status=429%20header=Retry-After:0 reset cut=5000 short=1 stall=100; do
		rm -rf cache
		faults "* /cdn/* ${fault//%20/ } times=1"
		pull --stall 1 -o got -f $file
		quiet || fail "$fault" || return
		cmp got weights
	done
	faults 'GET /api/* status=502 times=2' 'HEAD /* status=500 times=1'
	rm -rf cache
	pull --path $file
	quiet
}

@test "CHECK-091 failures that stay: one message, and the next run goes on" {
	faults 'GET /cdn/* cut=17800000'
	refused 6 'model.safetensors: the connection broke off, after 2 tries' --retries 2 -j 1 $file
	[ -e "$repo_cache/blobs/$sha256.apr.incomplete" ]
	faults
	before=$(served '^/cdn' | cut -d ' ' -f 2)
	pull --json $file
	quiet
	[ $(($(served '^/cdn' | cut -d ' ' -f 2) - before)) -le 100000 ]
	no_part
	rm -rf cache
	faults '* /* status=503'
	refused 6 'the server answers 503, after 3 tries' --retries 3 hf://org/m
	faults '* /* status=429 header=Retry-After:100000'
	refused 6 'the server answers 429, and asks to wait 100000 seconds' hf://org/m
	faults '* /* reset'
	refused 6 'the connection broke off, after 2 tries' --retries 2 hf://org/m
	server_stop
	refused 6 'no connection, after 2 tries' --retries 2 hf://org/m
}

@test "CHECK-093 a wrong digest: fetched anew, then refused" {
	faults 'GET /cdn/* flip=5 times=1'
	APR_LOG_LEVEL= pull --path $file
	[ "$status" -eq 0 ]
	grep -q "model.safetensors: arrived with the SHA-256 [0-9a-f]*, not $sha256; fetching it anew" "$err"
	cmp "$repo_cache/blobs/$sha256" weights
	rm -rf cache
	faults 'GET /cdn/* flip=17000000'
	refused 4 "model.safetensors: arrived with the SHA-256" $file
	no_part
	faults 'GET /org/m/resolve/*/config.json flip=1'
	refused 4 'config.json: arrived with the git SHA-1' hf://org/m/config.json
	refused 4 '' --sha256 "${sha256//[0-9]/0}" $file
	no_part
}

@test "servers without ranges, with wrong ranges, or that need them" {
	faults 'GET /cdn/* noranges'
	pull -o got $file
	quiet
	cmp got weights
	rm -rf cache
	faults 'GET /cdn/* needrange'
	pull -f -o got $file
	quiet
	cmp got weights
	rm -rf cache
	faults 'GET /cdn/* badrange'
	refused 6 'the server answers with other bytes than were asked' $file
	# What has come by ranges does not help if the server then stops serving them.
	faults 'GET /cdn/* cut=17000000'
	refused 6 '' --retries 1 $file
	faults 'GET /cdn/* noranges'
	pull -f -o got $file
	quiet
	cmp got weights
}

@test "files that change, lie about their size, or do not end" {
	faults 'HEAD /org/m/resolve/* header=X-Linked-Size:17000000'
	refused 4 'has 17825793 bytes on the server, not 17000000' $file
	no_part
	# No more is read than the file has.
	faults 'GET /cdn/* endless'
	pull -o got $file
	quiet
	cmp got weights
	rm -r cache
	faults 'GET /api/* endless'
	refused 6 'the answer has more than the 33554432 bytes it may have' hf://org/m
	faults '* /api/* endless-headers'
	refused 6 'the headers of the answer have more than 64 KiB' hf://org/m
	mkdir -p hub/files/a
	cp weights hub/files/a/f.bin
	faults 'GET /files/* etag=other%2ethan%2ebefore'
	refused 6 'has changed meanwhile' "$HUB/files/a/f.bin"
}

@test "redirects that are refused" {
	faults '* /cdn/* loop'
	refused 6 'has more than 8 redirects' $file
	export CURL_CA_BUNDLE=$HUB_CA
	HF_ENDPOINT=$HUBS
	faults '* /cdn/* location=http://127.0.0.1:1/x'
	refused 6 'redirects from https to http, which is refused' $file
	faults '* /cdn/* location=file:///etc/passwd'
	refused 4 'redirects to an address that does not begin with https:// or http://' $file
	faults '* /cdn/* location=http://evil@127.0.0.1:1/x'
	refused 4 'redirects to an address that has a user name' $file
	HF_ENDPOINT=$HUB
	faults '* /cdn/* location=http://example.org/x'
	refused 6 'redirects to an address that is not encrypted' $file
	HF_ENDPOINT=http://example.org
	refused 2 'is not encrypted' $file
}

@test "certificates are checked; hosts can be mapped" {
	HF_ENDPOINT=$HUBS
	refused 6 'the certificate of the server is not trusted' --retries 1 $file
	CURL_CA_BUNDLE=$HUB_CA pull -o got $file
	quiet
	cmp got weights
	server_stop
	rm -r cache
	server_start --cdn-host cdn.invalid
	HF_ENDPOINT=$HUB
	pull --retries 1 $file
	said 6 ''
	pull -f --resolve-map "cdn.invalid=${CDN#http://}" -o got $file
	quiet
	cmp got weights
}

@test "names that would leave the folder are left out" {
	for name in '../x' '/x' 'a/../../x' 'C:%5Cx' 'a%5Cb' '.git/config' 'a/%01b' "$(printf 'n%.0s' {1..300})"; do
		printf '[{"type":"file","path":%s,"size":1,"oid":"%040d"}]' \
			"$(printf '"%b"' "${name//%/\\\\x}" | sed 's/\\/\\u005c/g; s/\x01/\\u0001/g')" 0 >hub/list
		faults 'GET /api/models/org/m/tree/* body=list'
		pull --path hf://org/m
		said 3 'has no file to fetch' || fail "$name" || return
	done
	nothing_named
}

@test "lists that are not lists" {
	for list in '{}' '[1]' '[{"type":"file"}]' '[{"type":"file","path":"a","size":-1,"oid":"b"}]' \
		'[{"type":"file","path":"a","size":1,"oid":"zz"}]' '[' \
		'[{"type":"file","path":"a","size":1,"oid":"0123456789012345678901234567890123456789"},{"type":"file","path":"a/b","size":1,"oid":"0123456789012345678901234567890123456789"}]'; do
		printf '%s' "$list" >hub/list
		faults 'GET /api/models/org/m/tree/* body=list'
		refused 4 "the hub's list of files" hf://org/m || fail "$list" || return
	done
	faults 'HEAD /org/m/resolve/* header=X-Repo-Commit:x'
	refused 6 'does not answer as a hub' $file
}

# ---- web addresses ----

@test "CHECK-070 web addresses: cached by ETag and digest" {
	mkdir -p hub/files/a
	cp weights hub/files/a/f.bin
	url=$HUB/files/a/f.bin
	pull --path "$url"
	quiet
	[ "$(cat "$out")" = "$PWD/apr/blobs/sha256/$sha256" ]
	cmp "$(cat "$out")" weights
	before=$(served '^/files' | cut -d ' ' -f 2)
	pull --path "$url"
	quiet
	[ "$(served '^/files' | cut -d ' ' -f 2)" = "$before" ]
	pull --offline --path "$url"
	quiet
	# Known by its digest, from anywhere.
	pull --sha256 "$sha256" --path https://example.org/any
	quiet
	pull --sha256 "${sha256//[0-9]/0}" --path "$url"
	said 4 'arrived with the SHA-256'
	echo new >hub/files/a/f.bin
	pull -o got "$url"
	quiet
	grep -qx new got
	pull --path "$HUB/files/a/none"
	said 3 'does not exist on the server (404)'
	no_part
}

@test "-o without the cache: folder, name, existing files" {
	mkdir D
	pull --no-cache -o D $file
	quiet
	cmp D/model.safetensors weights
	pull --no-cache -o D $file
	said 1 'exists'
	pull --no-cache -f -o E/F $file
	[ "$status" -ne 0 ]
	pull --no-cache -o G $file
	quiet
	cmp G weights
	[ ! -e cache ]
	pull -o - hf://org/m/sub/dir/x.txt
	quiet
	grep -qx hello "$out"
	pull -o G $file
	said 2 ''
	! ls -A | grep incomplete
}

@test "wrong usage" {
	for line in '' 'x://y' 'hf://a' 'hf://datasets/a/b' 'hf://a/b@' 'hf://a/b/../c' 'hf://a--b/c' \
		'--sha256 12 hf://a/b' '--only x -o y hf://a/b' 'https://u:p@h/' 'https://h h/' 'https://h:0/' \
		'http://example.org/m' '--resolve-map x hf://a/b' 'oci://x' 's3://a/b' 'hf://a/b:Q4/x'; do
		# shellcheck disable=SC2086
		refused 2 '' $line || fail "$line" || return
		! grep -q 'u:p' "$err"
	done
	nothing_named
}
