# apr-sum: digests of a model's content, and whether they are as listed
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# A model of two small tensors; other.gguf differs in one value of the second.
small() {
	mkmodel >small.gguf <<-END
		key general.architecture string llama
		tensor a.weight F32 8x64 noise
		tensor b.weight F32 4 values 1 2 3 4
	END
	mkmodel >other.gguf <<-END
		key general.architecture string llama
		tensor a.weight F32 8x64 noise
		tensor b.weight F32 4 values 1 2 3 5
	END
}

@test "apr-sum passes the exam" {
	exam report apr-sum
	exam report apr-sum --sha256
	exam report apr-sum --gguf-hash
}

@test "the lines do not depend on the container, nor on threads" {
	local form threads
	for form in '' --sha256; do
		apr-sum $form "$model" >want
		[ "$(wc -l <want)" -ge 30 ]
		apr-unpack "$model" | apr-pack -f -o model.apr
		apr-sum $form model.apr | diff want -
		apr-unpack model.apr | apr-pack -f -t gguf -o back.gguf
		apr-sum $form back.gguf | diff want -
		for threads in 1 2 3 16; do
			apr-unpack "$model" | apr-sum $form -j $threads | diff want -
		done
	done
}

@test "the last line is the root that a signature is made of" {
	apr-keygen -W -o key
	apr-sign key "$model" >signed
	apr-verify key.pub signed >/dev/null 2>said
	root_line=$(apr-sum "$model" | tail -n 1)
	[[ $root_line =~ ^[0-9a-f]{64}\ \ content\ \ root$ ]]
	grep -qF "root ${root_line:0:64}" said
	# The signature is not part of the content.
	apr-sum "$model" >want
	apr-sum signed | diff want -
}

@test "--sha256: what another program finds in the stream" {
	apr-unpack "$model" >stream
	digests <stream >want
	apr-sum --sha256 stream | awk '{ print $2, $3, $1 }' | diff want -
	[ "$(wc -l <want)" -eq 30 ]
}

@test "a line tells type and shape; a name stays on its line" {
	mkmodel >odd.gguf <<-'END'
		key general.architecture string llama
		tensor two\x0alines F32 4x8 ramp
		tensor a\s\sb F16 - ramp
	END
	apr-sum --sha256 odd.gguf >lines
	[ "$(wc -l <lines)" -eq 2 ]
	grep -q '^[0-9a-f]\{64\}  two\\x0alines  F32 4x8$' lines
	grep -q '^[0-9a-f]\{64\}  a  b  F16 scalar$' lines
	apr-sum --sha256 -c lines odd.gguf
	apr-sum odd.gguf >lines
	grep -q '^[0-9a-f]\{64\}  tensor  two\\x0alines  F32 4x8$' lines
	apr-sum -c lines odd.gguf
}

@test "--json: the same, an object a line" {
	local form
	small
	for form in '' --sha256 --gguf-hash; do
		apr-sum $form --json small.gguf >lines
		objects <lines
		apr-sum $form small.gguf | grep -o '[0-9a-f-]\{36,64\}' >want
		sed 's/.*"digest":"\([^"]*\)".*/\1/' lines | diff want -
	done
	apr-sum --json small.gguf | grep -qF \
		'"kind":"tensor","name":"a.weight","dtype":"F32","shape":[8,64]}'
	apr-sum --json small.gguf | grep -qF '"kind":"content","name":"root"}'
	apr-sum --gguf-hash --json small.gguf | grep -q '^{"hash":"uuid",.*"name":"small.gguf"}$'
}

@test "-c: as listed, in any order" {
	local form
	small
	for form in '' --sha256 --gguf-hash; do
		apr-sum $form small.gguf | sort -r >list
		try apr-sum $form -c list small.gguf
		quiet
		[ ! -s "$out" ]
		# A duplicate line is accepted.
		cat list list >twice
		try apr-sum $form -c twice small.gguf
		quiet
		try apr-sum $form -c - small.gguf <list
		quiet
	done
}

@test "-c: what differs, is missing or not listed, is named" {
	small
	apr-sum --sha256 small.gguf >list
	try apr-sum --sha256 -c list other.gguf
	[ "$status" -eq 1 ]
	diff "$err" - <<-END
		apr-sum: b.weight  F32 4: differs
		apr-sum: list: 1 line is not as in the model
	END
	head -n 1 list >short
	try apr-sum --sha256 -c short small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: b.weight  F32 4: is not listed' "$err"
	sed 's/b.weight/c.weight/' list >renamed
	try apr-sum --sha256 -c renamed small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: c.weight  F32 4: is listed, but missing' "$err"
	grep -qF 'list' "$err"
	grep -qF '2 lines are not' "$err"
	# The shape counts as well as the bytes.
	sed 's/F32 8x64/F32 64x8/' list >shape
	try apr-sum --sha256 -c shape small.gguf
	[ "$status" -eq 1 ]
	# A list of another kind.
	try apr-sum -c list small.gguf
	[ "$status" -eq 1 ]
	# Metadata is content too.
	apr-sum small.gguf >list
	mkmodel >renamed.gguf <<-END
		key general.architecture string gpt2
		tensor a.weight F32 8x64 noise
		tensor b.weight F32 4 values 1 2 3 4
	END
	try apr-sum -c list renamed.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: content  metadata: differs' "$err"
	grep -qx 'apr-sum: content  root: differs' "$err"
}

@test "-c: what is no list" {
	small
	apr-sum small.gguf >list
	try apr-sum -c no-such-list small.gguf
	said 3 'no-such-list: cannot be opened'
	: >empty
	try apr-sum -c empty small.gguf
	said 4 'empty: lists nothing (E002)'
	{ cat list; echo 'and more'; } >noise
	try apr-sum -c noise small.gguf
	said 4 "noise: line $(($(wc -l <list) + 1)) is not a digest and a name (E002)"
	tr a-f A-F <list >upper
	try apr-sum -c upper small.gguf
	said 4 'line 1 is not a digest'
	sed -n 1p list | sed 's/^./f/; s/^f\(f.*\)/0\1/' | cat - list >both
	try apr-sum -c both small.gguf
	said 4 'twice, with different digests (E002)'
	try apr-sum --gguf-hash -c list small.gguf
	said 4 'line 1 is not a line of gguf-hash (E002)'
	# A list is looked at before the model, which may be long.
	try apr-sum -c noise no-such-model
	said 4 'noise'
	try apr-sum -c list <small.gguf
	said 4 '(E001)'
}

@test "options that exclude each other" {
	small
	try apr-sum --sha256 --gguf-hash small.gguf
	said 2 '--sha256 and --gguf-hash'
	try apr-sum -c list --json small.gguf
	said 2 '-c and --json cannot be combined'
	try apr-sum -c - <small.gguf
	said 2 'both be standard input'
}

# The data of this file has no padding, so the hash of the whole covers all of it.
all_data() {
	tail -c "+$(($(apr-header --json "$model" | sed 's/.*"data_offset":\([0-9]*\).*/\1/') + 1))" \
		"$model"
}

uuid() {
	local h
	h=$({ printf '\xef\x00\x12\x06\xda\xdc\x5f\x6d\xa1\x5f\x33\x59\xe5\x77\xd4\xe5'; all_data; } |
		sha1sum)
	printf '%s-%s-5%s-%x%s-%s\n' "${h:0:8}" "${h:8:4}" "${h:13:3}" \
		$((8 | 0x${h:16:1} & 3)) "${h:17:3}" "${h:20:12}"
}

@test "--gguf-hash: the lines of gguf-hash, computed by other programs" {
	local whole
	whole=$(all_data | sha256sum)
	{
		apr-unpack "$model" | digests | awk '{ print "sha256    " $3 "  model.gguf:" $1 }'
		echo "sha256    ${whole%% *}  model.gguf"
		echo "uuid      $(uuid)  model.gguf"
	} >want
	ln -s "$model" model.gguf
	apr-sum --gguf-hash model.gguf | diff want -
	apr-sum --gguf-hash -j 1 model.gguf | diff want -
	apr-unpack model.gguf | apr-pack -o model.apr
	apr-sum --gguf-hash model.apr | sed 's/model.apr/model.gguf/' | diff want -
	apr-sum --gguf-hash <model.gguf 2>/dev/null && fail "a GGUF file is no stream"
	apr-unpack model.gguf | apr-sum --gguf-hash | sed 's/  -/  model.gguf/' | diff want -
}

@test "--gguf-hash -c: lists as gguf-hash makes them" {
	small
	apr-sum --gguf-hash small.gguf | sed 's|small.gguf|/somewhere/the:model.gguf|' >list
	try apr-sum --gguf-hash -c list small.gguf
	quiet
	# --no-layer, without --uuid, tensors only, one tensor: only listed lines count.
	grep -v 'weight$' list >whole
	grep -v '^uuid' list >no-uuid
	grep 'weight$' list >tensors
	for part in whole no-uuid tensors; do
		[ "$(wc -l <$part)" -eq 2 ] || [ $part = no-uuid ]
		try apr-sum --gguf-hash -c $part small.gguf
		quiet
	done
	grep 'b.weight$' list >one
	try apr-sum --gguf-hash -c one small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: sha256 small.gguf:a.weight: is not listed' "$err"
	[ "$(wc -l <"$err")" -eq 2 ]
	# --all: other hashes are ignored, with a note.
	{
		echo 'xxh64     f66e9cd66a4396a0  x.gguf:a.weight'
		echo 'sha1      59f79ecefd8125a996fdf419239051a7e99e5f20  x.gguf:a.weight'
		cat list
	} >all
	try apr-sum --gguf-hash -c all small.gguf
	[ "$status" -eq 0 ]
	diff "$err" - <<<'apr-sum: all: 2 lines of other hashes are ignored'
	head -n 2 all >others
	try apr-sum --gguf-hash -c others small.gguf
	said 4 'lists nothing except hashes that apr-sum does not compute (E002)'
}

@test "--gguf-hash -c: what is not as listed" {
	small
	apr-sum --gguf-hash small.gguf >list
	try apr-sum --gguf-hash -c list other.gguf
	[ "$status" -eq 1 ]
	diff "$err" - <<-END
		apr-sum: sha256 other.gguf:b.weight: differs
		apr-sum: sha256 other.gguf: differs
		apr-sum: uuid other.gguf: differs
		apr-sum: list: 3 lines are not as in the model
	END
	grep -v a.weight list >short
	try apr-sum --gguf-hash -c short small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: sha256 small.gguf:a.weight: is not listed' "$err"
	sed 's/a.weight/c.weight/' list >renamed
	try apr-sum --gguf-hash -c renamed small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: sha256 small.gguf:c.weight: is listed, but missing' "$err"
	sed 's/^uuid      ./uuid      -/' list >wrong
	try apr-sum --gguf-hash -c wrong small.gguf
	[ "$status" -eq 1 ]
	grep -qx 'apr-sum: uuid small.gguf: differs' "$err"
}

# The hash over all tensors goes by the index; gguf-hash reads no such file.
@test "--gguf-hash refuses an index in another order than the data" {
	vectors gguf_good good
	try apr-sum --gguf-hash good/gguf_index_order
	said 5 'different orders'
	try apr-sum --sha256 good/gguf_index_order
	quiet
}

@test "every sound file has digests" {
	local f n=0
	vectors gguf_good good
	vectors stream_good good-streams
	for f in good/* good-streams/*; do
		[ "${f##*/}" != MANIFEST ] || continue
		APR_LOG_LEVEL=error try apr-sum "$f"
		quiet
		grep -q '  content  root$' "$out"
		mv "$out" list
		APR_LOG_LEVEL=error try apr-sum -c list "$f"
		quiet
		n=$((n + 1))
	done
	[ $n -gt 40 ]
}
