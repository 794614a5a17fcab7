# What a new user stumbles over: names of outputs, sizes, swapped operands, typing errors,
# columns.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$APR_GEN:$PATH
}

format_of() {
	apr-header --json "$1" | sed -n 's/.*"format":"\([^"]*\)".*/\1/p'
}

@test "apr-pack -o takes the format from the suffix, where -t is absent" {
	for name in m.gguf m.GGUF m.safetensors m.apr m.other m folder.gguf/../n; do
		mkdir -p folder.gguf
		try apr-pack -o "$name" "$model"
		[ "$status" -eq 0 ]
		case ${name,,} in
		m.gguf) want=gguf ;;
		m.safetensors) want=safetensors ;;
		*) want=apr2 ;;
		esac
		[ "$(format_of "$name")" = $want ] || fail "$name is $(format_of "$name")"
	done
	cmp m.gguf "$model"
	# -t decides, with a note if the name suggests another format.
	try apr-pack -t apr2 -o a.gguf "$model"
	[ "$status" -eq 0 ]
	grep -qF 'a.gguf is written as apr2, as -t asks' "$err"
	[ "$(format_of a.gguf)" = apr2 ]
	for format in apr1 apr2 apr2-64; do
		try apr-pack -t $format -o $format.apr "$model"
		[ "$status" -eq 0 ]
		! grep -q 'although its suffix' "$err" || fail "$format: a note about .apr"
	done
}

@test "a filter does not write a stream under the name of a container" {
	apr-keygen -W -o key >/dev/null
	for suffix in gguf safetensors apr GGUF; do
		for command in apr-unpack 'apr-quant q8_0' 'apr-sign key' 'apr-verify key.pub' \
			'apr-encrypt -r x' 'apr-decrypt -i key'; do
			# shellcheck disable=SC2086
			try $command -o "x.$suffix" "$model"
			said 2 'writes a stream, not a file of that format'
			grep -qF "| apr-pack -o x.$suffix" "$err"
			[ ! -e "x.$suffix" ]
		done
	done
	try apr-unpack -o x.aprs "$model"
	quiet
}

@test "sizes: 2G, 2GiB, 2GB, in either case" {
	# A size too small for a window is refused, so a wrong factor would be noticed.
	for size in 1K 1k 1KiB 1kib 1024 1024B 2KB 1M 1GiB 1TiB; do
		try apr-unpack --max-memory $size -o /dev/null "$model"
		quiet
	done
	for size in 1KB 1kb 1023 2T 2TB 1.5G 1KiBB 1Q G 1iB 99999999999G '1 K' -1 ''; do
		try apr-unpack --max-memory="$size" "$model"
		[ "$status" -eq 2 ] || fail "$size: $status"
	done
	try apr-unpack --max-memory 12X "$model"
	said 2 'such as 2G, 2GiB or 2GB, not 12X'
	try apr-pack --reserve 2GB -o made "$model"
	said 2 '--reserve needs 0 to 16777216 bytes, not 2GB'
	# A sanitizer reserves terabytes.
	! grep -q __asan_init "$APR_BIN/apr-header" || return 0
	APR_RAM_LIMIT=1GB try apr-header "$model"
	quiet
}

@test "apr-sign: swapped operands are named" {
	apr-keygen -W -o key >/dev/null
	try apr-sign "$model" key
	said 2 'is a key and'
	grep -qF "hint: apr-sign key " "$err"
	try apr-sign key "$model"
	[ "$status" -eq 0 ]
}

@test "what was probably meant: options" {
	try apr-quant --tensor-typ x
	said 2 'hint: did you mean --tensor-type?'
	try apr-quant --requantize q8_0 "$model"
	said 2 'hint: did you mean --allow-requantize?'
	try apr-quant -pure q8_0 "$model"
	said 2 'hint: did you mean --pure?'
	try apr-quant --dryrun q8_0 "$model"
	said 2 'hint: did you mean --dry-run?'
	try apr-quant --qqqqqqqqqqqqq q8_0 "$model"
	said 2 'hint: apr-quant --help'
}

@test "what was probably meant: values" {
	try apr-pack -z zsdt "$model"
	said 2 'did you mean zstd'
	try apr-run --cache q80 -p x "$model"
	said 2 'did you mean q8_0'
	try apr-tok encod "$model"
	said 2 'did you mean encode'
}

# column N FILE: where the Nth column begins in each line; one number if they are aligned.
columns() {
	awk -v n="$1" '{ p = 1; for (i = 1; i < n; i++) { match(substr($0, p), /^[^ ]+ +/)
		p += RLENGTH }; print p }' "$2" | sort -u | wc -l
}

@test "lists of tensors align to the longest name" {
	long=model.layers.0.self_attention.query_key_value.weight
	mkmodel >long.gguf <<-END
		key general.architecture string x
		tensor a.weight F32 2x32 noise
		tensor $long F16 4x32 noise
	END
	apr-header -l long.gguf >list
	[ "$(columns 2 list)" -eq 1 ] && [ "$(columns 3 list)" -eq 1 ]
	apr-get -l long.gguf >list
	[ "$(columns 2 list)" -eq 1 ]
	apr-stats long.gguf >list
	[ "$(columns 2 list)" -eq 1 ]
	apr-quant -n q8_0 long.gguf 2>/dev/null | head -n 2 >list
	[ "$(columns 2 list)" -eq 1 ]
	apr-quant --check q8_0 long.gguf 2>&1 >/dev/null | grep rmse >list
	[ "$(awk '{ print index($0, "rmse") }' list | sort -u | wc -l)" -eq 1 ]
	# Wide characters have two columns.
	mkmodel >wide.gguf <<-'END'
		tensor a.weight F32 2x32 noise
		tensor \xe6\xb0\xb4\xe6\xb0\xb4 F32 2x32 noise
	END
	apr-header -l wide.gguf >list
	[ "$(awk '{ print index($0, "F32") }' list | tr '\n' ' ')" = '34 36 ' ] ||
		[ "$(awk '{ print index($0, "F32") }' list | tr '\n' ' ')" = '34 32 ' ]
}

@test "a name of 3000 bytes moves its own line only" {
	name=$(printf 'n%.0s' {1..3000})
	printf 'tensor a.weight F32 2x32 noise\ntensor %s F32 2x32 noise\n' "$name" |
		mkmodel >huge.gguf
	[ "$(apr-header -l huge.gguf | head -n 1 | wc -c)" -lt 200 ]
}

@test "shapes are 256x512 in every text" {
	printf 'tensor a.weight F32 2x32 noise\n' | mkmodel >m.gguf
	for command in 'apr-header -l' 'apr-get -l' apr-sum 'apr-sum --sha256' \
		'apr-quant -n q8_0' 'apr-stats --hist a.weight'; do
		$command m.gguf >said 2>&1
		grep -q '2x32' said || fail "$command:" "$(cat said)"
		! grep -q '2,32' said || fail "$command:" "$(cat said)"
	done
	# Lists of earlier versions still hold.
	apr-sum m.gguf | sed 's/2x32/2,32/' >old
	grep -q '2,32' old
	apr-sum -c old m.gguf
	sed 's/2,32/32,2/' old >wrong
	try apr-sum -c wrong m.gguf
	[ "$status" -eq 1 ]
}

# Bytes that a terminal must not get: DEL, C1, bidirectional marks and overrides, separators,
# tags.
shown() {
	! LC_ALL=C grep -qP '\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xf3\xa0[\x80\x81]|\xd8\x9c|\xef\xbf[\xb9-\xbb]' "$1" ||
		fail "$2 lets them through:" "$(cat -v "$1")"
}

@test "listings and --json escape what moves or hides text" {
	local bad='\x7f\xc2\x9b\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xa8\xf3\xa0\x81\x81'
	mkmodel >odd.gguf <<-END
		key general.architecture string x$bad
		key k$bad string v$bad
		key list array:string a$bad b
		tensor n$bad.weight F32 2x64 noise
	END
	for command in apr-header 'apr-header -l' 'apr-header --json' 'apr-header -l --json' \
		'apr-get -l' apr-sum 'apr-sum --json' 'apr-sum --sha256' 'apr-sum --gguf-hash' \
		'apr-sum --gguf-hash --json' apr-stats 'apr-stats --json' 'apr-quant -n q8_0' \
		'apr-quant -n --json q8_0' 'apr-quant --check -n q8_0'; do
		$command odd.gguf >said 2>&1
		[ -s said ]
		shown said "$command"
	done
	apr-quant --check --json q8_0 odd.gguf 2>said >/dev/null
	shown said 'apr-quant --check'
	# The value is exact: two halves of a tag character are one.
	apr-header -l --json odd.gguf | grep -qF '"name":"n\u007f\u009b\u200e\u200f\u202a\u202e\u2066\u2069\u2028\udb40\udc41.weight"'
	# Stored text is not escaped.
	apr-pack odd.gguf | apr-unpack - | apr-pack -t gguf | cmp - odd.gguf
}

@test "make -j2 clean all: one after the other" {
	local said
	said=$(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -n -j2 -C "$root" clean all)
	# All of the first goal comes before anything of the second.
	[ "$(grep -nE '^rm -rf build' <<<"$said" | cut -d: -f1)" -lt \
		"$(grep -nE 'make(\[[0-9]+\])?: Entering|\.c' <<<"$said" | tail -n 1 | cut -d: -f1)" ]
	grep -q 'make.* clean' <<<"$said"
	grep -q 'make.* all' <<<"$said"
}

@test "make help names the modes that the Makefile knows" {
	local mode help
	help=$(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$root" help)
	for mode in $(sed -n 's/^mode_\([a-z]*\) =.*/\1/p' "$root/Makefile"); do
		grep -q "[=|]$mode[| ]" <<<"$help" || fail "make help does not name $mode"
	done
}

@test "apr(7) points to the page of each tool, gguf.h and apr-pack(1) name all our keys" {
	local tool key
	for tool in "$root"/bin/apr-*.c; do
		tool=$(basename "$tool" .c)
		sed -n '/^.Sh SEE ALSO/,$p' "$root/man/apr.7" | grep -q "^.Xr $tool 1" ||
			fail "apr(7) does not point to $tool(1)"
	done
	for key in $(sed -n 's/^#define GGUF_[A-Z]* "\(apr\.[a-z.]*\)"/\1/p' \
		"$root/lib/formats/gguf/gguf.h"); do
		grep -q "^ \* .*${key#apr}" "$root/lib/formats/gguf/gguf.h" || fail "gguf.h: $key"
		grep -q "Li $key" "$root/man/apr-pack.1" || fail "apr-pack(1): $key"
	done
}
