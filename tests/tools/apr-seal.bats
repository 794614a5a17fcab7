# apr-seal, apr-open: a user asks the owner of a model, and nobody else can read it
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	echo AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX >owner.key
	owner=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
}

# A model that publishes the owner's key, signed with a trusted key.
publish() {
	apr-keygen -W -f -o signer >signer.id
	apr-open -i owner.key --publish >keys
	mkmodel <<-END | apr-unpack - | apr-sign signer 2>said | apr-pack -t gguf -f -o m.gguf
		key general.architecture string llama
		key inference_pub_key string $(sed -n 's/^inference_pub_key=str://p' keys)
		key inference_protocol string $(sed -n 's/^inference_protocol=str://p' keys)
		tensor a.weight F32 4x32 noise
	END
}

@test "they pass the exam's parts that have no model" {
	exam_prepare maker
	exam_options apr-seal -r "$owner"
	exam_options apr-open -i owner.key
}

@test "user and owner: a question, an answer, and ciphertext between them" {
	local file
	publish
	grep -qx 'inference_protocol=str:x25519-aes256gcm-v1' keys
	apr-pack -o m.apr m.gguf
	apr-pack -t safetensors -o m.safetensors m.gguf
	apr-encrypt -r "$owner" --sign-key signer m.gguf | apr-pack -o sealed.apr
	for file in m.gguf m.apr m.safetensors sealed.apr; do
		echo "Is it benign? $file" >words
		try apr-seal -m $file --trusted-key signer.pub -k my.key -f -o question words
		quiet
		[ "$(stat -c %a my.key)" = 600 ]
		run ! grep -aqF benign question
		# The owner.
		try apr-open -i owner.key --reply-to asker -f question
		quiet
		cmp "$out" words
		[ "$(stat -c %a asker)" = 600 ]
		try_pipe "echo Yes. | apr-seal -R asker >answer"
		quiet
		run ! grep -aqF Yes answer
		# The user.
		try apr-open -i my.key answer
		quiet
		[ "$(cat "$out")" = Yes. ]
		# Neither opens the other's.
		try apr-open -i owner.key answer
		said 1 'no key that is given opens it (E005)'
		try apr-open -i my.key question
		said 1 'no key that is given opens it (E005)'
		[ ! -s "$out" ]
	done
}

@test "the key of a model counts only if somebody who is trusted vouches for it" {
	local file
	publish
	apr-keygen -W -o mallory >mallory.id
	# A swapped key: in a signed model, in a sealed one, and both signed by a stranger.
	sed "s|^inference_pub_key=str:.*|inference_pub_key=str:$(head -c 32 /dev/zero | tr '\0' A |
		base64)|" keys >swapped
	apr-quant --override-kv "$(sed -n 1p swapped)" f32 m.gguf 2>said | apr-unpack - >changed.aprs
	apr-sign mallory changed.aprs >mallory.aprs 2>said
	apr-encrypt -r "$owner" m.gguf >unsigned.aprs
	apr-encrypt -r "$owner" changed.aprs >swapped.aprs
	apr-encrypt -r "$owner" --sign-key mallory changed.aprs >outsider.aprs
	for file in changed mallory unsigned swapped outsider; do
		try apr-seal -m $file.aprs --trusted-key signer.pub </dev/null
		said 1 '(E006)'
		[ ! -s "$out" ]
		# Nor without a key that is trusted.
		try apr-seal -m $file.aprs </dev/null
		said 1 '(E006)'
		grep -q '^hint:' "$err"
		[ ! -s "$out" ]
	done
	try apr-seal -m unsigned.aprs --unverified </dev/null
	quiet
	# The trusted folder serves as for apr-verify.
	mkdir -p "$BATS_TEST_TMPDIR/config/apr/trusted"
	cp signer.pub "$BATS_TEST_TMPDIR/config/apr/trusted"
	XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config try apr-seal -m m.gguf </dev/null
	quiet
	# The genuine seal with metadata of another: it does not hold.
	apr-encrypt -r "$owner" --sign-key signer m.gguf >genuine.aprs
	try apr-seal -m genuine.aprs --trusted-key signer.pub </dev/null
	quiet
	reseal value_swapped <genuine.aprs >edited.aprs
	try apr-seal -m edited.aprs --trusted-key signer.pub </dev/null
	said 1 'its outer signature does not hold (E006)'
}

@test "only who opened the question can answer" {
	echo 'What is it?' | apr-seal -r "$owner" -k my.key >question
	apr-open -i owner.key --reply-to asker question >words
	# The public half alone, as a process list or an old file would show it, is not enough.
	grep '^age1' asker >public
	for from in "-r $(cat public)" '-R public'; do
		# shellcheck disable=SC2086
		echo 'A forged answer.' | apr-seal $from >forged
		try apr-open -i my.key forged
		said 1 'no key that is given opens it (E005)'
		[ ! -s "$out" ]
	done
	# Nor is the answer secret of another question.
	echo 'What is it?' | apr-seal -r "$owner" -k other.key >other
	apr-open -i owner.key --reply-to another other >words
	{ cat public; grep '^APR-ANSWER-1' another; } >mixed
	echo 'A forged answer.' | apr-seal -R mixed >forged
	try apr-open -i my.key forged
	said 1 'no key that is given opens it (E005)'
	# An answer may ask in turn.
	echo 'It is a tree. And yours?' | apr-seal -R asker -k mine.key >answer
	try apr-open -i my.key --reply-to back answer
	quiet
	echo 'A bird.' | apr-seal -R back | apr-open -i mine.key | grep -qx 'A bird.'
	# The secret is on no command line, and not in the message.
	run ! grep -qF "$(sed -n 's/^APR-ANSWER-1//p' asker)" question answer
}

@test "a message that was made to open for two identities opens for one" {
	local two
	two=$(printf '47%.0s' {1..32})
	echo 'some words that fill a block or two' | apr-seal -r "$owner" |
		multikey message "$(printf '42%.0s' {1..32})" "$two" >both
	run -1 unseal message "$two" <both
	[[ $output == *'the commitment does not hold'* ]]
	unseal message "$(printf '42%.0s' {1..32})" <both >"$out"
	apr-open -i owner.key both | cmp - "$out"
}

@test "another program, written from the page, opens messages" {
	echo hello | apr-seal -r "$owner" -k k >message
	unseal message "$(printf '42%.0s' {1..32})" <message | grep -qx hello
}

@test "no question is like another, even of the same words" {
	echo same | apr-seal -r "$owner" >1
	echo same | apr-seal -r "$owner" >2
	run ! cmp -s 1 2
	[ "$(wc -c <1)" -eq $((72 + 5 + 16)) ]
	echo same | apr-seal -r "$owner" -k k >3
	[ "$(wc -c <3)" -eq $((72 + 64 + 5 + 16)) ]
}

@test "words on a terminal move no cursor; elsewhere they are what was sealed" {
	printf 'a\tb\033[2J\302\233c\342\200\256d\n' >words
	apr-seal -r "$owner" words >message
	apr-open -i owner.key message | cmp - words
	on_terminal apr-open -i owner.key message >shown
	grep -qF 'a	b\x1b[2J' shown
	run ! grep -qP '[\x1b]' shown
	run ! grep -qaF "$(printf '\302\233')" shown
	run ! grep -qaF "$(printf '\342\200\256')" shown
}

@test "nothing is a message too, and four MiB, but not a byte more" {
	: | apr-seal -r "$owner" | apr-open -i owner.key | cmp - /dev/null
	head -c 4194304 /dev/zero >zeros
	apr-seal -r "$owner" zeros | apr-open -i owner.key | cmp - zeros
	head -c 4194305 /dev/zero >more
	try apr-seal -r "$owner" more
	said 2 'is longer than 4194304 bytes'
	{ apr-seal -r "$owner" zeros; head -c 100 /dev/zero; } >long
	try apr-open -i owner.key long
	said 4 'is too long for a message (E002)'
}

@test "a byte changed, cut, or put to it: it does not open, and nothing comes out" {
	local n size
	echo 'some words' | apr-seal -r "$owner" -k k >message
	size=$(wc -c <message)
	set +T
	for ((n = 0; n < 200; n++)); do
		flip $n <message >flipped
		try apr-open -i owner.key --reply-to made flipped
		[[ $status = 1 || $status = 4 ]] || fail "flip $n: status $status" || return
		[ ! -s "$out" ] && [ ! -e made ] || fail "flip $n"
	done
	for ((n = 0; n < size; n++)); do
		head -c $n message >cut
		try apr-open -i owner.key cut
		[[ $status = 1 || $status = 4 ]] || fail "cut $n: status $status" || return
		[ ! -s "$out" ] || fail "cut $n"
	done
	{ cat message; echo; } >longer
	try apr-open -i owner.key longer
	said 1 '(E005)'
	try apr-open -i owner.key </dev/null
	said 4 'is empty (E002)'
	try apr-open -i owner.key <(head -c 100 "$model")
	said 4 'is not a sealed message (E001)'
	printf 'APRM\1' | cat - <(head -c 60 /dev/zero) >version
	try apr-open -i owner.key version
	said 4 'is a message of version 1, this tool reads 2 (E003)'
}

@test "models that publish no key, and keys that are none" {
	local key
	try apr-seal -m "$model" </dev/null
	said 4 'does not publish inference_pub_key with its inference_protocol (E001)'
	for key in AAAA "$(printf 'A%.0s' {1..43})!" ''; do
		mkmodel <<-END >bad.gguf
			key inference_pub_key string $key
			key inference_protocol string x25519-aes256gcm-v1
		END
		try apr-seal -m bad.gguf --unverified </dev/null
		said 4 'its inference_pub_key is not 32 bytes in base64 (E002)'
	done
	mkmodel <<-END >bad.gguf
		key inference_pub_key string AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
		key inference_protocol string x25519-aes256gcm-v1
	END
	try apr-seal -m bad.gguf --unverified </dev/null
	said 1 'a public key with which nothing can be agreed (E005)'
	mkmodel <<-END >bad.gguf
		key inference_pub_key string AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
		key inference_protocol string p256-v2
	END
	try apr-seal -m bad.gguf --unverified </dev/null
	said 4 'its inference_protocol is not x25519-aes256gcm-v1 (E001)'
	mkmodel <<-END >bad.gguf
		key inference_pub_key u32 7
		key inference_protocol string x25519-aes256gcm-v1
	END
	try apr-seal -m bad.gguf --unverified </dev/null
	said 4 'does not publish inference_pub_key'
	try apr-seal -m missing </dev/null
	said 3
}

@test "wrong usage" {
	publish
	try apr-seal </dev/null
	said 2 'use one of -m MODEL'
	try apr-seal -m m.gguf -r "$owner" </dev/null
	said 2 'use one of -m MODEL'
	try apr-seal -r "$owner" --unverified </dev/null
	said 2 'need -m MODEL'
	try apr-seal -m m.gguf --unverified --trusted-key signer.pub </dev/null
	said 2 'not both'
	try apr-seal -m - </dev/null
	said 2 'standard input is the message'
	try apr-open </dev/null
	said 2 'no identity: use -i FILE'
	try apr-seal -r "$owner" missing
	said 3 'missing: cannot be opened'
	echo mine >mine
	try apr-seal -r "$owner" -k mine </dev/null
	said 2 'mine: exists already'
	[ "$(cat mine)" = mine ]
	[ ! -s "$out" ]
	try apr-seal -r "$owner" -k - </dev/null
	said 2 'a key is written to a file'
	: | apr-seal -r "$owner" >message
	try apr-open -i owner.key --reply-to made message
	said 1 'does not ask for an answer'
	[ ! -e made ]
}
