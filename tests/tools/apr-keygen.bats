# apr-keygen: a new pair of signing keys
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# The memory that minisign uses to encrypt or decrypt a key. It is slow, so few tests do it.
need_gibibyte() {
	[ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -gt 1500000 ] ||
		skip 'less than 1.5 GB of memory is free, scrypt takes 1 GiB'
}

need_minisign() {
	[ -n "$(type -P minisign)" ] || skip 'minisign is not installed'
}

# The bytes of a key file.
decoded() {
	sed -n 2p "$1" | base64 -d
}

@test "apr-keygen passes the exam" {
	exam maker apr-keygen
}

@test "a pair: two lines each, one id, and only the owner reads the secret" {
	umask 022
	try apr-keygen -W -o key
	quiet
	grep -Eqx '[0-9A-F]{16}' "$out"
	[ "$(stat -c %a key)" = 600 ]
	[ "$(stat -c %a key.pub)" = 644 ]
	[ "$(wc -l <key)" -eq 2 ]
	[ "$(wc -l <key.pub)" -eq 2 ]
	[[ $(head -n 1 key) == 'untrusted comment: '* ]]
	[[ $(head -n 1 key.pub) == "untrusted comment: "*"$(cat "$out")"* ]]
	[ "$(decoded key | wc -c)" -eq 158 ]
	[ "$(decoded key.pub | wc -c)" -eq 42 ]
	[ "$(decoded key | head -c 6 | tr '\0' .)" = Ed..B2 ]
	# The id, last byte first; in both files.
	[ "$(decoded key.pub | tail -c +3 | od -An -tx8 -N8 --endian=little | tr -d ' ' | tr a-f A-F)" = "$(cat "$out")" ]
	cmp <(decoded key | tail -c +55 | head -c 8) <(decoded key.pub | tail -c +3 | head -c 8)
	cmp <(decoded key | tail -c +95 | head -c 32) <(decoded key.pub | tail -c 32)
}

@test "no two pairs are alike" {
	apr-keygen -W -o a >a.id
	apr-keygen -W -o b >b.id
	run ! cmp -s a.id b.id
	run ! cmp -s <(decoded a) <(decoded b)
}

@test "an existing file is replaced only on demand" {
	local f
	for f in key key.pub; do
		rm -f key key.pub
		echo mine >$f
		try apr-keygen -W -o key
		said 2 "$f: exists already"
		grep -qF 'hint: -f' "$err"
		[ "$(cat $f)" = mine ]
		[ "$(echo key*)" = $f ]
		try apr-keygen -W -f -o key
		quiet
		[ "$(decoded key | wc -c)" -eq 158 ]
		[ "$(decoded key.pub | wc -c)" -eq 42 ]
		[ "$(stat -c %a key)" = 600 ]
	done
}

@test "a pair that cannot be written leaves the old one whole" {
	apr-keygen -W -o key >/dev/null
	cp key old
	cp key.pub old.pub
	echo secret >pass
	grep -q __asan_init "$APR_BIN/apr-keygen" || {
		limit=300000 # scrypt wants a GiB
		try apr-keygen --passphrase-file pass -f -o key
		said 1 scrypt
		cmp key old
		cmp key.pub old.pub
	}
	rm key.pub
	mkdir key.pub
	try apr-keygen -W -f -o key
	said 2 'key.pub: is a directory'
	cmp key old
}

@test "a name is needed, and a folder that is there" {
	try apr-keygen -W
	said 2 '-o NAME is missing'
	try apr-keygen -W -o -
	said 2
	try apr-keygen -W -o nowhere/key
	said 3
	mkdir folder
	try apr-keygen -W -f -o folder
	[ "$status" -ne 0 ]
	[ -z "$(find . -name '*.pub')" ] || fail "half a pair: $(ls)"
	try apr-keygen -W -o "$(printf '%05000d' 0)"
	said 2 'the name is too long'
}

@test "a passphrase has one source, and not standard input" {
	local fd
	echo secret >pass
	: >empty
	export SECRET=secret
	try apr-keygen -W --passphrase-file pass -o key
	said 2 '--no-passphrase excludes a passphrase'
	try apr-keygen --passphrase-env SECRET --passphrase-file pass -o key
	said 2 'the passphrase has more than one source'
	try apr-keygen --passphrase-env SECRET --passphrase-fd 3 -o key 3<pass
	said 2 'the passphrase has more than one source'
	for fd in 0 1 2 -1 x; do
		try apr-keygen --passphrase-fd $fd -o key <pass
		said 2 '--passphrase-fd needs a number'
	done
	try apr-keygen --passphrase-file - -o key <pass
	said 2 'is standard input, which cannot carry a passphrase'
	try apr-keygen --passphrase-file /dev/stdin -o key <pass
	said 2 'is standard input, which cannot carry a passphrase'
	try bash -c 'apr-keygen --passphrase-fd 5 -o key 5<&0' <pass
	said 2 'is standard input, which cannot carry a passphrase'
	try apr-keygen --passphrase-fd 77 -o key
	said 2 'descriptor 77: is not open'
	try apr-keygen --passphrase-env NO_SUCH -o key
	said 2 'NO_SUCH: is not set in the environment'
	try apr-keygen --passphrase-file missing -o key
	said 3 'missing: cannot be opened'
	try apr-keygen --passphrase-file empty -o key
	said 2
	try env SECRET= apr-keygen --passphrase-env SECRET -o key
	said 2
	try setsid -w apr-keygen -o key <pass
	said 2 'needs a passphrase, but there is no terminal'
	grep -qF 'hint: --passphrase-file' "$err"
	[ ! -e key ]
	[ ! -e key.pub ]
}

# bats test_tags=repeats
@test "a pair of ours under a passphrase signs here and in minisign" {
	need_gibibyte
	printf 'correct horse\n' >pass
	try apr-keygen --passphrase-file pass -o key
	quiet
	[ "$(stat -c %a key)" = 600 ]
	[ "$(decoded key | head -c 6)" = EdScB2 ]
	# Neither half of the secret lies there in the open.
	run ! grep -qF "$(decoded key.pub | tail -c 32 | base64 | head -c 30)" <(decoded key | base64)
	pipe "apr-sign --passphrase-file pass key '$model' | apr-verify -q key.pub"
	need_minisign
	echo text >file
	minisign -S -s key -m file <pass
	minisign -V -p key.pub -m file
}

# bats test_tags=repeats
@test "a pair of ours without passphrase signs in minisign" {
	need_minisign
	apr-keygen -W -o key
	echo text >file
	minisign -S -s key -m file </dev/null
	minisign -V -p key.pub -m file
	echo more >>file
	run ! minisign -V -p key.pub -m file
}
