# server: the test server for .bats files. Loaded by "load server" (or "load ../net/server").
#
#   server_start [OPTION…]  starts it with the folder $hub; sets $HUB, $CDN, $HUBS, $CDNS, the
#                           addresses of its ports ("http://127.0.0.1:N"; https for the last
#                           two), and $HUB_CA, the file of its CA
#   server_stop             ends it; the end of the test ends it too
#   repo ORG/REPO[@REV] PATH <CONTENT   puts a file into a repository (REV: main)
#   faults [RULE…]          sets the rules (tests/net/faults.c has them); none: no faults
#   server_log              prints the log, after the server has ended all answers
#   served [PATTERN]        prints "REQUESTS BYTES" of the paths that match, after that too
#   server_stalled N        waits until N answers have stalled in all
#
# The server is a child of the test's shell, which the kernel kills when that shell ends.
# shellcheck shell=bash disable=SC2034
APR_NET=${APR_NET:-$root/build/release/tests/net}
hub=$BATS_TEST_TMPDIR/hub

server_start() {
	local ports
	mkdir -p "$hub"
	[ -x "$APR_NET/server" ] || fail "no server in $APR_NET: run make net" || return
	exec {server_out}< <(exec "$APR_NET/server" "$@" "$hub" 3>&-)
	server_pid=$!
	read -r -a ports <&"$server_out" || fail "the server did not start" || return
	server_port=${ports[0]}
	HUB=http://127.0.0.1:${ports[0]} CDN=http://127.0.0.1:${ports[1]}
	HUBS=https://127.0.0.1:${ports[2]} CDNS=https://127.0.0.1:${ports[3]}
	HUB_CA=$hub/ca.pem
}

server_stop() {
	kill -KILL "$server_pid"
	exec {server_out}<&-
	while kill -0 "$server_pid" 2>/dev/null; do
		wait "$server_pid" 2>/dev/null || break
	done
}

repo() {
	local name=${1%@*} rev=main
	[[ $1 != *@* ]] || rev=${1#*@}
	mkdir -p "$(dirname "$hub/models/$name/${rev//\//%2F}/$2")"
	cat >"$hub/models/$name/${rev//\//%2F}/$2.new"
	mv "$hub/models/$name/${rev//\//%2F}/$2.new" "$hub/models/$name/${rev//\//%2F}/$2"
}

faults_set=0
faults() {
	faults_set=$((faults_set + 1))
	# The first line differs, so that uses are counted anew.
	printf '%s\n' "# $faults_set" "$@" >"$hub/faults.new"
	mv "$hub/faults.new" "$hub/faults"
}

# Asks the server itself; prints the body.
server_ask() {
	local line
	exec {server_ask}<>"/dev/tcp/127.0.0.1/$server_port"
	printf 'GET %s HTTP/1.1\r\n\r\n' "$1" >&"$server_ask"
	while IFS= read -r line <&"$server_ask" && [ "$line" != $'\r' ]; do
		:
	done
	cat <&"$server_ask"
	exec {server_ask}<&-
}

server_log() {
	server_ask /_idle >/dev/null
	cat "$hub/log"
}

served() {
	server_ask /_idle | awk -v pattern="${1:-.}" '
		$3 ~ pattern { requests += $1; bytes += $2 }
		END { printf "%.0f %.0f\n", requests, bytes }'
}

server_stalled() {
	server_ask "/_stalled/$1" >/dev/null
}
