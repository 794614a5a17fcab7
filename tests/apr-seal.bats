# apr-seal, apr-open: a user asks the owner of a model, and nobody else hears it
load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	echo AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX >owner.key
	owner=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
}

# A model that publishes the owner's key.
publish() {
	apr-open -i owner.key --publish >keys
	mkmodel <<-END >m.gguf
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
	apr-encrypt -r "$owner" m.gguf | apr-pack -o sealed.apr
	for file in m.gguf m.apr m.safetensors sealed.apr; do
		echo "Is it benign? $file" >words
		try apr-seal -m $file -k my.key -f -o question words
		quiet
		[ "$(stat -c %a my.key)" = 600 ]
		run ! grep -aqF benign question
		# The owner.
		try apr-open -i owner.key -k asker -f question
		quiet
		cmp "$out" words
		try_pipe "echo Yes. | apr-seal -r \$(cat asker) >answer"
		quiet
		run ! grep -aqF Yes answer
		# The user.
		try apr-open -i my.key answer
		quiet
		[ "$(cat "$out")" = Yes. ]
		# Neither opens the other's.
		try apr-open -i owner.key answer
		said 1 'no identity given opens it (E005)'
		try apr-open -i my.key question
		said 1 'no identity given opens it (E005)'
		[ ! -s "$out" ]
	done
	# What apr-seal writes is an identity of age.
	[ -z "$(type -P age-keygen)" ] || [ "$(age-keygen -y my.key)" = "$(cat asker)" ]
}

@test "no question is like another, even of the same words" {
	echo same | apr-seal -r "$owner" >1
	echo same | apr-seal -r "$owner" >2
	run ! cmp -s 1 2
	[ "$(wc -c <1)" -eq $((40 + 5 + 16)) ]
	echo same | apr-seal -r "$owner" -k k >3
	[ "$(wc -c <3)" -eq $((40 + 32 + 5 + 16)) ]
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
	said 4 'is longer than any message (E002)'
}

@test "a byte changed, cut, or put to it: it does not open, and nothing comes out" {
	local n size
	echo 'some words' | apr-seal -r "$owner" -k k >message
	size=$(wc -c <message)
	set +T
	for ((n = 0; n < 200; n++)); do
		flip $n <message >flipped
		try apr-open -i owner.key -k made flipped
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
	said 4 'is no sealed message (E001)'
	printf 'APRM\2' | cat - <(head -c 60 /dev/zero) >version
	try apr-open -i owner.key version
	said 4 'is a message of version 2, this tool reads 1 (E003)'
}

@test "models that publish no key, and keys that are none" {
	local key
	try apr-seal -m "$model" </dev/null
	said 4 'publishes no inference_pub_key with its inference_protocol (E001)'
	for key in AAAA "$(printf 'A%.0s' {1..43})!" ''; do
		mkmodel <<-END >bad.gguf
			key inference_pub_key string $key
			key inference_protocol string x25519-aes256gcm-v1
		END
		try apr-seal -m bad.gguf </dev/null
		said 4 'its inference_pub_key is not 32 bytes in base64 (E002)'
	done
	mkmodel <<-END >bad.gguf
		key inference_pub_key string AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
		key inference_protocol string x25519-aes256gcm-v1
	END
	try apr-seal -m bad.gguf </dev/null
	said 1 'a public key with which nothing can be agreed (E005)'
	mkmodel <<-END >bad.gguf
		key inference_pub_key string AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
		key inference_protocol string p256-v2
	END
	try apr-seal -m bad.gguf </dev/null
	said 4 'its inference_protocol is not x25519-aes256gcm-v1 (E001)'
	mkmodel <<-END >bad.gguf
		key inference_pub_key u32 7
		key inference_protocol string x25519-aes256gcm-v1
	END
	try apr-seal -m bad.gguf </dev/null
	said 4 'publishes no inference_pub_key'
	try apr-seal -m missing </dev/null
	said 3
}

@test "wrong usage" {
	publish
	try apr-seal </dev/null
	said 2 'whom is it for'
	try apr-seal -m m.gguf -r "$owner" </dev/null
	said 2 'whom is it for'
	try apr-seal -m - </dev/null
	said 2 'standard input is the message'
	try apr-open </dev/null
	said 2 '-i FILE is missing'
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
	try apr-open -i owner.key -k made message
	said 1 'asks for no answer'
	[ ! -e made ]
}
