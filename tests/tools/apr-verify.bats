# apr-verify: stream -> stream, if its signature holds
load ../helper

# A signed stream of the small model, one of a model that has one of everything,
# and what somebody made of the latter who can compute checksums.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	apr-keygen -W -o key >key.id
	apr-keygen -W -o other >other.id
	apr-sign key "$model" >signed.aprs 2>/dev/null
	pipe 'tamper mother | apr-sign key' >mother.aprs 2>/dev/null
	tamper tensor_bit_f16 <mother.aprs >bad.aprs
}

# SHA-256 of the key itself, by another program.
fingerprint() {
	sed -n 2p "$1" | base64 -d | tail -c 32 | sha256sum | cut -c 1-64
}

# A folder of trusted keys, and the public keys in it.
trust() {
	mkdir -p "$1/apr/trusted"
	cp "${@:2}" "$1/apr/trusted"
}

ends_in_done() {
	tail -c 100 "$1" | grep -aq DONE
}

@test "apr-verify passes the exam" {
	exam_in=$PWD/signed.aprs
	exam filter apr-verify "$PWD/key.pub"
}

@test "what holds goes on unchanged, and that is told" {
	try apr-verify key.pub <signed.aprs
	[ "$status" -eq 0 ]
	cmp "$out" signed.aprs
	grep -Eqx "apr-verify: <stdin>: signature by $(cat key.id) holds for everything, root [0-9a-f]{64}" "$err"
	grep -qxF "apr-verify: the key is $(sed -n 2p key.pub), SHA-256 $(fingerprint key.pub), from key.pub" "$err"
	try apr-verify key.pub signed.aprs
	[ "$status" -eq 0 ]
	cmp "$out" signed.aprs
	grep -qF 'apr-verify: signed.aprs: signature by' "$err"
	local j
	for j in 1 2 7 64; do
		apr-verify -j $j key.pub signed.aprs | cmp - signed.aprs
	done
	apr-pack -o signed.apr signed.aprs
	pipe 'apr-unpack signed.apr | apr-verify key.pub | apr-pack -t gguf -o back.gguf'
	apr-pack -t gguf --plain back.gguf | cmp - "$model"
}

@test "-q answers by its exit status alone" {
	try apr-verify -q key.pub signed.aprs
	quiet
	[ ! -s "$out" ]
	try apr-verify -q key.pub <signed.aprs
	quiet
	[ ! -s "$out" ]
	try_pipe 'cat signed.aprs | apr-verify -q key.pub'
	quiet
	[ ! -s "$out" ]
	try apr-verify -q other.pub signed.aprs
	said 1 '(E006)'
	[ ! -s "$out" ]
}

@test "-q --json answers with an object" {
	apr-verify -q --json key.pub signed.aprs >answer
	objects <answer
	grep -Eqx '\{"verified":true,"key":"'"$(cat key.id)"'","root":"[0-9a-f]{64}","scope":"all",.*\}' answer
	grep -qF "\"public_key\":\"$(sed -n 2p key.pub)\",\"fingerprint\":\"$(fingerprint key.pub)\",\"key_file\":\"key.pub\",\"file\":\"signed.aprs\"" answer
	apr-verify -q --json --weights key.pub signed.aprs | grep -q '"scope":"weights"'
	# Its root is that of the frame.
	grep -aqF "$(grep -o '"root":"[0-9a-f]*"' answer)" signed.aprs
	try apr-verify --json key.pub signed.aprs
	said 2 '--json needs -q'
	try apr-verify -q --json other.pub signed.aprs
	said 1 '(E006)'
	run ! grep -q '"verified":true' "$out"
}

@test "no signature, a strange key, nobody trusted: exit 1" {
	try apr-verify -q key.pub "$model"
	said 1 'the model is not signed (E006)'
	try apr-verify -q other.pub signed.aprs
	said 1 "no signature is by a trusted key; the first is by $(cat key.id) (E006)"
	try apr-verify -q signed.aprs
	said 1 "no signature is by a trusted key; the first is by $(cat key.id) (E006)"
	grep -qF 'hint: name the public key' "$err"
	try apr-verify <signed.aprs
	said 1 '(E006)'
}

@test "trusted keys lie in a folder" {
	trust "$PWD/config" key.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q signed.aprs
	quiet
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q <signed.aprs
	quiet
	XDG_CONFIG_HOME=$PWD/config apr-verify signed.aprs | cmp - signed.aprs
	# Any one of several keys suffices; a name without .pub is not a key.
	trust "$PWD/config" other.pub
	echo 'no key' >config/apr/trusted/README
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q signed.aprs
	quiet
	rm config/apr/trusted/key.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q signed.aprs
	said 1 'no signature is by a trusted key'
	run ! grep -q '^hint' "$err"
	# A key that is named is the only one.
	trust "$PWD/config" key.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q other.pub signed.aprs
	said 1 'no signature is by a trusted key'
	# Without the variable, or with a relative one, it is ~/.config.
	trust "$PWD/home/.config" key.pub
	try env HOME="$PWD/home" apr-verify -q signed.aprs
	quiet
	try env HOME="$PWD/home" XDG_CONFIG_HOME=config apr-verify -q signed.aprs
	quiet
	try env HOME="$PWD/home" XDG_CONFIG_HOME="$PWD/nowhere" apr-verify -q signed.aprs
	said 1 'no signature is by a trusted key'
	# A file there that calls itself a key must be one.
	echo 'no key' >config/apr/trusted/bad.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q signed.aprs
	said 4 'bad.pub'
}

@test "a key inside the file is never trust" {
	apr-sign other signed.aprs >both.aprs
	apr-sign other "$model" >theirs.aprs
	try apr-verify -q key.pub theirs.aprs
	said 1 "the first is by $(cat other.id)"
	# Writing our id over it does not help either.
	local id
	id=$(tr A-F a-f <key.id)
	tamper "sign_key_is:$id" <theirs.aprs >forged.aprs
	try apr-verify -q key.pub forged.aprs
	said 1 "signature: is not by key $(cat key.id), or was itself changed"
	try apr-verify -q other.pub forged.aprs
	said 1 "no signature is by a trusted key; the first is by $(cat key.id)"
	# Both keys are trusted, but the id is the other's: the signature does not hold.
	trust "$PWD/config" key.pub other.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify -q forged.aprs
	said 1 '(E006)'
}

@test "one signature by a trusted key is enough, whichever it is" {
	apr-sign other "$model" >others.aprs
	apr-sign other signed.aprs >both.aprs
	for k in key other; do
		try apr-verify $k.pub both.aprs
		[ "$status" -eq 0 ]
		# And it alone goes on.
		[ $k = key ] && cmp "$out" signed.aprs || cmp "$out" others.aprs
		grep -qF '1 other signature is not verified, and dropped' "$err"
		grep -qF "signature by $(cat $k.id) holds" "$err"
	done
	apr-keygen -W -o third >third.id
	try apr-verify -q third.pub both.aprs
	said 1 "no signature is by a trusted key; the first is by $(cat key.id)"
}

@test "KEY.pub must be a public key, and be there" {
	try apr-verify -q missing.pub signed.aprs
	said 3 'missing.pub: cannot be opened'
	try apr-verify -q missing.pub <signed.aprs
	said 3 'missing.pub: cannot be opened'
	try apr-verify -q key.pub missing.aprs
	said 3 'missing.aprs: cannot be opened'
	try apr-verify -q key signed.aprs
	said 4 'key'
	head -c 60 key.pub >short.pub
	try apr-verify -q short.pub signed.aprs
	said 4 'short.pub'
	try apr-verify -q signed.aprs key.pub
	said 4 'signed.aprs'
}

@test "from a pipe DONE is withheld: no sink finishes" {
	try_pipe 'apr-verify key.pub <bad.aprs | cat'
	said 1 'a.weight: its bytes differ from what was signed (E006)'
	[ "$(wc -c <"$out")" -gt 1000 ]
	cp "$out" sent.aprs
	run ! ends_in_done sent.aprs
	ends_in_done bad.aprs
	try apr-unpack sent.aprs
	said 4 'the stream ends before DONE'

	local t
	for t in apr2 gguf; do
		try_pipe "cat bad.aprs | apr-verify key.pub | apr-pack -t $t -o made"
		[ "$status" -ne 0 ]
		[ ! -e made ]
		try_pipe "cat bad.aprs | apr-verify key.pub | apr-pack -t $t >made"
		[ "$status" -ne 0 ]
		[ ! -s made ]
		rm made
	done
	try_pipe 'cat bad.aprs | apr-verify key.pub | apr-quant --pure q8_0 -o made'
	[ "$status" -ne 0 ]
	[ ! -e made ]
	try_pipe 'cat bad.aprs | apr-verify key.pub -o made'
	said 1 'a.weight: its bytes differ'
	[ ! -e made ]
	try_pipe 'cat bad.aprs | apr-verify key.pub >made'
	said 1
	[ ! -s made ]
}

@test "of a file that does not verify nothing is sent at all" {
	apr-pack -o bad.apr bad.aprs
	apr-pack -t gguf -o bad.gguf bad.aprs
	for f in bad.aprs bad.apr bad.gguf; do
		try_pipe "apr-verify key.pub $f | cat"
		said 1 'a.weight: its bytes differ from what was signed (E006)'
		[ ! -s "$out" ] || fail "$f: $(wc -c <"$out") bytes sent"
	done
	# An input that cannot be read twice is treated as a pipe.
	mkfifo fifo
	cat bad.aprs >fifo 3>&- &
	try_pipe 'apr-verify key.pub fifo | cat'
	said 1 'a.weight: its bytes differ'
	wait $!
	run ! ends_in_done "$out"
}

@test "a file that changes between the two readings is not passed on" {
	# The reader beside the tool: it gives the good file once, the bad one then.
	mkdir tools
	cp "$(type -P apr-verify)" tools/
	cat >tools/apr-unpack <<-END
		#!/bin/sh
		if [ -e '$PWD/seen' ]; then exec cat '$PWD/bad.aprs'; fi
		: >'$PWD/seen'
		exec cat '$PWD/mother.aprs'
	END
	chmod +x tools/apr-unpack
	try tools/apr-verify -o made key.pub mother.aprs
	said 1 'a.weight: its bytes differ'
	[ -e seen ]
	[ ! -e made ]
}

@test "--weights: metadata may be edited, nothing else" {
	local change
	for change in value:general.name value:a.long key_added key_removed key_renamed \
		type_u32_to_i32 nothing; do
		tamper $change <mother.aprs >edited.aprs
		try apr-verify -q --weights key.pub edited.aprs
		quiet
	done
	apr-verify --weights key.pub edited.aprs 2>&1 >/dev/null |
		grep -qF 'holds for the weights'
	tamper value:general.name <mother.aprs >edited.aprs
	try apr-verify -q key.pub edited.aprs
	said 1 'metadata: differs from what was signed'
	for change in tensor_bit_f32 tensor_renamed tensor_dims tensor_removed tensor_added \
		tensor_bodies_swapped blob_byte blob_renamed licence_byte licence_removed \
		prov_text prov_removed sign_signature sign_tensors_and_root sign_metadata \
		sign_metadata_and_root sign_digest_of_tensor; do
		# Also where the metadata was edited as well.
		for first in nothing value:general.name; do
			tamper $first <mother.aprs | tamper $change >edited.aprs
			try apr-verify -q --weights key.pub edited.aprs
			said 1 '(E006)'
		done
	done
}

@test "a message names all the parts that differ" {
	tamper value:general.name <mother.aprs | tamper licence_byte | tamper tensor_bit_f16 >bad
	try apr-verify -q key.pub bad
	said 1 'a.weight: its bytes differ from what was signed (metadata, licence too) (E006)'
	tamper value:general.name <mother.aprs | tamper licence_byte >bad
	try apr-verify -q key.pub bad
	said 1 'metadata: differs from what was signed (licence too) (E006)'
}

@test "only what the signature covers goes on" {
	tamper frame_added <mother.aprs | tamper plan_member_added >more.aprs
	grep -aqF '"not signed"' more.aprs
	grep -aqF '{"not":"signed"}' more.aprs
	try apr-verify key.pub more.aprs
	[ "$status" -eq 0 ]
	run ! grep -aqF 'not signed' "$out"
	run ! grep -aqF '{"not":"signed"}' "$out"
	run ! grep -aqF '"added"' "$out"
	cmp "$out" mother.aprs
}

@test "other signatures that do not hold change nothing" {
	apr-sign other mother.aprs >both.aprs
	# The first of two, changed: the second still holds for everything.
	tamper sign_signature <both.aprs >changed.aprs
	try apr-verify -q key.pub changed.aprs
	said 1 '(E006)'
	try apr-verify -q other.pub changed.aprs
	quiet
}

# Somebody whom nobody trusts puts a frame of his own before the genuine one, so that
# whoever signs the quantized model next would vouch for a parent that never was.
@test "a made-up signature before a genuine one goes no further, and into no record" {
	apr-keygen -W -o liar >liar.id
	apr-sign liar "$model" >liar.aprs 2>/dev/null
	tamper sign_root <liar.aprs >lie.aprs
	apr-sign key lie.aprs >laundry.aprs 2>/dev/null
	apr-header laundry.aprs | grep -Eqx 'signatures +2 \(not verified\)'
	apr-verify key.pub laundry.aprs >clean.aprs 2>/dev/null
	cmp clean.aprs signed.aprs
	cat laundry.aprs | apr-verify key.pub - 2>/dev/null | cmp - signed.aprs
	# The record of an unverified signature contains only its claims.
	apr-quant q8_0 laundry.aprs 2>/dev/null >q.aprs
	grep -aqF '"claimed_parent":"' q.aprs
	run ! grep -aqF '"parent":"' q.aprs
}

@test "all trusted keys with the id of a signature are tried" {
	local raw
	# Another key, whose owner has chosen the same id; its name comes first.
	raw=$(sed -n 2p other.pub | base64 -d | tail -c 32 | base64 -w 0)
	{ echo 'untrusted comment: x'; { printf Ed; sed -n 2p key.pub | base64 -d | head -c 10 | tail -c 8
		base64 -d <<<"$raw"; } | base64 -w 0; echo; } >twin.pub
	mkdir -p config/apr/trusted
	cp twin.pub config/apr/trusted/a.pub
	cp key.pub config/apr/trusted/b.pub
	try env XDG_CONFIG_HOME="$PWD/config" apr-verify signed.aprs
	[ "$status" -eq 0 ]
	grep -qF "SHA-256 $(fingerprint key.pub), from $PWD/config/apr/trusted/b.pub" "$err"
	XDG_CONFIG_HOME=$PWD/config apr-verify -q --json signed.aprs |
		grep -F "\"key_file\":\"$PWD/config/apr/trusted/b.pub\""
	try apr-verify -q --trusted-key twin.pub --trusted-key key.pub signed.aprs
	quiet
	try apr-verify -q --trusted-key twin.pub signed.aprs
	said 1 "is not by key $(cat key.id), or was itself changed"
	grep -qF "hint: the key tried is twin.pub, SHA-256 $(fingerprint other.pub)" "$err"
}

@test "no file that calls itself a key makes apr-verify read standard input" {
	cp key.pub model.apr
	try apr-verify -q model.apr <signed.aprs
	said 2 'model.apr is a key, not a model'
	{ cat key.pub; cat signed.aprs; } >model.apr
	try apr-verify -q model.apr <signed.aprs
	said 2 'model.apr is a key, not a model'
	try apr-verify -q --trusted-key key.pub model.apr <signed.aprs
	said 4
	# A key is one by its name, or by an option.
	try apr-verify -q key.pub <signed.aprs
	quiet
	cp key.pub other.name
	try apr-verify -q --trusted-key other.name <signed.aprs
	quiet
	try apr-verify -q other.name signed.aprs
	quiet
	try apr-verify -q --trusted-key key.pub key.pub signed.aprs
	said 2 'not both'
}

@test "an older model, genuine as it is, is not taken for a newer one" {
	apr-sign --name m --model-version 1 --date 2025-01-01 key "$model" >old.aprs
	apr-sign --name m --model-version 2 --date 2026-01-01 key "$model" >new.aprs
	for f in old new; do
		try apr-verify -q --expect-name m key.pub $f.aprs
		quiet
		try apr-verify -q --expect-name M key.pub $f.aprs
		said 1 'signature: is for the name "m", not "M" (E006)'
	done
	try apr-verify -q --not-before 2025-06-01 key.pub new.aprs
	quiet
	try apr-verify --not-before 2025-06-01 key.pub old.aprs
	said 1 'signature: is dated 2025-01-01T00:00:00Z, before 2025-06-01T00:00:00Z (E006)'
	[ ! -s "$out" ]
	try apr-verify -q --not-before 2025-06-01 key.pub signed.aprs
	said 1 'signature: states no date'
	try apr-verify -q --expect-name m key.pub signed.aprs
	said 1 'signature: states no name'
	try apr-verify -q --not-before soon key.pub signed.aprs
	said 2 '--not-before needs'
	# The statement is part of the signed data.
	for change in sign_name sign_date; do
		tamper $change <new.aprs >changed.aprs
		run ! cmp -s changed.aprs new.aprs
		try apr-verify -q key.pub changed.aprs
		said 1 'or was itself changed'
	done
}

@test "a signature of the older layout is refused by its version" {
	sed 's/{"version":2,"key"/{"version":1,"key"/' signed.aprs | tamper nothing >old.aprs
	try apr-verify -q key.pub old.aprs
	said 4 'signature: is of version 1, not 2 (E003)'
	grep -qF 'hint: apr-sign signs the model anew' "$err"
}

@test "what nobody signed of the first container is left out" {
	tamper source_lies <mother.aprs >lies.aprs
	for w in evil U8.name Q4_K .. config.json; do grep -aqF "$w" lies.aprs; done
	try apr-verify key.pub lies.aprs
	[ "$status" -eq 0 ]
	grep -qF 'dropped from the record of the first file, because not signed: ' "$err"
	for w in evil U8.name Q4_K .. config.json; do
		run ! grep -aqF "$w" <(head -c 8000 "$out" | grep -ao '"source":{[^}]*}.*"metadata":')
	done
	apr-verify key.pub lies.aprs 2>/dev/null >clean.aprs
	apr-header --json clean.aprs >/dev/null
	try_pipe 'apr-verify key.pub clean.aprs | cmp - clean.aprs'
	[ "$status" -eq 0 ]
	run ! grep -qF 'left out' "$err"
}

@test "tools that open a model take --trusted-key: nothing comes of what is not signed" {
	local tool good
	apr-pack -o good.apr signed.aprs
	tamper tensor_bit_f16 <mother.aprs | apr-pack -o bad.apr -
	set -- "apr-stats --json" "apr-get -l" "apr-quant q8_0" "apr-pack -t apr2" \
		"apr-run -p ROMEO: -n 3"
	for tool; do
		try $tool --trusted-key key.pub good.apr
		[ "$status" -eq 0 ] || fail "$tool: $status"
		[ -s "$out" ]
		grep -qF "apr-verify: good.apr: signature by $(cat key.id) holds" "$err"
		for f in bad.apr "$model"; do
			try $tool --trusted-key key.pub $f
			[ "$status" -eq 1 ] || fail "$tool $f: $status"
			[ ! -s "$out" ] || fail "$tool $f: something came out"
		done
		try $tool --trusted-key other.pub good.apr
		said 1 'no signature is by a trusted key'
		[ ! -s "$out" ] || fail "$tool: something came out"
	done
	# Two models must both be signed, and what a model says is held against a verified one only.
	apr-canary create -p ROMEO: -n 3 -o canary.json good.apr
	set -- "apr-diff" "apr-diff --run builtin --count 2" "apr-canary check --canary canary.json"
	for tool; do
		good=good.apr
		[[ $tool == *canary* ]] && good=
		try $tool --trusted-key key.pub $good good.apr
		[ "$status" -eq 0 ] || fail "$tool: $status"
		[ -s "$out" ]
		for f in bad.apr "$model"; do
			try $tool --trusted-key key.pub $good $f
			[ "$status" -eq 1 ] || fail "$tool $f: $status"
			[ ! -s "$out" ] || fail "$tool $f: something came out"
		done
	done
	try apr-diff --trusted-key key.pub "$model" good.apr
	said 1 'not signed'
	try apr-canary create -p ROMEO: --trusted-key other.pub -o none.json good.apr
	said 1 'no signature is by a trusted key'
	[ ! -e none.json ]
	# The same from a pipe: of a file nothing is left.
	try_pipe 'cat signed.aprs | apr-quant q8_0 --trusted-key key.pub -o made -'
	[ "$status" -eq 0 ] && [ -s made ]
	# The record of a verified signature says that it was verified.
	grep -aqF '"parent":"' made
	rm made
	tamper tensor_bit_f16 <mother.aprs >bad.aprs
	try_pipe 'cat bad.aprs | apr-pack --trusted-key key.pub -o made'
	[ "$status" -ne 0 ]
	[ ! -e made ]
	# The key is that of the model, not of a matrix beside it.
	try apr-stats --trusted-key missing.pub good.apr
	said 3 'missing.pub'
}

@test "an APR version 1 file with a signature of its own: said, and held to by --trusted-key" {
	apr-pack -t apr1 --sign-key key -o one.apr "$model" 2>/dev/null
	try env APR_LOG_LEVEL=error apr-verify -q key.pub one.apr
	said 1 'the content of the model is not signed: its signature covers the bytes of the APR version 1 file'
	grep -qF 'hint: apr-unpack --trusted-key KEY FILE verifies it' "$err"
	apr-run --trusted-key key.pub -p ROMEO: -n 3 one.apr
	apr-stats --trusted-key key.pub one.apr >/dev/null
	try apr-run --trusted-key other.pub -p ROMEO: -n 3 one.apr
	said 1 'SignatureInvalid: it is signed by a key other than the trusted one'
	[ ! -s "$out" ]
	try apr-run --trusted-key key.pub -p ROMEO: -n 3 "$model"
	said 1 'the model is not signed'
}
