# APR version 1 files that are signed or encrypted (apr-pack -t apr1 --sign-key, -r,
# --passphrase-file): who they open for, and that nothing else does. The bytes of the
# layouts are in tests/unit/t_apr1_seal.c.
load ../helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	export APR_LOG_LEVEL=error
	vectors apr1_good good
	apr-keygen -W -o key 2>/dev/null
	apr-keygen -W -o other 2>/dev/null
	age-keygen -o id 2>/dev/null
	age-keygen -o id2 2>/dev/null
	age-keygen -o id3 2>/dev/null
	echo 'correct horse' >pass
	echo 'another horse' >wrong
	to=$(age-keygen -y id) to2=$(age-keygen -y id2)
	f=good/apr1_kmeans
	apr-pack -t apr1 --sign-key key -o signed $f
	apr-pack -t apr1 -z zstd --sign-key key -r "$to" -o one $f
	apr-pack -t apr1 -z lz4 --sign-key key -r "$to" -r "$to2" -o two $f
	apr-pack -t apr1 --passphrase-file pass -o word $f
	apr-unpack $f >want
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	made=$BATS_TEST_TMPDIR/made
	set +T # each command of a loop would be traced
}

same() {
	apr-unpack "$@" | apr-sum | cmp - <(apr-sum want)
}

@test "apr1: a signed file holds for its key, and for no other" {
	same --trusted-key key.pub signed
	same signed
	APR_LOG_LEVEL=warning try apr-unpack signed
	grep -qF 'but its key is in the same file' "$err"
	try apr-unpack --trusted-key other.pub signed
	said 1 'SignatureInvalid: it is signed by a key other than the trusted one'
	try apr-unpack --trusted-key key.pub good/apr1_kmeans
	said 1 'SignatureInvalid: it is not signed'
	try apr-unpack --trusted-key key.pub "$model"
	said 5 'keys and passphrases need a file of format apr1'
	apr-header signed | grep -Eqx 'flags +SIGNED'
	# Ed25519 over all bytes before the signature, checked by another program: the key it has
	[ "$(tail -c 36 signed | head -c 32 | od -An -tx1 | tr -d ' \n')" = \
		"$(apr-header signed | sed -n 's/^signing_key *//p')" ]
	# The payload is unchanged, byte for byte.
	tail -c +80 signed | head -c -100 | cmp - <(tail -c +80 good/apr1_kmeans | head -c -4)
}

@test "apr1: an encrypted file opens for whom it is, and for nobody else" {
	same -i id --trusted-key key.pub one
	same -i id two
	same -i id2 two
	same -i id3 -i id2 two
	same --passphrase-file pass word
	PASS='correct horse' same --passphrase-env PASS word
	try apr-unpack one && said 1 'DecryptionFailed: its payload is encrypted'
	try apr-unpack -i id2 one && said 1 'DecryptionFailed: wrong key or passphrase'
	try apr-unpack -i id3 two && said 1 'DecryptionFailed: wrong key or passphrase'
	try apr-unpack --passphrase-file wrong word && said 1 'DecryptionFailed: wrong key or passphrase'
	try apr-unpack --passphrase-file pass one && said 1 'DecryptionFailed'
	try apr-unpack -i no-such-file one && said 3 'no-such-file'
	[ ! -s "$out" ]
}

@test "apr1: what is encrypted is described without a key, and is never the same twice" {
	apr-header two >"$out"
	grep -Eqx 'flags +ENCRYPTED SIGNED' "$out"
	grep -Eqx 'encrypted_for +recipients' "$out"
	grep -Eqx 'model_type +KMEANS' "$out"
	grep -Eqx 'tensors +0' "$out"
	# never the same twice: keys, salts and nonces are by chance
	run ! cmp -s <(apr-pack -t apr1 --passphrase-file pass good/apr1_kmeans) word
}

@test "apr1: an encrypted file does not show what is inside by its metadata" {
	tamper mother | apr-sign key >mother.aprs 2>/dev/null
	APR_LOG_LEVEL=info try apr-pack -t apr1 --passphrase-file pass -o "$made" mother.aprs
	[ "$status" -eq 0 ]
	grep -qF 'side files left out: 3' "$err"
	grep -qF 'signatures left out: 1' "$err"
	# No digest of a tensor, and no byte of a side file, in hexadecimal digits or base64.
	run ! grep -aqE 'README|TWIN|text/markdown|apr\.sign|apr\.prov' "$made"
	run ! grep -aqF "$(printf 'tokenizer')" "$made"
	apr-unpack --passphrase-file pass "$made" | unseal list | grep '^tensor' |
		diff - <(unseal list <mother.aprs | grep '^tensor')
}

@test "apr1: what is going to be encrypted waits in memory, not in a file" {
	local pid n=0
	cd "$BATS_TEST_TMPDIR"
	mkmodel <<<'tensor a I8 40000000 ramp' | apr-unpack - >large
	mkfifo pipe
	mkdir spools
	TMPDIR=$PWD/spools apr-pack -t apr1 -z none --passphrase-file "$BATS_FILE_TMPDIR/pass" -o made <pipe &
	pid=$!
	exec 7>pipe
	head -c 30000000 large >&7
	# The pipe holds little: nearly all of it has been taken.
	[ -r /proc/$pid/fd/0 ] || skip 'descriptors of the process are hidden'
	for n in /proc/$pid/fd/*; do
		[[ $(readlink "$n") != "$PWD"/spools/* ]] || fail "$(readlink "$n")"
	done
	tail -c +30000001 large >&7
	exec 7>&-
	wait $pid
	apr-unpack --passphrase-file "$BATS_FILE_TMPDIR/pass" made | cmp - <(apr-unpack made \
		--passphrase-file "$BATS_FILE_TMPDIR/pass")
	unseal list <large | diff - <(apr-unpack --passphrase-file "$BATS_FILE_TMPDIR/pass" made |
		unseal list)
}

@test "apr1: a ciphertext made for several passphrases tells nobody which" {
	local n
	cd "$BATS_TEST_TMPDIR"
	for n in one two three wrong; do
		echo $n >$n
	done
	# A record whose length is garbage for all but one of them.
	mkmodel <<<'tensor a I8 64 ramp' | apr-unpack - | apr-pack -t apr1 -z zstd --passphrase-file one -o plain1
	multikey apr1 one two three <plain1 >all
	for n in two three wrong; do
		try apr-unpack --passphrase-file $n all
		said 1 'all: DecryptionFailed: wrong key or passphrase, or it was changed (E005)'
		[ ! -s "$out" ]
	done
}

@test "apr1: filters refuse what is encrypted, and say what opens it" {
	try apr-sum one
	said 1 'DecryptionFailed: its payload is encrypted'
	grep -qF 'hint: decrypt it with --identity or a passphrase' "$err"
	pipe "apr-unpack -i id one | apr-sum | cmp - <(apr-sum want)"
}

@test "apr1: sign and seal in one file; recipients or a passphrase, not both" {
	try apr-pack -t apr1 -r "$(age-keygen -y id)" --passphrase-file pass good/apr1_kmeans
	said 2 'use recipients or a passphrase, not both'
	try apr-pack -t apr1 -r age1nobody good/apr1_kmeans
	said 2
	try apr-pack -t gguf --sign-key key "$model"
	said 2 'need -t apr1'
	try apr-pack -t apr1 --sign-key no-such-key good/apr1_kmeans
	said 3
	apr-pack -t apr1 --trueno-native --streaming --sign-key key -r "$(age-keygen -y id)" -o "$made" "$model" 2>/dev/null
	apr-unpack -i id --trusted-key key.pub "$made" | apr-pack -t gguf | cmp - "$model"
}

@test "apr1: a licence block is bound to the signature by its digest" {
	apr-pack -t apr1 --sign-key key -o "$made" good/apr1_licence_terms
	apr-unpack --trusted-key key.pub "$made" | apr-sum | cmp - <(apr-unpack good/apr1_licence_terms | apr-sum)
	apr-header "$made" | grep -Eqx 'flags +SIGNED LICENSED'
	grep -qaF apr_licence_sha256 "$made"
	# the last byte of its terms, behind the signature, with a checksum that holds
	apr1_flip -5 <"$made" >"$made.x"
	try apr-unpack --trusted-key key.pub "$made.x"
	said 1 'SignatureInvalid: the licence block is not the one'
}

@test "apr1: a licence block that nobody signed is none under a trusted key" {
	# Its header is marked LICENSED for a licence in the metadata; a block fits too.
	local f
	for f in good/*; do
		apr-header "$f" 2>/dev/null | grep -Eqx 'flags +LICENSED' && [ ! -e found ] &&
			! apr-header "$f" | grep -Eq '^licence +yes' && cp "$f" found
	done
	apr-pack -t apr1 --sign-key key -o "$made" found
	apr-unpack --trusted-key key.pub "$made" >/dev/null
	apr1_flip block <"$made" >"$made.x"
	try apr-unpack --trusted-key key.pub "$made.x"
	said 1 'SignatureInvalid: its licence block is not covered by its signature'
	[ ! -s "$out" ]
}

@test "apr1: the signature is checked before a byte of the metadata is parsed" {
	apr1_flip 32 <signed >"$made"
	try apr-unpack --trusted-key key.pub "$made"
	said 1 'SignatureInvalid: its signature does not hold'
}

# After any change with a valid checksum, nothing is output.
no_byte_passes() {
	local n size file=$1
	shift
	size=$(wc -c <"$file")
	for ((n = 0; n < size - 4; n += 2)); do
		apr1_flip $n <"$file" >"$made"
		try apr-unpack "$@" "$made"
		[ "$status" -eq 1 ] || [ "$status" -eq 4 ] || fail "byte $n: exit status $status" || return
		[ ! -s "$out" ] || fail "byte $n: something came out" || return
	done
}

@test "apr1: no changed byte passes a trusted signature" {
	no_byte_passes signed --trusted-key key.pub
}

@test "apr1: no changed byte passes a trusted signature over what is encrypted" {
	no_byte_passes two --trusted-key key.pub -i id2
}
