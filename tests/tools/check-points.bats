# The 100 points of apr-check: a model that passes, and for each point the fault that fails it and
# no other point
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# A good model of two blocks.
good() {
	local i

	cat <<-END
		key general.architecture string llama
		key general.license string mit
		key llama.block_count u32 2
		key llama.context_length u32 64
		key llama.embedding_length u32 32
		key llama.feed_forward_length u32 64
		key llama.attention.head_count u32 4
		key llama.attention.head_count_kv u32 2
		key llama.attention.layer_norm_rms_epsilon f32 0.00001
		key llama.vocab_size u32 8
		key tokenizer.ggml.model string llama
		key tokenizer.ggml.tokens array:string <unk> <s> </s> a b c d e
		key tokenizer.ggml.scores array:f32 0 0 0 -1 -2 -3 -4 -5
		key tokenizer.ggml.token_type array:i32 2 3 3 1 1 1 1 1
		key tokenizer.ggml.bos_token_id u32 1
		key tokenizer.ggml.eos_token_id u32 2
		tensor token_embd.weight F32 8x32 noise
	END
	for i in 0 1; do
		cat <<-END
			tensor blk.$i.attn_norm.weight F32 32 values 1 0.9 1.1
			tensor blk.$i.attn_q.weight F32 32x32 noise
			tensor blk.$i.attn_k.weight F32 16x32 noise
			tensor blk.$i.attn_v.weight F32 16x32 noise
			tensor blk.$i.attn_output.weight F32 32x32 noise
			tensor blk.$i.ffn_norm.weight F32 32 values 1 0.9 1.1
			tensor blk.$i.ffn_gate.weight F32 64x32 noise
			tensor blk.$i.ffn_up.weight F16 64x32 noise
			tensor blk.$i.ffn_down.weight F32 32x64 noise
		END
	done
	cat <<-END
		tensor output_norm.weight F32 32 values 1 0.9 1.1
		tensor output.weight F32 8x32 noise
	END
}

# Sets is to the points that do not pass in a file: "26:fail 27:warn"; n/a is not listed.
points() {
	try apr-check --json "$1"
	is=$(sed -nE 's/^\{"point":([0-9]+),.*"verdict":"(warn|fail)".*/\1:\2/p' "$out" | xargs)
}

# fails EXPECTED STATUS SED: the good model with this edit fails these points, and exits so.
fails() {
	good | sed -E "$3" | mkmodel >bad.gguf
	local is

	points bad.gguf
	[ "$is" = "$1" ] || fail "$3: fails '$is', not '$1'" "$(grep -v '"point"' "$out")"
	[ "$status" -eq "$2" ] || fail "$3: exit status $status, not $2" "$(cat "$err")"
}

# broken EXPECTED FILE: a file that its reader refuses fails this point alone, with exit 4.
broken() {
	local is

	points "$2"
	[ "$is" = "$1" ] || fail "$2: fails '$is', not '$1'" "$(grep -v '"point"' "$out")" "$(cat "$err")"
	[ "$status" -eq "${3:-4}" ] || fail "$2: exit status $status" "$(cat "$err")"
}

@test "the good model passes each point that applies, in each container" {
	local t

	good | mkmodel >good.gguf
	for t in gguf apr2 apr2-64; do
		apr-unpack good.gguf | apr-pack -t $t -f -o good.$t
		broken "" good.$t 0
	done
	apr-quant q8_0 good.gguf 2>/dev/null >good.q8
	broken "" good.q8 0
	grep -q '"point":34,.*"verdict":"pass"' "$out"
	apr-check good.gguf | tail -n 1 | grep -x 'score 100 of 100 (EXCELLENT): 2. of 2. points that apply pass'
}

# Points about the file around a model: vectors with one fault each, whose good twin passes.
vectors_of() {
	[ -e "$BATS_FILE_TMPDIR/$1" ] || { mkdir "$BATS_FILE_TMPDIR/$1" && "$1" "$BATS_FILE_TMPDIR/$1"; }
	cd "$BATS_FILE_TMPDIR/$1" || return
}

@test "CHECK-001 CHECK-002 CHECK-003 CHECK-004 CHECK-005: magic, header, version, checksum, JSON" {
	vectors_of apr2_faults
	broken "" good 0
	broken 1:fail apr2_magic_lower
	broken 2:fail apr2_data_after_hole
	broken 2:fail apr2_index_in_metadata
	broken 3:fail apr2_version_3_0
	broken 4:fail apr2_data_changed
	broken 4:fail apr2_footer_crc
	broken 5:fail apr2_json_cut
	broken 5:fail apr2_json_not_utf8
}

@test "CHECK-007 CHECK-008 CHECK-011 CHECK-012 CHECK-013 CHECK-014 CHECK-016: index, flags, footer, sizes" {
	vectors_of apr2_faults
	broken 7:fail apr2_names_unsorted
	broken 8:fail apr2_raw_size
	broken 11:warn apr2_odd_flag 0
	broken 12:fail apr2_footer_missing
	broken 12:fail apr2_footer_magic
	broken 13:warn apr2_odd_trailing_byte 0
	broken 14:fail apr2_offset_past_eof
	broken 16:fail apr2_metadata_size_over_256_mib
}

@test "CHECK-017 CHECK-018 CHECK-019 CHECK-021: names, dimensions and types of tensors" {
	vectors_of apr2_faults
	broken 17:fail apr2_name_not_utf8
	broken 18:fail apr2_name_twice
	broken 19:fail apr2_axes_9
	broken 21:fail apr2_dtype_255
}

@test "CHECK-006 CHECK-022: alignment of 1 byte, padding of 0xff" {
	local at

	{ echo 'key general.alignment u32 1'; good; } | mkmodel >bad.gguf
	broken 6:warn bad.gguf 0
	good | mkmodel >bad.gguf
	at=$(apr-header -l bad.gguf | awk 'NR == 1 { print $4 }')
	printf '\xff' | dd of=bad.gguf bs=1 seek=$((at - 1)) conv=notrunc status=none
	broken 22:warn bad.gguf 0
}

@test "CHECK-005 CHECK-006 CHECK-014 CHECK-017: safetensors, odd and refused" {
	# odd HEADER: a file with this header, and 8 bytes of data.
	odd() {
		{ printf "\\x$(printf %02x ${#1})\0\0\0\0\0\0\0%s" "$1" && printf '\0\0\200\77\0\0\0\100'; } >m.safetensors
	}
	odd '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  '
	broken "" m.safetensors 0
	odd '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} '
	broken 6:warn m.safetensors 0
	try apr-lint --only LINT-UNALIGNED m.safetensors
	said 1
	# A header that is not a multiple of 8 alone is not a fault.
	odd '{"a":{"dtype":"I8","shape":[8],"data_offsets":[0,8]}}'
	broken "" m.safetensors 0
	vectors_of safetensors_faults
	broken 5:fail safetensors_metadata_number
	broken 14:fail safetensors_data_same
	broken 14:fail safetensors_data_hole_first
	broken 17:fail safetensors_name_empty
}

@test "CHECK-009: a shard that is missing" {
	good | mkmodel | apr-unpack | apr-pack -t gguf --shard-size 20K -o m.gguf
	broken "" "$(echo m-00001-*.gguf)" 0
	rm m-00002-*.gguf
	broken 9:fail "$(echo m-00001-*.gguf)" 3
}

@test "CHECK-015 CHECK-020: a model without tensors, and a scalar, pass" {
	echo 'key general.architecture string llama' | mkmodel >empty.gguf
	try apr-check --json empty.gguf
	quiet
	grep -q '"point":15,.*"verdict":"pass"' "$out"
	printf 'tensor scale F32 - values 7\n' | mkmodel | apr-unpack | apr-pack -o scalar.apr
	apr-unpack scalar.apr >scalar
	try apr-check --json scalar
	[ "$status" -eq 0 ]
	grep -q '"point":19,.*"verdict":"pass"' "$out"
	[ "$(apr-header -l --json scalar | jq -c .shape)" = '[]' ]
}

@test "CHECK-023: a signature with one byte changed, and a key that did not sign" {
	apr-keygen -W -o key
	apr-keygen -W -o other
	good | mkmodel | apr-unpack | apr-sign key | apr-pack -o signed.apr
	try apr-check --json --trusted-key key.pub signed.apr
	[ "$status" -eq 0 ]
	grep -q '"point":23,.*"verdict":"pass"' "$out"
	try apr-check --json --trusted-key other.pub signed.apr
	[ "$status" -eq 1 ]
	[ "$(grep -c '"verdict":"fail"' "$out")" -eq 1 ]
	grep -q '"point":23,.*"verdict":"fail"' "$out"
	pipe 'tamper mother | apr-sign key 2>/dev/null | tamper sign_signature >changed.aprs'
	try apr-check --json --trusted-key key.pub changed.aprs
	[ "$status" -eq 1 ]
	grep -qF '(E006)' "$err"
	grep -q '"point":23,.*"verdict":"fail"' "$out"
}

@test "--policy: the rules of a team, as apr-lint has them, signatures too" {
	local id
	apr-keygen -W -o key
	apr-keygen -W -o other
	good | mkmodel | apr-unpack | apr-sign key | apr-pack -o m.apr
	id=$(sed -n 2p key.pub)
	echo '{"licenses":["mit"],"types":["F32","F16"],"signers":["'"$id"'"]}' >good.json
	echo '{"licenses":["gpl*"],"types":["F32"],"formats":["gguf"],"max_parameters":1,"require_signature":true}' >bad.json
	echo '{"licenses":["gpl*"]}' >licence.json
	try apr-check --policy good.json m.apr
	quiet
	grep -q 'signature *pass' "$out" # the key of the policy holds
	try apr-check --json --policy bad.json m.apr
	said 5 'm.apr: 6 findings of level error'
	sed -nE 's/.*"id":"(POLICY-[A-Z]*)".*/\1/p' "$out" >is
	apr-lint --json --only 'POLICY-*' --policy bad.json m.apr |
		sed -nE 's/.*"id":"(POLICY-[A-Z]*)".*/\1/p' >want
	diff <(sort -u want) <(sort -u is)
	# A key that did not sign; and that of the command line, which does.
	echo '{"signers":["'"$(sed -n 2p other.pub)"'"]}' >other.json
	try apr-check --policy other.json m.apr
	[ "$status" -eq 5 ]
	grep -q '^error: .*\[POLICY-SIGNATURE\]$' "$out"
	try apr-check --trusted-key key.pub --policy other.json m.apr
	[ "$status" -eq 5 ]
	echo '{"require_signature":true}' >any.json
	try apr-check --trusted-key key.pub --policy any.json m.apr
	[ "$status" -eq 0 ]
	pipe 'apr-check --pass --trusted-key key.pub --policy any.json m.apr | apr-pack -o same.apr'
	cmp m.apr same.apr
	try_pipe 'apr-check --pass --policy licence.json m.apr | apr-pack -o bad.apr'
	[ ! -e bad.apr ]
	grep -q 'POLICY-LICENSE' "$err"
	try apr-check --policy good.json <m.apr
	said 2 'a signature is verified only in a FILE'
	try apr-check --pass --policy good.json m.apr
	said 2 'a signature is verified only in a FILE'
	echo '{"licences":[]}' >bad.json
	try apr-check --policy bad.json m.apr
	said 4 'bad.json: licences is not a member of a policy'
	[ ! -s "$out" ]
	try apr-check --policy none.json m.apr
	said 3 none.json
}

@test "--trusted-key: a key or a model that does not exist, a damaged model" {
	apr-keygen -W -o key
	good | mkmodel | apr-unpack | apr-sign key | apr-pack -o m.apr
	try apr-check --trusted-key none.pub m.apr
	said 3 none.pub
	[ ! -s "$out" ]
	echo text >text.pub
	try apr-check --trusted-key text.pub m.apr
	said 4 text.pub
	try apr-check --trusted-key key.pub none.apr
	said 3 none.apr
	head -c 3000 m.apr >cut.apr
	try apr-check --json --trusted-key key.pub cut.apr
	[ "$status" -eq 4 ]
	! grep -q '"verdict":"fail"' "$out"
}

# An architecture with learned positions.
gpt2() {
	cat <<-END
		key general.architecture string gpt2
		key gpt2.context_length u32 16
		key gpt2.embedding_length u32 32
		tensor token_embd.weight F32 8x32 noise
		tensor position_embd.weight F32 $1x32 noise
	END
}

@test "CHECK-026 CHECK-027 CHECK-041: values that are not finite, halves that overflow" {
	fails 26:fail 5 '/blk.1.attn_q/s/noise/values 0.1 -0.1 0x7fc00000 0.2/'
	fails 27:fail 5 '/blk.1.attn_q/s/noise/values 0.1 -0.1 0x7f800000 0.2/'
	# An infinite half fails both: that is what an overflow makes.
	fails "27:fail 41:fail" 5 '/blk.1.ffn_up/s/noise/values 0.1 -0.1 0x7c00 0.2/'
}

@test "CHECK-028 CHECK-029 CHECK-030 CHECK-031 CHECK-034 CHECK-035: means and deviations" {
	fails 28:fail 5 '/output_norm/s/values .*/values 11/'
	fails 28:fail 5 '/blk.1.attn_norm/s/values .*/values 11 10.9 11.1/'
	gpt2 16 | sed '$a tensor blk.0.attn_norm.weight F32 32 values 1 0.9 1.1
		$a tensor blk.0.attn_norm.bias F32 32 values 5 5.1 4.9' | mkmodel >bad.gguf
	broken 29:warn bad.gguf 0
	fails 30:warn 0 '/token_embd/s/noise/values 1 -1 1.5 -1.5 0.5 -0.4 0.9 -1/'
	fails 31:warn 0 '/blk.0.attn_o/s/noise/values 0/'
	fails 34:warn 0 '/blk.1.ffn_down/s/F32/Q8_0/' # noise has bytes of every value
	fails 35:warn 0 '/blk.0.attn_v/s/noise/values 1 0.9 1.1 1.05/'
}

@test "CHECK-032 CHECK-033: a shape that is cut, a vocabulary of another size" {
	fails 32:fail 5 '/blk.1.attn_k/s/16x32/15x32/'
	fails 32:fail 5 '/blk.0.attn_norm/s/F32 32/F32 31/'
	fails 32:fail 5 '/blk.1.ffn_gate/s/64x32/32x64/'
	fails 33:fail 5 '/vocab_size/s/8/9/'
	fails 33:fail 5 '/vocab_size/d; /^tensor (token_embd|output).weight/s/8x32/7x32/'
}

@test "CHECK-038: positions that are cut" {
	gpt2 16 | mkmodel >good.gguf
	broken "" good.gguf 0
	gpt2 15 | mkmodel >bad.gguf
	broken 38:fail bad.gguf 5
}

# mels BANDS VALUES…
mels() {
	printf 'key n_mels u32 %s\ntensor mel_filters F32 80x4 values %s\n' "$1" "${*:2}"
}

@test "CHECK-037 CHECK-048: mel filters that are negative, or of another number of bands" {
	mels 80 0 0.1 0.2 | mkmodel >good.gguf
	broken "" good.gguf 0
	mels 80 0 -0.1 0.2 | mkmodel >bad.gguf
	broken 37:warn bad.gguf 0
	mels 128 0 0.1 0.2 | mkmodel >bad.gguf
	broken 48:fail bad.gguf 5
}

@test "CHECK-084 CHECK-085: a vocabulary that is cut, ids outside of it" {
	fails 84:fail 5 '/ggml.scores/s/ -5//'
	fails 84:fail 5 '/ggml.token_type/s/$/ 1/'
	fails 84:fail 5 '1i key tokenizer.ggml.merges array:string ab'
	fails 85:fail 5 '/bos_token_id/s/u32 1/u32 8/'
	fails 85:fail 5 '/eos_token_id/s/u32 2/u32 1000/'
}

@test "rules beyond the points: tensors that are missing, biases, chat templates" {
	# finds ID SED: the edited model has a finding of this rule.
	finds() {
		good | sed -E "$2" | mkmodel >bad.gguf
		try apr-check bad.gguf
		grep -q "\[$1\]" "$out" || fail "$2: no $1" "$(cat "$out")"
	}
	finds MODEL-MISSING '/blk.1.attn_v/d'
	finds MODEL-SIZES '/head_count u32/s/u32 4/u32 0/'
	finds MODEL-SIZES '/block_count/s/u32 2/u32 0/'
	[ "$status" -eq 5 ]
	finds MODEL-BIAS '/blk.0.attn_q/a tensor blk.0.attn_q.bias F32 32 noise'
	finds MODEL-UNKNOWN '$a tensor other F32 4 noise'
	[ "$status" -eq 0 ]
	finds MODEL-ARCHITECTURE '/general.architecture/s/llama/nobody/'
	finds MODEL-TEMPLATE '1i key tokenizer.chat_template string {% if a %}x{% endfor %}'
	finds MODEL-TEMPLATE '1i key tokenizer.chat_template string {{ a'
}

@test "CHECK-067: --stats-only names each tensor; a corrupt source is refused" {
	good | mkmodel | apr-unpack | apr-pack -t safetensors -o m.safetensors
	apr-check --stats-only m.safetensors >list
	[ "$(grep -c '^PASS ' list)" -eq 21 ]
	head -c 3000 m.safetensors >cut.safetensors
	try apr-check --stats-only cut.safetensors
	[ "$status" -eq 4 ]
	good | sed '/blk.1.attn_v/s/16x32/17x32/' | mkmodel >bad.gguf
	try apr-check --stats-only bad.gguf
	[ "$status" -eq 5 ]
	grep '^FAIL blk.1.attn_v.weight: .*\[CHECK-032\]$' "$out"
	for i in {1..100}; do echo "tensor t$i F32 2 values 0x7fc00000"; done | mkmodel >bad.gguf
	try apr-check --stats-only bad.gguf
	[ "$(grep -c '^FAIL t.*\[CHECK-026\]$' "$out")" -eq 100 ]
}

@test "CHECK-068 CHECK-069: a bad tensor in a pipe makes no file; --relaxed only reports" {
	good | mkmodel >good.gguf
	good | sed '/output_norm/s/1 0.9 1.1/0x7fc00000 0.9/' | mkmodel >bad.gguf
	pipe 'apr-unpack good.gguf | apr-check --pass | apr-pack -t gguf -o same.gguf'
	cmp good.gguf same.gguf
	pipe 'apr-check --pass good.gguf | apr-pack -t gguf -f -o same.gguf'
	cmp good.gguf same.gguf
	try_pipe 'apr-unpack bad.gguf | apr-check --pass | apr-pack -o m.apr'
	[ "$status" -ne 0 ]
	[ ! -e m.apr ]
	grep -q 'CHECK-026' "$err"
	try apr-check --pass bad.gguf
	[ "$status" -eq 5 ]
	pipe 'apr-unpack bad.gguf | apr-check --pass --relaxed | apr-pack -o m.apr'
	[ -e m.apr ]
}

@test "CHECK-062: int8 has a quarter of the bytes of F32" {
	echo 'tensor blk.0.ffn_up.weight F32 512x512 noise' | mkmodel | apr-unpack |
		apr-quant int8 2>/dev/null >q
	[ "$(apr-header -l q | awk '{ print $NF }')" -le $((512 * 512 + 8)) ]
}

@test "CHECK-076: a text with the suffix of a model is refused" {
	echo 'not a model, but a text of some length' >m.safetensors
	try apr-unpack m.safetensors
	[ "$status" -eq 4 ]
	[ ! -s "$out" ]
	broken 1:fail m.safetensors
}

@test "CHECK-096 CHECK-097: -o names the output, which replaces a file only with -f" {
	good | mkmodel >good.gguf
	apr-unpack good.gguf | apr-pack -o m.apr
	[ -s m.apr ]
	echo old >old.apr
	try_pipe 'apr-unpack good.gguf | apr-pack -o old.apr'
	[ "$status" -eq 2 ]
	[ "$(cat old.apr)" = old ]
	apr-unpack good.gguf | apr-pack -f -o old.apr
	cmp m.apr old.apr
}

@test "--list has 100 points; apr-checklist(7) is that list; each test that it names exists" {
	apr-check --list --json >list
	[ "$(wc -l <list)" -eq 100 ]
	[ "$(apr-check --list | wc -l)" -eq 100 ]
	sed -nE 's/^\{"point":([0-9]+),"id":"([^"]*)","name":"([^"]*)","category":"(.)","held":"([^"]*)","where":"([^"]*)","claim":"([^"]*)"\}$/.It \2 \3\n\7;\nheld: \5, \6/p' list >is
	sed -n '/^\.It CHECK-/,/^held: /p' "$BATS_TEST_DIRNAME/../../man/apr-checklist.7" >page
	diff page is
	grep -vi manual list >/dev/null
	# One row a line: identifier and file.
	sed -nE 's/.*"id":"([^"]*)".*"held":"(model|test)","where":"([^"]*)".*/\1 \3/p' list |
		while read -r id file; do
			grep -q "^@test .*$id[ :,)]" "$BATS_TEST_DIRNAME/../$file" ||
				fail "$id: no test of $file has it in its name" || return
		done
	! grep -q '"where":""' list
}

@test "selections, --min-score, --all, --junit, --sarif, and wrong usage" {
	good | sed '/bos_token_id/s/u32 1/u32 8/' | mkmodel >bad.gguf
	try apr-check --except 85 bad.gguf
	[ "$status" -eq 0 ]
	try apr-check --category B bad.gguf
	[ "$status" -eq 0 ]
	try apr-check --only special-tokens,CHECK-084,1-3 bad.gguf
	[ "$status" -eq 5 ]
	grep -x 'score 80 of 100 (GOOD): 4 of 5 points that apply pass' "$out"
	good | sed '1i key general.alignment u32 1' | mkmodel >odd.gguf
	try apr-check --min-score 99 odd.gguf
	[ "$status" -eq 5 ]
	try apr-check --min-score 90 odd.gguf
	[ "$status" -eq 0 ]
	apr-check --all odd.gguf | grep -x '  7  index-order      n/a   models of this format cannot fail it'
	apr-check --junit odd.gguf | grep -q '<testcase .*CHECK-006'
	apr-check --sarif odd.gguf | grep -q '"ruleId":"CHECK-006"'
	for bad in '--only 0' '--only 101' '--only nobody' '--category E' '--json --sarif' \
		'--relaxed' '--min-score 101' '--pass --json'; do
		try apr-check $bad odd.gguf
		[ "$status" -eq 2 ] || fail "$bad: exit status $status"
	done
	try apr-check nobody.gguf
	[ "$status" -eq 3 ]
	# A reference that breaks behind its head is not used.
	good | mkmodel | apr-unpack | apr-pack -o whole.apr
	cp whole.apr changed.apr
	printf '\x55\xaa' | dd of=changed.apr bs=1 seek=20000 conv=notrunc status=none
	try apr-check --stats-from changed.apr whole.apr
	said 4 'its data is damaged'
	[ ! -s "$out" ]
}

@test "CHECK-027 CHECK-031: constants of a graph, and states of two directions, are not weights" {
	local inf='$atensor mask F32 1 values 0xff800000' zero='$atensor state F32 2x8 values 0'

	fails '' 0 "$inf"
	fails '27:fail' 5 "${inf/F32 1/F32 2}"
	fails '27:fail' 5 "s/(output_norm.weight .* values) .*/\1 0xff800000 1/"
	fails '' 0 "$zero"
	fails '31:warn' 0 "${zero/2x8/3x8}"
}

@test "a tensor that all blocks lack, or that has the number of another block, is missing" {
	local edit

	for edit in '/token_embd/d' '/output_norm/d' '/attn_v/d' 's/blk.1.ffn_up/blk.7.ffn_up/'; do
		good | sed -E "$edit" | mkmodel >bad.gguf
		try apr-check bad.gguf
		[ "$status" -eq 5 ] || fail "$edit: exit status $status" || return
		grep -q '^error: .*\[MODEL-MISSING\]$' "$out"
	done
	good | sed '/ blk/d' | mkmodel >part.gguf
	apr-check part.gguf >list
	grep -q '^warning: .*\[MODEL-MISSING\]$' list
	{ echo 'key general.type string adapter'; good | grep -v attn_v; } | mkmodel >adapter.gguf
	apr-check adapter.gguf >list
	! grep MODEL-MISSING list
}

# alarms FILE: sets is to the rules of level warning and error that find something in a real model.
alarms() {
	try apr-check "$1"
	is=$(sed -nE 's/^(error|warning): .*\[([A-Z0-9-]+)\]$/\2/p' "$out" | sort -u | xargs)
}

@test "real models: no alarm, except those with a reason" {
	need_data
	local f is n=0

	cd "$APR_TEST_DATA"
	while IFS= read -r f; do
		alarms "$f"
		n=$((n + 1))
		case $f in
		*/llama2-hf/*) # its feed-forward holds random bytes: infinities, and dead rows
			[[ $is == *CHECK-027* ]] || fail "$f: no infinite value is found" || return
			;;
		*/cohere/*) # its licence, cc-by-nc-4.0, is not commercial
			[ -z "$is" ] || [ "$is" = SEC-LICENSE ] || fail "$f: $is" || return
			;;
		*/deepseek[23]/hf | */phi3/hf) # config.json names Python files of the model
			[ "$is" = SEC-CODE ] || fail "$f: $is" || return
			;;
		*/aprender-history-*.safetensors) # tensors of 4 bytes a value lie at odd offsets
			[ -z "$is" ] || [ "$is" = CHECK-006 ] || fail "$f: $is" || return
			;;
		*/for-tests-ggml-tiny.bin) # its converter put U+FFFD for bytes: 574 tokens have one text
			[ "$is" = CHECK-084 ] || fail "$f: $is" || return
			;;
		*) [ -z "$is" ] || fail "$f: $is" "$(cat "$out")" || return ;;
		esac
	done < <(
		find ./models ./vocab ./convert ./import/pytorch ./import/ggml ./upstream-apr -type f \
			\( -name '*.gguf' -o -name '*.safetensors' -o -name '*.pt' -o -name '*.apr' \
			-o -name 'for-tests-*.bin' \) ! -name '*-aco.apr' ! -path '*/fault*' ! -path '*/bad*'
		find ./import/onnx ./import/tflite ./import/numpy ./import/coreml -type f \
			\( -name '*.onnx' -o -name '*.tflite' -o -name '*.np[yz]' -o -name '*.mlmodel' \) \
			! -path '*.mlpackage/*'
		find ./convert -name config.json -path '*/hf/config.json' -exec dirname {} \;
	)
	echo "# $n models" >&3
	[ "$n" -ge 100 ]
}
