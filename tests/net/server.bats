#!/usr/bin/env bats
# The test server itself, as curl sees it.

setup() {
	load ../helper
	load server
	cd "$BATS_TEST_TMPDIR" || return
	repo org/m config.json <<<'{"a":1}'
	head -c 100000 /dev/zero | tr '\0' x >weights
	repo org/m a/model.safetensors <weights
	server_start --page 2
}

get() {
	curl -sS --noproxy '*' --max-time 60 "$@"
}

# status WANTED CURL-ARGUMENT…: the status of an answer.
status() {
	local got
	got=$(get -o body -w '%{http_code}' "${@:2}") || true
	[ "$got" = "$1" ] || fail "status $got, not $1: ${*:2}"
}

@test "server: small files come at once, LFS files by a redirect that is signed" {
	get -I "$HUB/org/m/resolve/main/config.json" >head
	grep -qi '^x-repo-commit: [0-9a-f]\{40\}' head
	# What "git hash-object" prints for this content.
	grep -qi '^etag: "0187f3b09d66cef7911083ad49f890f5a6589589"' head
	get -I "$HUB/org/m/resolve/main/a/model.safetensors" >head
	grep -q '^HTTP/1.1 302' head
	grep -qi "^x-linked-etag: \"$(sha256sum <weights | cut -c 1-64)\"" head
	grep -qi '^x-linked-size: 100000' head
	get -L -o got "$HUB/org/m/resolve/main/a/model.safetensors" -H 'Authorization: Bearer hf_reader'
	cmp got weights
	status 403 "$CDN/cdn/org/m/main/a/model.safetensors"
	get "$HUB/org/m/raw/main/a/model.safetensors" | grep -qx 'size 100000'
	[ "$(served '^/cdn/.*')" = '2 100012' ] || fail "$(served '^/cdn/.*')"
}

@test "server: TLS by a CA of its own" {
	get --cacert "$HUB_CA" -L -o got "$HUBS/org/m/resolve/main/a/model.safetensors"
	cmp got weights
	run ! get "$HUBS/org/m/resolve/main/config.json"
}

@test "server: ranges, If-Range, and what faults do to them" {
	url="$CDN/cdn/org/m/main/a/model.safetensors?sig=secret"
	etag=$(sha256sum <weights | cut -c 1-64)
	status 206 -r 10-19 "$url"
	[ "$(cat body)" = xxxxxxxxxx ]
	status 206 -r 10-19 -H "If-Range: \"$etag\"" "$url"
	status 200 -r 10-19 -H 'If-Range: "other"' "$url"
	status 416 -r 100000- "$url"
	faults 'GET /cdn/* noranges'
	status 200 -r 10-19 "$url"
	faults 'GET /cdn/* needrange'
	status 400 "$url"
	faults 'GET /cdn/* flip=5 times=1'
	status 200 "$url"
	run ! cmp -s body weights
	status 200 "$url"
	cmp body weights
	faults 'GET /cdn/* short=1000' 'GET /cdn/* skip=1 times=1 cut=5000'
	run get -o body "$url"
	[ "$status" -eq 18 ] && [ "$(wc -c <body)" -eq 1000 ]
	faults 'GET /cdn/* status=503 header=Retry-After:%207 times=1' 'GET /cdn/* chunked'
	status 503 "$url"
	get -D head -o body "$url"
	cmp body weights
	grep -qi '^transfer-encoding: chunked' head
}

@test "server: listings have pages, refusals have codes" {
	repo org/m b.txt <<<b
	get -D head "$HUB/api/models/org/m/tree/main?recursive=true" >one
	next=$(sed -n 's/^Link: <\(.*\)>; rel="next"\r$/\1/p' head)
	get -D head "$next" >two
	run ! grep -q '^Link' head
	[ "$(cat one two | grep -o '"path":"[^"]*"' | tr -d '\n')" = \
		'"path":"a""path":"a/model.safetensors""path":"b.txt""path":"config.json"' ] || fail "$(cat one two)"
	touch "$hub/models/org/m/.gated"
	status 401 "$HUB/org/m/resolve/main/b.txt"
	status 403 -H 'Authorization: Bearer hf_outsider' "$HUB/org/m/resolve/main/b.txt"
	status 200 -H 'Authorization: Bearer hf_reader' "$HUB/org/m/resolve/main/b.txt"
	status 401 "$HUB/org/none/resolve/main/b.txt"
	status 404 -H 'Authorization: Bearer hf_reader' -D head "$HUB/org/m/resolve/main/none"
	grep -qi '^x-error-code: EntryNotFound' head
	status 404 -H 'Authorization: Bearer hf_reader' -D head "$HUB/org/m/resolve/v9/b.txt"
	grep -qi '^x-error-code: RevisionNotFound' head
	server_log | grep -qx $'\tAuthorization: Bearer hf_outsider'
}

@test "server: a registry asks for a token; a stall ends with its client" {
	mkdir -p "$hub/v2/lib/m/manifests" "$hub/v2/lib/m/blobs"
	echo '{"mediaType":"application/x.test"}' >"$hub/v2/lib/m/manifests/latest"
	touch "$hub/v2/lib/m/.token"
	status 401 -D head "$HUB/v2/lib/m/manifests/latest"
	grep -q "^WWW-Authenticate: Bearer realm=\"$HUB/token\",service=\"test\",scope=\"repository:lib/m:pull\"" head
	token=$(get "$HUB/token?service=test&scope=repository:lib/m:pull" | sed 's/.*"token":"\([^"]*\).*/\1/')
	status 200 -H "Authorization: Bearer $token" -D head "$HUB/v2/lib/m/manifests/latest"
	grep -q '^Content-Type: application/x.test' head
	mkdir "$hub/files"
	cp weights "$hub/files/w"
	faults 'GET /files/w stall=500'
	curl -sS --noproxy '*' -o body "$HUB/files/w" 3>&- &
	server_stalled 1
	kill $!
	[ "$(served '/files/w')" = '1 500' ]
}
