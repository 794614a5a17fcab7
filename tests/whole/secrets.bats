# Secrets: not in core files, not in other processes' sight, not in arguments or messages.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	identity=AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX
	owner=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
	echo $identity >me.key
	echo 'open, sesame' >word
	apr-keygen -W -o key >key.id
	mkfifo in
}

# asleep COMMAND ARG…: the tool in it has read its secrets and waits for a model; $pid. What may be seen
# of it is in the files limits, args and, if that may be seen, environment.
asleep() {
	"$@" <in >"$out" 2>"$err" 3>&- &
	pid=$!
	exec 9>in
	local i
	for ((i = 0; i < 250; i++)); do
		[[ $(readlink "/proc/$pid/exe") != */apr-* ]] ||
			! grep -q '^State:.S' "/proc/$pid/status" || break
		sleep 0.02
	done
	cat "/proc/$pid/limits" >limits
	tr '\0' ' ' <"/proc/$pid/cmdline" >args
	stat -c %u "/proc/$pid/mem" >whose
}

awake() {
	exec 9>&-
	wait "$pid" || true
}

@test "no core file once a secret is there, and nothing in arguments or messages" {
	local tool
	apr-encrypt --passphrase-file word -o sealed.aprs "$model"
	for tool in 'apr-decrypt -i me.key' 'apr-decrypt --passphrase-file word' \
		"apr-encrypt -r $owner" 'apr-encrypt --passphrase-file word' 'apr-sign key' \
		'apr-open -i me.key'; do
		# shellcheck disable=SC2086
		asleep $tool
		grep -Eq '^Max core file size +0 +0 ' limits || fail "$tool: $(grep core limits)"
		run ! grep -qE 'sesame|GFPYY' args
		awake
		run ! grep -qE 'sesame|GFPYY' "$err"
	done
}

@test "as an ordinary user: no other process may look in, and its output gets its name" {
	[ "$(id -u)" -eq 0 ] || skip 'needs to become somebody else'
	[ -n "$(type -P setpriv)" ] || skip 'setpriv is not there'
	run setpriv --reuid 65534 --clear-groups test -x "$(type -P apr-decrypt)"
	[ "$status" -eq 0 ] || skip 'the tools cannot be reached by others'
	chmod 711 . && mkdir mine && chown 65534 mine && chmod 644 me.key key word
	as_nobody() { setpriv --reuid 65534 --clear-groups "$@"; }
	apr-unpack "$model" >plain.aprs
	as_nobody apr-encrypt -r $owner -o mine/sealed.aprs plain.aprs
	as_nobody apr-decrypt -i me.key -o mine/back.aprs mine/sealed.aprs
	cmp mine/back.aprs plain.aprs
	# A process that is not dumpable belongs to root, and only root may read its memory.
	asleep setpriv --reuid 65534 --clear-groups "$(type -P apr-decrypt)" -i me.key
	[ "$(cat whose)" = 0 ]
	awake
	asleep setpriv --reuid 65534 --clear-groups "$(type -P apr-stats)"
	[ "$(cat whose)" = 65534 ]
	awake
}

@test "a passphrase's variable is gone before anything else runs" {
	# The reader of a FILE is a child, so it shows what a child inherits.
	mkdir bin
	cp "$(type -P apr-encrypt)" bin/
	printf '#!/bin/sh\nenv >"%s/seen"\nexec "%s" "$@"\n' "$PWD" "$(type -P apr-unpack)" >bin/apr-unpack
	chmod +x bin/apr-unpack
	WORD='open, sesame' OTHER=seen try bin/apr-encrypt --passphrase-env WORD "$model"
	quiet
	grep -q '^OTHER=seen' seen
	run ! grep -q sesame seen
}

@test "messages about secrets do not repeat them" {
	local file
	echo "${identity%X}Q" >bad.key
	echo "$identity $identity" >two.key
	for file in bad.key two.key word; do
		for tool in apr-decrypt apr-open; do
			try $tool -i $file </dev/null
			said 4 'not an identity'
			run ! grep -qE 'GFPYY|sesame' "$err"
		done
	done
	try apr-encrypt -r "$identity" </dev/null
	said 2
	run ! grep -q GFPYY "$err"
	try apr-seal -r "$identity" </dev/null
	said 2
	run ! grep -q GFPYY "$err"
}
