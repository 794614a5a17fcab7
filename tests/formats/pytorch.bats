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
