# apr-sign: stream -> stream, with a signature over its content
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	apr-keygen -W -o key >key.id
}

need_minisign() {
	[ -n "$(type -P minisign)" ] || skip 'minisign is not installed'
}

@test "apr-sign passes the exam" {
	exam filter apr-sign "$PWD/key"
}

@test "signed once, it verifies after GGUF, APR2 and GGUF again" {
	pipe "apr-unpack '$model' | apr-sign key | apr-pack -t gguf -o a.gguf" 2>"$err"
	grep -qx "apr-sign: signed by $(cat key.id)" "$err"
	apr-header a.gguf | grep -Eqx 'signatures +1 \(not verified\)'
	pipe 'apr-unpack a.gguf | apr-pack >b.apr'
	pipe 'apr-unpack b.apr | apr-pack -t gguf -o c.gguf'
	for file in a.gguf b.apr c.gguf; do
		try apr-verify -q key.pub $file
		quiet
		try_pipe "cat $file | apr-unpack | apr-verify -q key.pub"
		quiet
	done
	cmp a.gguf c.gguf
	grep -aqF apr.sign.0 c.gguf
	# Without the signature it is the file that it was.
	apr-pack -t gguf --plain c.gguf | cmp - "$model"
}

@test "everything that can be signed is, through both containers" {
	pipe 'tamper mother | apr-sign key' >mother.aprs
	apr-verify -q key.pub mother.aprs
	apr-pack -t gguf -o a.gguf mother.aprs
	apr-pack -o b.apr a.gguf
	pipe 'apr-unpack b.apr | apr-pack -t gguf -o c.gguf'
	apr-verify -q key.pub a.gguf
	apr-verify -q key.pub b.apr
	apr-verify -q key.pub c.gguf
	cmp a.gguf c.gguf
}

@test "the same model and key give the same signature" {
	local j
	apr-sign -j 1 key "$model" >1.aprs
	for j in 2 7 64; do
		apr-sign -j $j key "$model" | cmp - 1.aprs
	done
	# From whatever container.
	apr-pack -o model.apr "$model"
	cmp <(apr-sign key model.apr | grep -ao '"root":"[0-9a-f]*"') \
		<(grep -ao '"root":"[0-9a-f]*"' 1.aprs)
}

@test "what was there goes on untouched, a second signature after the first" {
	apr-keygen -W -o other >other.id
	apr-unpack "$model" >model.aprs
	apr-sign key model.aprs >once.aprs
	apr-sign other once.aprs >twice.aprs
	cmp <(digests <model.aprs) <(digests <twice.aprs)
	apr-header twice.aprs | grep -Eqx 'signatures +2 \(not verified\)'
	[ "$(grep -ao '{"version":2,"key":"[0-9a-f]*"' twice.aprs | tr 'a-f' 'A-F' | cut -d '"' -f 6 | paste -sd ' ')" = \
		"$(cat key.id other.id | paste -sd ' ')" ]
	for k in key other; do
		try apr-verify -q $k.pub twice.aprs
		quiet
	done
	apr-pack -t gguf -o twice.gguf twice.aprs
	grep -aqF apr.sign.1 twice.gguf
	apr-pack -o twice.apr twice.gguf
	apr-verify -q other.pub twice.apr
	apr-verify -q key.pub twice.apr
}

@test "no tensors, no keys: nothing is a content too" {
	mkmodel </dev/null >none.gguf
	pipe "apr-sign key none.gguf | apr-pack -o none.apr"
	apr-verify -q key.pub none.apr
	mkmodel <<<'tensor a.weight F32 0x4 noise' >empty.gguf
	pipe "apr-sign key empty.gguf | apr-pack -t gguf -o signed.gguf"
	apr-verify -q key.pub signed.gguf
	# A signature of one is not valid for the other.
	run ! cmp -s <(apr-sign key none.gguf | grep -ao '"root":"[0-9a-f]*"') \
		<(apr-sign key empty.gguf | grep -ao '"root":"[0-9a-f]*"')
}

@test "a statement is signed, and shown by apr-verify" {
	apr-sign --name 'Größe "7B"' --model-version 1.2 --date 2026-11-22 \
		--comment 'for \ tests' key "$model" >said.aprs
	apr-verify -q --json key.pub said.aprs |
		grep -F '"name":"Größe \"7B\"","version":"1.2","date":"2026-11-22T00:00:00Z","comment":"for \\ tests"}'
	try apr-verify key.pub said.aprs
	grep -qxF 'apr-verify: the signer states: name "Größe "7B"", version "1.2", date "2026-11-22T00:00:00Z", comment "for \\ tests"' "$err"
	# Through every container.
	for t in gguf apr2 apr2-64 apr1 safetensors; do
		apr-pack -t $t -o made.$t said.aprs
		try apr-verify -q --expect-name 'Größe "7B"' key.pub made.$t
		quiet
	done
	# Without options there is no statement, and the clock is not read.
	apr-sign key "$model" | apr-verify -q --json key.pub - |
		grep -F '"name":null,"version":null,"date":null,"comment":null}'
	SOURCE_DATE_EPOCH=1795341600 apr-sign key "$model" | apr-verify -q --json key.pub - |
		grep -F '"date":"2026-11-22T10:00:00Z"'
	SOURCE_DATE_EPOCH=5 apr-sign --date 2026-11-22T10:00:00Z key "$model" |
		apr-verify -q --json key.pub - | grep -F '"date":"2026-11-22T10:00:00Z"'
	apr-sign --date now key "$model" | apr-verify -q --not-before "$(($(date +%s) - 600))" key.pub -
}

@test "a signature holds by the formula of RFC 8032, computed by another program" {
	local sig
	apr-sign --name x --comment '"\' key "$model" >said.aprs
	tamper sign_message key.pub <said.aprs >message
	sig=$(grep -ao '"signature":"[0-9a-f]*"' said.aprs | cut -d '"' -f 4)
	ed25519ph key.pub "$sig" <message
	# Of another message, or another signature, it does not.
	run ! ed25519ph key.pub "$sig" < <(cat message; echo)
	# The first digit changes: a fixed one could be the signature's own.
	[ "${sig:0:1}" = 0 ] && sig=1${sig:1} || sig=0${sig:1}
	run ! ed25519ph key.pub "$sig" <message
}

@test "a statement is short plain text" {
	try apr-sign --name "$(printf 'x%.0s' {1..129})" key "$model"
	said 2 '--name: has 129 bytes, at most 128 can be signed'
	try apr-sign --comment $'a\nb' key "$model"
	said 2 'comment: is not UTF-8 without control characters'
	try apr-sign --comment $'a\xc2\x9bb' key "$model"
	said 2 'comment: is not UTF-8 without control characters'
	try apr-sign --name $'\xff' key "$model"
	said 2 'name: is not UTF-8'
	try apr-sign --date tomorrow key "$model"
	said 2 '--date needs a day'
	try apr-sign --date 2026-02-29 key "$model"
	said 2 '--date needs a day'
	try env SOURCE_DATE_EPOCH=soon apr-sign key "$model"
	said 2 'SOURCE_DATE_EPOCH: is not a date'
}

@test "records that were there before are signed as they are, and that is told" {
	apr-sign key "$model" | apr-quant q8_0 2>/dev/null >q.aprs
	try apr-sign key q.aprs
	[ "$status" -eq 0 ]
	grep -qF 'records of earlier operations: they are signed, but were not verified' "$err"
}

@test "a signature that minisign made of the message's bytes signs no model" {
	need_minisign
	minisign -G -W -s theirs -p theirs.pub
	apr-sign --name x theirs "$model" >good.aprs
	tamper sign_message theirs.pub <good.aprs >message
	[ "$(head -c 15 message)" = 'apr signature 2' ]
	# -l: the file's bytes themselves; without it a hash of them.
	for legacy in -l ''; do
		minisign -S $legacy -s theirs -m message -x made.sig >/dev/null
		sed -n 2p made.sig | base64 -d | tail -c 64 >raw
		tamper sign_is raw <good.aprs >forged.aprs
		run ! cmp -s forged.aprs good.aprs
		try apr-verify -q theirs.pub forged.aprs
		said 1 'was itself changed'
	done
	apr-verify -q theirs.pub good.aprs
}

@test "a GGUF file on a pipe cannot be signed: exit 2 and what to do" {
	apr-sign key "$model" >signed.aprs
	try_pipe 'apr-pack -t gguf signed.aprs | cat >piped'
	said 2 'a signature is written last into a GGUF file'
	grep -qF 'hint: -o FILE, or --plain' "$err"
	[ ! -s piped ]
	apr-pack -t gguf --plain signed.aprs | cmp - "$model"
	# APR2 can: its signature stands at the end.
	pipe 'apr-pack signed.aprs | cat' >piped.apr
	apr-verify -q key.pub piped.apr
	apr-pack -t gguf signed.aprs >signed.gguf
	apr-verify -q key.pub signed.gguf
}

@test "a frame of unknown kind is passed on, and said to be unsigned" {
	pipe 'tamper mother | apr-sign key | tamper frame_added' >more.aprs
	try apr-sign key more.aprs
	[ "$status" -eq 0 ]
	grep -qF 'apr-sign: a frame of unknown kind note is passed on unsigned' "$err"
	grep -aqF 'not signed' "$out"
}

@test "KEY must be a secret key, and whole" {
	try apr-sign <"$model"
	said 2 'KEY is missing'
	try apr-sign missing "$model"
	said 3 'missing: cannot be opened'
	try apr-sign . "$model"
	said 1 '(E007)'
	try apr-sign key.pub "$model"
	said 4 'key.pub'
	grep -qF '(E001)' "$err"
	try apr-sign "$model" "$model"
	said 4 '(E001)'
	head -c 100 key >short
	try apr-sign short "$model"
	said 4 'short'
	{ head -n 1 key; sed -n 2p key | base64 -d | { head -c 100; head -c 1 | tr '\000-\377' '\001-\377\000'; cat; } | base64 -w 0; echo; } >damaged
	try apr-sign damaged "$model"
	said 4 'damaged'
	: >empty
	try apr-sign empty "$model"
	said 4 '(E001)'
}

@test "a passphrase from a file, a descriptor or a variable" {
	lockedkey 'open sesame' locked
	printf 'open sesame\nand more\n' >pass
	printf 'open sesame' >unended
	apr-sign --passphrase-file pass locked "$model" >want.aprs
	apr-verify -q locked.pub want.aprs
	apr-sign --passphrase-file unended locked "$model" | cmp - want.aprs
	apr-sign --passphrase-fd 3 locked "$model" 3<pass | cmp - want.aprs
	SECRET='open sesame' apr-sign --passphrase-env SECRET locked "$model" | cmp - want.aprs
	# The model comes on standard input all the same.
	pipe "apr-unpack '$model' | apr-sign --passphrase-file pass locked" | cmp - want.aprs
	pipe "apr-unpack '$model' | apr-sign --passphrase-fd 3 locked 3<pass" | cmp - want.aprs
	# Of a key that is not locked nothing is asked.
	apr-sign --passphrase-file pass key "$model" | cmp - <(apr-sign key "$model")
}

@test "a wrong passphrase: exit 1, E005, nothing is written" {
	lockedkey 'open sesame' locked
	for wrong in 'open sesam' 'open sesame ' x; do
		printf '%s\n' "$wrong" >pass
		try apr-sign --passphrase-file pass locked "$model"
		said 1 'locked: wrong passphrase, or a damaged key (E005)'
		[ ! -s "$out" ]
		try apr-sign --passphrase-file pass -o made locked "$model"
		said 1 '(E005)'
		[ ! -e made ]
		try_pipe "apr-sign --passphrase-file pass locked '$model' | apr-pack -o made"
		[ "$status" -eq 4 ]
		grep -qF '(E005)' "$err"
		[ ! -e made ]
	done
}

@test "a passphrase has one source, and not standard input" {
	lockedkey 'open sesame' locked
	echo 'open sesame' >pass
	export SECRET='open sesame'
	try apr-sign --passphrase-file pass --passphrase-env SECRET locked "$model"
	said 2 'the passphrase has more than one source'
	try apr-sign --passphrase-fd 0 locked "$model" <pass
	said 2 '--passphrase-fd needs a number from 3'
	try apr-sign --passphrase-file - locked "$model" <pass
	said 2 'is standard input, which cannot carry a passphrase'
	try apr-sign --passphrase-env NO_SUCH locked "$model"
	said 2 'NO_SUCH: is not set'
	try apr-sign --passphrase-fd 9 locked "$model"
	said 2 'descriptor 9: is not open'
	try apr-sign --passphrase-file missing locked "$model"
	said 3 'missing: cannot be opened'
	try setsid -w apr-sign locked "$model" <pass
	said 2 'needs a passphrase, but there is no terminal'
	# A passphrase must not be in argv.
	try apr-sign --passphrase 'open sesame' locked "$model"
	said 2 'unknown option --passphrase'
}

@test "a key pair of minisign works here" {
	need_minisign
	minisign -G -W -s theirs -p theirs.pub
	pipe "apr-sign theirs '$model' | apr-pack -o signed.apr"
	apr-verify -q theirs.pub signed.apr
	try apr-verify -q key.pub signed.apr
	said 1 'no signature is by a trusted key'
}

@test "a key pair of minisign under a passphrase works here" {
	need_minisign
	[ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -gt 1500000 ] ||
		skip 'less than 1.5 GB of memory is free, scrypt takes 1 GiB'
	printf 'correct horse\ncorrect horse\n' >pass
	minisign -G -s theirs -p theirs.pub <pass
	pipe "apr-sign --passphrase-file pass theirs '$model' | apr-verify -q theirs.pub"
}

@test "an output replaces neither the key nor the passphrase" {
	local of
	echo word >pass
	apr-unpack "$model" >m.aprs
	cp key before
	for of in key pass; do
		try apr-sign --passphrase-file pass -f -o $of key m.aprs
		said 2 "$of: is the input file itself"
	done
	cmp key before
	[ "$(cat pass)" = word ]
}
