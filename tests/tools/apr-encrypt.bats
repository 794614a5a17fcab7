# apr-encrypt, apr-decrypt: recipients, and only they, can open a sealed model
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	# The vector of apr-stream(5), and another identity: nothing but a test has them.
	cat >me.key <<-'END'
		# created: for a test
		# public key: age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
		AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX
	END
	me=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
	echo 'open, sesame' >word
}

# Sealed bytes differ from run to run, but have the same size.
encrypt_exam() {
	cmp() {
		local a=$1 b=$2
		[ "$a" != - ] || a=/dev/stdin
		[ "$b" != - ] || b=/dev/stdin
		[ "$(wc -c <"$a")" -eq "$(wc -c <"$b")" ]
	}
	exam filter apr-encrypt -r "$me"
	unset -f cmp
}

@test "apr-encrypt passes the exam" {
	encrypt_exam
}

@test "apr-decrypt passes the exam" {
	apr-encrypt -r "$me" -o sealed.aprs "$model"
	exam_in=$PWD/sealed.aprs
	exam filter apr-decrypt -i "$PWD/me.key"
}

@test "sealed and opened, it is the same stream: GGUF, one of everything, nothing" {
	local file
	apr-unpack "$model" >llama.aprs
	tamper mother >mother.aprs
	mkmodel </dev/null | apr-unpack - >none.aprs
	mkmodel <<<'tensor a.weight F32 0x4 noise' | apr-unpack - >empty.aprs
	for file in llama mother none empty; do
		apr-encrypt -r "$me" $file.aprs >sealed
		run ! cmp -s sealed $file.aprs
		try apr-decrypt -i me.key sealed
		quiet
		cmp "$out" $file.aprs
		# And through a container.
		pipe "apr-pack sealed >sealed.apr"
		apr-unpack sealed.apr | cmp - sealed
		apr-decrypt -i me.key sealed.apr | cmp - $file.aprs
		pipe "apr-unpack sealed.apr | apr-pack -o again.apr"
		cmp sealed.apr again.apr
		rm again.apr
	done
}

@test "a chunk less a byte, a chunk, a chunk and a byte, some chunks" {
	local n
	for n in 1048575 1048576 1048577 3145728 3500000; do
		mkmodel <<-END | apr-unpack - >plain.aprs
			tensor a I8 $n ramp
			tensor b I8 3 ramp
		END
		pipe "apr-encrypt -r $me <plain.aprs | apr-decrypt -i me.key" | cmp - plain.aprs
		pipe "apr-encrypt -r $me <plain.aprs | apr-pack | apr-unpack - | apr-decrypt -i me.key" |
			cmp - plain.aprs
	done
}

@test "sign, then seal; open, then verify" {
	apr-keygen -W -o key >key.id
	pipe "apr-unpack '$model' | apr-sign key | apr-encrypt -r $me | apr-pack >m.apr"
	apr-header m.apr | grep -Eqx 'flags +ALIGNED_64 ENCRYPTED SIGNED STREAMING GGUF_SRC'
	apr-header m.apr | grep -Eqx 'sealed +yes'
	apr-header --json m.apr | grep -qF '"sealed":true'
	try_pipe "apr-unpack m.apr | apr-decrypt -i me.key | apr-verify -q key.pub"
	quiet
	# The signature contains a digest of the sealed content, so it is sealed too.
	run ! grep -aqF '"root"' m.apr
	run ! grep -aqi "$(cat key.id)" m.apr
	# A record of changes is sealed too.
	pipe "apr-sign key '$model' | apr-quant q8_0 | apr-encrypt -r $me >q.aprs"
	run ! grep -aqF '"parent"' q.aprs
	pipe "apr-quant q8_0 <(apr-sign key '$model') | cmp - <(apr-decrypt -i me.key q.aprs)"
}

@test "nothing of a tensor or side file can be seen, and all of the metadata" {
	mkmodel >plain.gguf <<-'END'
		key general.architecture string llama
		tensor a.weight F32 1024 values 0x52434553
	END
	apr-unpack plain.gguf | grep -aqF SECRSECR
	pipe "apr-encrypt -r $me plain.gguf | apr-pack >sealed.apr"
	run ! grep -aqF SECR sealed.apr
	grep -aqF general.architecture sealed.apr
	apr-header -l sealed.apr | grep -q '^a.weight  *F32  *1024 '
}

@test "the same model twice has no byte of a tensor in common" {
	pipe "apr-encrypt -r $me '$model' >1.aprs"
	pipe "apr-encrypt -r $me '$model' >2.aprs"
	# With random bytes, one in 256 would be equal.
	[ "$(cmp -l 1.aprs 2.aprs | wc -l)" -gt 4500000 ]
}

@test "an outer signature: who sealed it, for those who cannot open it" {
	local change
	apr-keygen -W -o key >key.id
	apr-keygen -W -o other >other.id
	tamper mother | apr-sign key >mother.aprs 2>said
	apr-encrypt -r "$me" -r age19d4z5e9x9uzrfzeyuhhf0t4cqgu7me8tfga2uhn2we3udwpd25wqv6a4h0 \
		--sign-key key mother.aprs >sealed.aprs
	apr-decrypt -i me.key sealed.aprs | cmp - mother.aprs
	apr-pack -o sealed.apr sealed.aprs
	for file in sealed.aprs sealed.apr; do
		try apr-verify -q key.pub $file
		quiet
		try apr-verify -q --json key.pub $file
		quiet
		grep -q '^{"verified":true,.*"scope":"seal",.*"key_file":"key.pub",' "$out"
	done
	# Opened by a program that does not share code with the tools.
	unseal signed "$(tail -n 1 key.pub | base64 -d | tail -c 32 | od -An -tx1 | tr -d ' \n')" \
		<sealed.aprs
	try apr-verify -q other.pub sealed.aprs
	said 1 'which is not trusted (E006)'
	# Content under the MAC cannot be changed, and the seal cannot be replaced.
	for change in value_changed value_added tensor_renamed tensor_dropped file_renamed \
		licence_changed salt_turned mac_turned stanza_dropped stanza_of_unknown_kind; do
		reseal $change <sealed.aprs >changed.aprs
		try apr-verify -q key.pub changed.aprs
		said 1 'its outer signature does not hold (E006)'
	done
	apr-encrypt -r "$me" --sign-key other mother.aprs >replaced.aprs
	try apr-verify -q key.pub replaced.aprs
	said 1 '(E006)'
	apr-encrypt -r "$me" mother.aprs >unsigned.aprs
	try apr-verify -q key.pub unsigned.aprs
	said 1 'its seal has no outer signature (E006)'
	head -c 6000 sealed.aprs >cut.aprs
	try apr-verify -q key.pub cut.aprs
	said 4
	# No data is passed on: the sealed bytes are not authenticated.
	try apr-verify key.pub sealed.aprs
	said 1 'is sealed (E005)'
	try apr-verify -q --expect-name x key.pub sealed.aprs
	said 1 'states neither a name nor a date (E006)'
	try apr-encrypt -r "$me" --sign-passphrase-file word sealed.aprs
	said 2 'needs --sign-key'
	try apr-encrypt -r "$me" --sign-key missing mother.aprs
	said 3 'missing'
}

@test "recipients: any of them opens it, nobody else (CHECK-024)" {
	local i
	age_keys
	apr-encrypt -r "$me" -r "$(cat a.to)" -R more.to "$model" >sealed.aprs
	apr-unpack "$model" >plain.aprs
	for i in me.key a.key b.key c.key; do
		try apr-decrypt -i $i sealed.aprs
		quiet
		cmp "$out" plain.aprs
	done
	try apr-decrypt -i d.key sealed.aprs
	said 1 'no key that is given opens it (E005)'
	[ ! -s "$out" ]
	apr-decrypt -i d.key -i c.key sealed.aprs | cmp - plain.aprs
	cat d.key b.key >both.key
	apr-decrypt -i both.key sealed.aprs | cmp - plain.aprs
	try apr-decrypt --passphrase-file word sealed.aprs
	said 1 'is sealed for identities, and none is given (E005)'
}

# Four identities that age made, and their recipients.
age_keys() {
	local i
	[ -n "$(type -P age-keygen)" ] || skip 'age is not installed'
	for i in a b c d; do
		age-keygen -o $i.key 2>/dev/null
		age-keygen -y $i.key >$i.to
	done
	{ echo '# my friends'; echo; cat b.to c.to; } >more.to
}

@test "age itself opens what goes to our recipients, with the identity we take" {
	age_keys
	echo hello | age -r "$me" | age -d -i me.key | grep -qx hello
	[ "$(age-keygen -y me.key)" = "$me" ]
	# An identity file that age has encrypted is named as such.
	age -r "$me" a.key >locked.key
	try apr-decrypt -i locked.key </dev/null
	said 4 'locked.key: is encrypted (E001)'
	grep -qF 'hint: -i <(age -d FILE)' "$err"
	age -a -r "$me" a.key >locked.key
	try apr-decrypt -i locked.key </dev/null
	said 4 'locked.key: is encrypted (E001)'
	apr-encrypt -R a.to "$model" >sealed.aprs
	apr-decrypt -i <(age -d -i me.key locked.key) sealed.aprs | cmp - <(apr-unpack "$model")
}

@test "a passphrase, from where passphrases come" {
	apr-unpack "$model" >plain.aprs
	apr-encrypt --passphrase-file word plain.aprs >sealed.aprs
	apr-decrypt --passphrase-file word sealed.aprs | cmp - plain.aprs
	apr-decrypt --passphrase-fd 3 sealed.aprs 3<word | cmp - plain.aprs
	W='open, sesame' apr-decrypt --passphrase-env W sealed.aprs | cmp - plain.aprs
	echo 'open sesame' >wrong
	try apr-decrypt --passphrase-file wrong sealed.aprs
	said 1 'no key that is given opens it (E005)'
	[ ! -s "$out" ]
	try apr-decrypt -i me.key sealed.aprs
	said 1 'is sealed with a passphrase, and none is given (E005)'
	: >empty
	try apr-encrypt --passphrase-file empty plain.aprs
	said 2 'its passphrase must not be empty'
	try apr-decrypt --passphrase-file empty sealed.aprs
	said 1 'no key that is given opens it (E005)'
	try setsid -w apr-decrypt sealed.aprs
	said 2 'needs a passphrase, but there is no terminal'
}

@test "one tensor can be opened alone" {
	pipe "apr-encrypt -r $me '$model' | apr-pack >m.apr"
	pipe "apr-unpack --only '^output.weight\$' '$model'" >want.aprs
	apr-decrypt -i me.key --only '^output.weight$' m.apr | cmp - want.aprs
	try apr-decrypt -i me.key --only nothing m.apr
	said 2 'nothing'
	try apr-unpack --only output m.apr
	said 2 'is sealed: --only and --except need a decrypted model'
	grep -qF 'hint: apr-decrypt --only' "$err"
}

@test "what looks at tensors refuses a sealed model, and says what opens it" {
	local file tool
	apr-keygen -W -o key >key.id
	pipe "apr-encrypt -r $me '$model' >m.aprs"
	apr-pack -o m.apr m.aprs
	for file in m.aprs m.apr; do
		for tool in 'apr-quant q4_0' 'apr-sign key' 'apr-verify key.pub' apr-stats apr-sum \
			'apr-get token_embd.weight' "apr-encrypt -r $me" 'apr-quant -n q4_0' 'apr-run --logits --tokens 1'; do
			# shellcheck disable=SC2086
			try $tool $file
			said 1 'is sealed (E005)'
			grep -qx 'hint: apr-decrypt opens it' "$err"
			[ ! -s "$out" ]
		done
		for tool in gguf:GGUF safetensors:safetensors apr2-64:; do
			try apr-pack -t ${tool%:*} $file
			said 4 "is sealed, which ${tool#*:}"
			grep -qF ' cannot hold: ExportFailed (E001)' "$err"
			grep -qx 'hint: apr-decrypt opens it' "$err"
			[ ! -s "$out" ]
			try apr-pack -t ${tool%:*} -o made $file
			said 4 'is sealed'
			[ ! -e made ]
		done
		try apr-pack -z zstd $file
		said 2 '-z: a sealed model cannot be compressed'
		try apr-pack --shard-size 1M -o x.apr $file
		said 2 'a sealed model must be one file'
	done
	try apr-decrypt -i me.key "$model"
	said 4 'is not sealed (E001)'
}

@test "a frame of unknown kind is bound by nothing: it ends here" {
	pipe 'tamper mother | tamper frame_added' >more.aprs
	try apr-encrypt -r "$me" more.aprs
	[ "$status" -eq 0 ]
	grep -qF 'a frame of unknown kind cannot be sealed: left out' "$err"
	apr-decrypt -i me.key "$out" | cmp - <(tamper mother)
}

@test "wrong usage" {
	try apr-encrypt "$model"
	said 2 'no recipient: use -r, -R or -p'
	try apr-encrypt -r "$me" --passphrase-file word "$model"
	said 2 'use recipients or a passphrase, not both'
	try apr-decrypt -i me.key --passphrase-file word "$model"
	said 2 'use identities or a passphrase, not both'
	try apr-encrypt -r "${me%?}k" "$model"
	said 2 'is not a recipient'
	try apr-encrypt -r age1 "$model"
	said 2 'is not a recipient'
	try apr-encrypt -R me.key "$model"
	said 4 'line 3 is not a recipient (age1…) (E001)'
	try apr-encrypt -R missing "$model"
	said 3 'missing: cannot be opened'
	try apr-decrypt -i - "$model"
	said 2 'is standard input'
	try apr-decrypt -i "$model" "$model"
	said 4 'is longer than 65536 bytes (E001)'
	: >empty
	try apr-decrypt -i empty "$model"
	said 4 'holds no identity (E001)'
	try apr-decrypt -i word "$model"
	said 4 'word: line 1 is not an identity (AGE-SECRET-KEY-1…) (E001)'
	# A secret on the command line is refused and not repeated.
	try apr-encrypt -r "$(tail -n 1 me.key)" "$model"
	said 2 'that is an identity, which is secret'
	run ! grep -qi 'AGE-SECRET-KEY-1GFP' "$err"
	# Nor is a line of an identity file that is damaged.
	sed '$s/.$/Q/' me.key >bad.key
	try apr-decrypt -i bad.key "$model"
	said 4 'bad.key: line 3 is not an identity'
	run ! grep -qi '1GFP' "$err"
}

@test "an output replaces no key, list or passphrase" {
	local of
	cp me.key before
	echo "$me" >list
	apr-keygen -W -o signer >id
	apr-encrypt -r "$me" -o sealed.aprs "$model"
	for of in "list apr-encrypt -R list" "word apr-encrypt --passphrase-file word" \
		"signer apr-encrypt -r $me --sign-key signer" \
		"word apr-encrypt -r $me --sign-key signer --sign-passphrase-file word" \
		"me.key apr-decrypt -i me.key" "word apr-decrypt --passphrase-file word"; do
		# shellcheck disable=SC2086
		try ${of#* } -f -o "${of%% *}" sealed.aprs
		said 2 "${of%% *}: is the input file itself"
	done
	cmp me.key before
	[ "$(cat word list | wc -l)" -eq 2 ]
}
