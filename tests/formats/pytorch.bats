# Files of PyTorch: real ones, and what the options do.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# The digest of names, shapes and bytes of all tensors, as Python's zipfile and pickle with stubs
# for the functions of PyTorch give them.
listed() {
	apr-unpack "$1" 2>/dev/null >m.aprs
	apr-header -l --json m.aprs |
		jq -r '[.name, (.shape | map(tostring) | join("x"))] | @tsv' |
		while IFS=$'\t' read -r name shape; do
			printf '%s\0%s\0' "$name" "$shape"
			apr-get "$name" m.aprs
		done | sha256sum | cut -d' ' -f1
}

@test "pytorch: real files have the tensors that Python finds in them" {
	need_data
	local file digest
	while read -r digest file; do
		[ "$(listed "$APR_TEST_DATA/import/pytorch/$file")" = "$digest" ] || fail "$file"
	done <<-'END'
		12a2ad6e441b5585a4156288c2c9f45747c8cc39f5d9eaa6aa91908be67d7c9d resnet20-12fca82f.th
		00c3ccc8b76829be848fe8db1c1190c67ff675ced8dd94080524c58f96f83e2a crepe-tiny.pth
		460b8d5261e5f357b6ae4ef1eaf679c1ae4967314250ac92bbda73eeebef135c silero_vad.jit
		84861ef3eb8f38a782e2c937e01168651c2bded8ad58ac4cda1ec632584b3e71 mtcnn/onet.pt
		e48a53e95c1d82bd61e553c6d70e4f49d67cc9a912a9a73b39787db0b13e01c2 mtcnn/pnet.pt
		47d9691cda29e1b2b5e6f87e8dfdd755f0ca4a9b49b47d4725b89afc72016559 mtcnn/rnet.pt
	END
}

# The storage of the made file has 24 bytes: the values 1 to 6.
made() {
	vectors torch_good .
}

@test "pytorch: views are read as the tensors that they show" {
	made
	local row name shape text
	apr-unpack views >v.aprs
	while read -r name shape text; do
		[ "$(apr-header -l --json v.aprs | jq -r --arg n "$name" 'select(.name == $n) |
			.shape | map(tostring) | join("x")')" = "$shape" ] || fail "$name: shape"
		row=$(apr-get --text "$name" v.aprs | tr -s '\n' ' ')
		[ "${row% }" = "$text" ] || fail "$name: $row"
	done <<-'END'
		plain 2x3 1 2 3 4 5 6
		turned 3x2 1 4 2 5 3 6
		column 2 2 5
		every_2 3 1 3 5
		expanded 2x3 4 4 4 4 4 4
		overlap 3x2 1 2 2 3 3 4
		tied 2x3 1 2 3 4 5 6
		box 2x1x3 1 2 3 4 5 6
	END
}

@test "pytorch: every form has the same tensors" {
	made
	local f
	apr-unpack views | apr-sum >want
	for f in views_deflated views_without_folder views_protocol_4 views_late_sizes; do
		apr-unpack "$f" | apr-sum | cmp - want || fail "$f"
	done
	for f in views views_deflated; do
		apr-unpack <"$f" | apr-sum | cmp - want || fail "$f from a descriptor"
		apr-unpack < <(cat "$f") | apr-sum | cmp - want || fail "$f from a pipe"
	done
	apr-unpack views_big_endian >big.aprs
	apr-unpack views >little.aprs
	cmp <(apr-get --text turned big.aprs) <(apr-get --text turned little.aprs)
	cmp <(apr-get --text plain big.aprs) <(apr-get --text plain little.aprs)
}

@test "pytorch: a checkpoint gives its model; options give other parts" {
	made
	try apr-unpack checkpoint
	grep -q 'read: the tensors of model.state_dict' "$err"
	grep -q 'tensors outside the model, which --all keeps: 1' "$err"
	[ "$(apr-header -l <"$out" | cut -d' ' -f1)" = module.w ]
	[ "$(apr-unpack --all checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1 | tr '\n' ' ')" = \
		'model.state_dict.module.w optimizer.state.0.avg ' ]
	[ "$(apr-unpack --key optimizer.state.0 checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1)" = avg ]
	[ "$(apr-unpack --prefix module. checkpoint 2>/dev/null | apr-header -l | cut -d' ' -f1)" = w ]
	try apr-unpack --key nothing checkpoint
	said 5 'has no key nothing'
	try apr-unpack --prefix nothing checkpoint
	said 5 'has no tensor whose name begins with nothing'
	try apr-unpack --all "$model"
	said 5 '--all needs a file of format pytorch'
}

@test "pytorch: --opaque passes calls over that no tensor depends on" {
	made
	try apr-unpack calls
	said 4 "is refused: its pickle calls os.system('id') (E001)"
	try apr-unpack --opaque calls
	[ "$status" -eq 0 ]
	grep -qF "passed over, and not made: calls in the pickle, such as os.system('id'): 1" "$err"
	try apr-unpack --opaque depends
	said 4 'does not lie in a storage of the file'
}

@test "pytorch: a tensor of qint8 is a Q8_TENSOR" {
	made
	[ "$(apr-unpack quantized | apr-get --text q)" = "$(printf '%s\n' '-1 -0.5' '0 62')" ]
}

# What looks like a pickle in a storage is weights: only what refers to a member decides.
@test "pytorch: weights that look like a pickle give no alarm" {
	made
	apr-unpack weights_like_a_pickle | apr-get w | head -c 12 | grep -q 'cos'
}

@test "pytorch: nothing is opened or started while a hostile pickle is read" {
	command -v strace >/dev/null || skip "no strace"
	made
	strace -f -o trace apr-unpack calls >/dev/null 2>&1 || true
	grep -q '"calls"' trace || skip "strace does not work here"
	sed '1,/"calls"/d' trace >after
	! grep -E 'execve\(|socket\(|connect\(' after
}

@test "pytorch: a sparse file of 100 GB lists its tensors" {
	made
	cp sparse_head big
	truncate -s $(($(wc -c <big) + 100000000000)) big
	try timeout 5 apr-header -l big
	quiet
	grep -Eq '^a +F32 +25000000000 +[0-9]+ 100000000000$' "$out"
}
