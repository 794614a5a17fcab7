# Files of ONNX: real ones, and made ones with what those lack.
load ../helper

setup_file() {
	vectors onnx_good "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return
	export APR_LOG_LEVEL=error
}

# The digest of names, types and shapes of all tensors, and of their bytes.
listed() {
	local made=$BATS_TEST_TMPDIR/m
	apr-unpack "$1" >"$made.aprs"
	apr-pack -f -t safetensors -o "$made.safetensors" "$made.aprs"
	{
		apr-header -l --json "$made.aprs" | jq -r '[.name, .dtype,
			(.shape | map(tostring) | join("x") | if . == "" then "scalar" else . end)] | join(" ")'
		tail -c +$(($(od -An -tu8 -N8 "$made.safetensors") + 9)) "$made.safetensors"
	} | sha256sum | cut -d' ' -f1
}

# The digests come from a reader in another language that shares no code with this one.
@test "onnx: real files have the tensors that another reader finds in them" {
	need_data
	local file digest
	while read -r digest file; do
		[ "$(listed "$APR_TEST_DATA/import/onnx/$file")" = "$digest" ] || fail "$file"
	done <<-'END'
		96f58a010777c480335a28983f59faf8aa306e7bd118edc72ae861a3c934ed27 magika_standard_v3_3/model.onnx
		4d6c0b73a12a3af461f6607ece4cad7c5394e5fd3a12df9ae9073a38f461c2ed mnist-cntk-opset1/model.onnx
		af1ab6f76626dfab52efd478f935b490593a476fcff9f5dba220adaa34951e87 mnist-opset8/model.onnx
		1832842d5b913c613b525da95e25a7575c5a4847e8178f1317d9de1275051c2f silero/silero_vad.onnx
		afacda1fee04024658794cbb8aa3e3430cfd9ce173624798d34640974aae0221 silero/silero_vad_16k_op15.onnx
		ad594c2f78f5af0820a0e511839821634e43039cc32f7e989248201ef67cfc80 silero/silero_vad_half.onnx
		a2f8830e4c8ce715adeaf4bb8ae87d56b013b1b25ee5bb5169728b98a08fc453 tract/byte_sb_bidi_lstm/model.onnx
		9642d2365ae7f19bf7a8a36c43a98987fa7771dfd04d11310ef7ff7a65e00d42 tract/lgbm_classifier_tensor/model.onnx
		a580a9871b5c1ac70af27f56e7edcf2e42bd974c8fd5189f650df6b11460598e tract/lgbm_regressor_tensor/model.onnx
		45dd06040afdaf249a51e5744aa8a728229808c45189cef0229ae8d2ac3808b2 tract/qlstm_3-2-3_T3_S1/model.onnx
	END
}

# values FILE: each tensor's name, type and values on one line.
values() {
	local name type
	apr-unpack "$1" >"$BATS_TEST_TMPDIR/v.aprs"
	apr-header -l --json "$BATS_TEST_TMPDIR/v.aprs" | jq -r '[.name, .dtype] | join(" ")' |
		while read -r name type; do
			printf '%s %s %s\n' "$name" "$type" \
				"$(apr-get --text "$name" "$BATS_TEST_TMPDIR/v.aprs" | tr -s '\n' ' ')"
		done 2>/dev/null | sed "s/ *$//"
}

@test "onnx: every type has the same values in raw_data and in its typed field" {
	local text name type want
	text=$(values types)
	while read -r name type want; do
		grep -qxF "$name.raw $type $want" <<<"$text" || fail "$name.raw" "$text"
		grep -qxF "$name.typed $type $want" <<<"$text" || fail "$name.typed" "$text"
	done <<-'END'
		FLOAT F32 1 -2
		UINT8 U8 1 255
		INT8 I8 1 -2
		UINT16 U16 1 65535
		INT16 I16 1 -2
		INT32 I32 1 -2
		INT64 I64 1 -2
		BOOL BOOL 1 0
		FLOAT16 F16 1 -2
		DOUBLE F64 1 -2
		UINT32 U32 1 4294967295
		UINT64 U64 1 2
		BFLOAT16 BF16 1 -2
		FLOAT8E4M3FN F8_E4M3 1 -2
		FLOAT8E4M3FNUZ F16 1 -2 0.0009765625 240 nan
		FLOAT8E5M2 F8_E5M2 1 -2
		FLOAT8E5M2FNUZ F16 1 -2 7.6293945e-06 57344 nan
		UINT4 U8 1 15 7
		INT4 I8 1 -1 7
		FLOAT4E2M1 F16 0.5 -6 6
		UINT2 U8 0 1 2 3 2
		INT2 I8 0 1 -2 -1 -2
	END
	cmp <(apr-unpack types | apr-get COMPLEX64.raw) <(apr-unpack types | apr-get COMPLEX64.typed)
	cmp <(apr-unpack types | apr-get FLOAT8E8M0.raw) <(printf '\x7f\x80')
	[ "$(apr-unpack types | apr-meta get onnx.tensors | jq -r '."INT4.raw".type')" = INT4 ]
}

@test "onnx: tensors are found in all places, and keys say what the file says" {
	values places >"$BATS_TEST_TMPDIR/places"
	diff - "$BATS_TEST_TMPDIR/places" <<-'END'
		c1 F32 1 2
		c2 F32 0.5
		c3 F32 1 2 3
		c4 I64 -7
		c5 I64 4 5
		c7.values F32 1 2
		c7.indices I64 1 4
		in~2 F32 8
		in~3 F32 9
		in F32 1 2
		scalar F32 1
		empty F32
		noted F32 1 2
		sp.values F32 1 2
		sp.indices I64 0 1 1 0
		inner F32 3
	END
	apr-unpack --dense places >"$BATS_TEST_TMPDIR/dense"
	[ "$(apr-get sp "$BATS_TEST_TMPDIR/dense" | od -An -tf4 -v | tr -s ' \n' ' ')" = ' 0 1 0 2 0 0 ' ]
	apr-unpack places | apr-header --json | jq -c '.metadata' >"$BATS_TEST_TMPDIR/keys"
	grep -qF 'x: FLOAT [batch, 3, ?]' "$BATS_TEST_TMPDIR/keys"
	! grep -qF 'in: FLOAT' "$BATS_TEST_TMPDIR/keys"
	grep -qF 'y: INT64 []' "$BATS_TEST_TMPDIR/keys"
	grep -qF 'com.microsoft 1' "$BATS_TEST_TMPDIR/keys"
	apr-unpack places >"$BATS_TEST_TMPDIR/p.aprs"
	while read -r key want; do
		[ "$(apr-meta get "$key" "$BATS_TEST_TMPDIR/p.aprs")" = "$want" ] || fail "$key"
	done <<-'END'
		onnx.ir_version 8
		onnx.producer_name maker
		onnx.producer_version 1.0
		onnx.domain some.domain
		onnx.model_version 3
		onnx.doc_string about the model
		onnx.graph.name main
		onnx.graph.doc_string about the graph
		onnx.metadata.author nobody
	END
}

@test "onnx: text and unknown fields stay in the graph, with a note" {
	unset APR_LOG_LEVEL
	try apr-unpack places
	[ "$status" -eq 0 ]
	grep -q 'left in the graph: tensors of text: 2' "$err"
	grep -q 'left in the graph: fields that are not known: 1' "$err"
}

@test "onnx: names follow nodes, and a key keeps what the file says" {
	local want
	[ "$(apr-unpack names | apr-header -l | cut -d' ' -f1 | head -12 | tr '\n' ' ')" = \
		"enc.fc1.weight~3 enc.fc1.weight~4 stem.weight stem.bias onnx::MatMul_5 onnx::MatMul_6 onnx::Add_7 head.weight plain.weight a.b.weight enc.fc1.weight enc.fc1.weight~2 " ]
	apr-unpack names | apr-meta get onnx.tensors >"$BATS_TEST_TMPDIR/json"
	while read -r want; do
		jq -e "$want" "$BATS_TEST_TMPDIR/json" >/dev/null || fail "$want" "$(cat "$BATS_TEST_TMPDIR/json")"
	done <<-'END'
		."enc.fc1.weight~3" == {"name": "onnx::MatMul_1", "turned": true}
		."stem.bias" == {"name": "onnx::Conv_4"}
		."onnx::MatMul_5" == {"turned": true}
		."a.b.weight" == {"name": "/a/b/weight"}
		."plain.weight" == {"turned": true}
		has("head.weight") | not
		has("enc.fc1.weight") | not
		.q == {"scale": "q_scale", "zero_point": "q_zero", "axis": 0}
		.nb == {"scale": "nb_scale", "bits": 4, "block_size": 32}
		.annotated == {"scale": "q_scale", "zero_point": "q_zero"}
	END
}

@test "onnx: external data comes from the model's folder" {
	values external >"$BATS_TEST_TMPDIR/external"
	diff - "$BATS_TEST_TMPDIR/external" <<-'END'
		w F32 1 2 3 4
		a F32 1 2 3
		b I8 1 2 3 4
		c I8 1 -1 -2 7 -1
	END
	apr-unpack external >"$BATS_TEST_TMPDIR/e.aprs"
	(cd / && pipe "apr-unpack '$BATS_FILE_TMPDIR/external' | cmp - '$BATS_TEST_TMPDIR/e.aprs'")
	[ "$(apr-stats --json external | jq -s length)" -gt 3 ]
	[ "$(apr-header --json external | jq .external_files)" = 2 ]
	# The checksum that the model states of a file is compared when its values were sent.
	cd "$BATS_TEST_TMPDIR" || return
	cp "$BATS_FILE_TMPDIR"/{external,data.bin} .
	printf '\1\2\3\5' >other.bin
	try apr-unpack -o made external
	said 4 'other.bin: its SHA-1 is dc86d3c50534a61fcf7830dd7253dc1f44e3b529, but the model states 12dada1fff4d4787ade3333147202c3b443e376f (E004)'
	pipe 'apr-unpack --only w external | apr-get w >/dev/null'
}

@test "onnx: external data in folders below, and in a cache of Hugging Face" {
	local from=$PWD snapshot=cache/snapshots/1/onnx f
	cd "$BATS_TEST_TMPDIR" || return
	tensors() { apr-unpack "$1" | apr-sum | grep ' tensor '; }
	tensors "$from/external" >want
	mkdir w else
	sed 's,data\.bin,w/da.bin,g' "$from/external" >m
	cp "$from/other.bin" .
	cp "$from/data.bin" w/da.bin
	tensors m | cmp - want
	(cd / && tensors "$OLDPWD/m") | cmp - want
	(cd w && tensors ../m) | cmp - want
	mv w else && ln -s else/w w
	try apr-unpack m
	said 3 'w/da.bin: cannot be opened'
	rm w && mkdir w && ln -s ../else/w/da.bin w
	try apr-unpack m
	said 4 'w/da.bin: is a link, which is not followed'
	mkdir -p cache/blobs "$snapshot"
	for f in external data.bin other.bin; do
		cp "$from/$f" cache/blobs/$f.hash
		ln -s ../../../blobs/$f.hash "$snapshot/$f"
	done
	tensors "$snapshot/external" | cmp - want
	ln -sf ../../../../else/w/da.bin "$snapshot/data.bin"
	try apr-unpack "$snapshot/external"
	said 4 'is a link, which is not followed'
	ln -sf ../../../blobs/../../else/w/da.bin "$snapshot/data.bin"
	try apr-unpack "$snapshot/external"
	said 4 'is a link, which is not followed'
}

@test "onnx: the content decides, and --from insists" {
	local f
	for f in numbers backwards; do
		try apr-unpack $f
		said 4 'is not a model file of a known format'
	done
	try apr-unpack graphdef
	said 4 'is a graph of TensorFlow without values'
	try apr-unpack savedmodel
	said 4
	[ "$(apr-header --json coreml | jq -r .format)" = coreml ]
	[ "$(apr-header --json good | jq -r .format)" = onnx ]
	pipe "apr-unpack --from onnx backwards | apr-get w | cmp - <(apr-unpack good | apr-get w)"
	try apr-unpack --from onnx "$model"
	said 4
	try apr-unpack --from gguf good
	said 4
}

@test "onnx: a file, a descriptor and a pipe give the same stream" {
	local f
	for f in types places names; do
		apr-unpack $f >"$BATS_TEST_TMPDIR/f.aprs"
		apr-unpack <$f | cmp - "$BATS_TEST_TMPDIR/f.aprs"
		apr-unpack < <(cat $f) | cmp - "$BATS_TEST_TMPDIR/f.aprs"
	done
}

@test "onnx: the model keeps its graph as GGUF, safetensors and APR2" {
	local t
	for t in gguf safetensors apr2; do
		apr-unpack names | apr-pack -f -t $t -o "$BATS_TEST_TMPDIR/m"
		[ "$(apr-header --json "$BATS_TEST_TMPDIR/m" | jq -r '.files[0][0]')" = onnx.graph ] ||
			fail "$t" "$(apr-header --json "$BATS_TEST_TMPDIR/m" | jq -c .files)"
	done
}
