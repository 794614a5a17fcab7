# The page of web/ in Chromium, driven over DevTools (tests/web/browser.mjs). All tests run in one
# browser, by page.mjs; each test here is a line of its output. Pictures and the figures remain in
# build/web-test. BROWSER: the program.
load ../helper

setup_file() {
	local browser=${BROWSER:-chromium} wasm=${APR_WASM:-$root/build/wasm}
	export results=$BATS_FILE_TMPDIR/results out=$root/build/web-test
	if ! command -v node >/dev/null; then
		echo 'node is missing: make deps-wasm' >"$BATS_FILE_TMPDIR/missing"
	elif ! command -v "$browser" >/dev/null; then
		echo "$browser is missing: make deps-wasm" >"$BATS_FILE_TMPDIR/missing"
	elif [ ! -e "$wasm/aprml.wasm" ]; then
		echo 'the module is missing: make wasm' >"$BATS_FILE_TMPDIR/missing"
	else
		rm -rf "$out"
		mkdir -p "$out"
		models
		node "$root/tests/web/page.mjs" "$wasm" "$model" "$out" "$APR_BIN" >"$results" 2>&1 || true
		cp "$results" "$out/results"
		find "$out" -mindepth 1 ! -name '*.png' ! -name results -delete
	fi
}

# The models that page.mjs names.
models() {
	local i
	PATH=$PATH:$APR_GEN
	{
		echo 'key general.architecture string llama'
		for ((i = 0; i < 5000; i++)); do
			echo "tensor t$i F32 4 ramp"
		done
	} | mkmodel >"$out/many.gguf"
	{
		echo 'key general.architecture string llama'
		for ((i = 0; i < 12; i++)); do
			echo "tensor blk.$i.ffn_down.weight F16 2048x2048 noise"
		done
	} | mkmodel >"$out/big.gguf"
	mkmodel >"$out/known.gguf" <<-END
		key general.architecture string llama
		tensor a.weight F32 4 values -1 0 2 3
	END
	printf '%s\n' 'key general.architecture string llama' 'tensor a.weight F32 4096 ramp' | mkmodel >"$out/ramp.gguf"
	apr-pack -z zstd -o "$out/ramp.apr" "$out/ramp.gguf"
	[ "$(wc -c <"$out/ramp.apr")" -lt "$(wc -c <"$out/ramp.gguf")" ]
	head -c 1000 "$model" >"$out/cut.gguf"
}

# passed NAME: the test of this name in page.mjs ended well.
passed() {
	[ ! -e "$BATS_FILE_TMPDIR/missing" ] || skip "$(cat "$BATS_FILE_TMPDIR/missing")"
	grep -qxF "ok $1" "$results" || fail "$(sed -n "/^failed ${1//\//\\/}:/,/^\(ok\|#\|failed\) /p" "$results")" \
		"$(grep -c '^ok' "$results") others passed" "$(tail -n 5 "$results")"
}

@test "the page: header of a chosen file" {
	passed "header of a chosen file"
}

@test "the page: a dropped file" {
	passed "a dropped file"
}

@test "the page: a dropped folder" {
	passed "a dropped folder"
}

@test "the page: metadata and its search" {
	passed "metadata and its search"
}

@test "the page: thousands of tensors scroll" {
	passed "thousands of tensors scroll"
}

@test "the page: histogram of a tensor, by keys alone" {
	passed "histogram of a tensor, by keys alone"
}

@test "the page: the values of a known tensor" {
	passed "the values of a known tensor"
}

@test "the page: the values of a compressed tensor" {
	passed "the values of a compressed tensor"
}

@test "the page: a file above 4 GiB is read by ranges" {
	passed "a file above 4 GiB is read by ranges"
}

@test "the page: an error is the message of the library" {
	passed "an error is the message of the library"
}

@test "the page: an address is read by ranges and kept" {
	passed "an address is read by ranges and kept"
}

@test "the page: the form opens an address" {
	passed "the form opens an address"
}

@test "the page: a server without ranges" {
	passed "a server without ranges"
}

@test "the page: a model is checked" {
	passed "a model is checked"
}

@test "the page: a signature holds, and a changed byte breaks it" {
	passed "a signature holds, and a changed byte breaks it"
}

@test "the page: 100 MB are quantized and downloaded" {
	passed "100 MB are quantized and downloaded"
}

@test "the page: signed, sealed, and saved where the user chose" {
	passed "signed, sealed, and saved where the user chose"
}

@test "the page: a sealed model opens with its key" {
	passed "a sealed model opens with its key"
}

@test "the page: messages are sealed and opened" {
	passed "messages are sealed and opened"
}

@test "the page: the shipped model speaks, and stops" {
	passed "the shipped model speaks, and stops"
}

@test "the page: long work can be stopped" {
	passed "long work can be stopped"
}

@test "the page: hostile names and texts stay text" {
	passed "hostile names and texts stay text"
}

@test "the page: long tables show their beginning" {
	passed "long tables show their beginning"
}

@test "the page: a server that is not steady" {
	passed "a server that is not steady"
}

@test "the page: nothing goes elsewhere" {
	passed "nothing goes elsewhere"
}

@test "the page: on a phone and in the dark" {
	passed "on a phone and in the dark"
}

@test "the page: every control has a name" {
	passed "every control has a name"
}

@test "the page: each test of page.mjs is listed here" {
	diff <(sed -n "s/^\tasync '\(.*\)'().*/\1/p" "$root/tests/web/page.mjs") \
		<(sed -n 's/^\tpassed "\(.*[^$1]\)"$/\1/p' "$BATS_TEST_FILENAME")
}
