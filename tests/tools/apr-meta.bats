# apr-meta: shows and changes metadata
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# A model with a key of each type.
typed() {
	mkmodel >"${1:-typed.gguf}" <<-END
		key general.architecture string llama
		key a.u8 u8 200
		key a.i8 i8 -3
		key a.u16 u16 60000
		key a.i16 i16 -30000
		key a.u32 u32 4000000000
		key a.i32 i32 -2000000000
		key a.u64 u64 18446744073709551615
		key a.i64 i64 -9223372036854775808
		key a.f32 f32 0.1
		key a.f64 f64 0.1
		key a.bool bool 1
		key a.text string word
		tensor t F32 2x2 ramp
	END
}

@test "apr-meta list and get pass the exam of a report" {
	exam_cut=100
	exam report apr-meta list
	exam report apr-meta get general.name
	exam report apr-meta list --json
}

@test "apr-meta set and delete pass the exam of a filter" {
	exam filter apr-meta set general.name=x
	exam_files=
	exam filter apr-meta set 'tokenizer.ggml.tokens[3]=abc' a.new:u32=3
}

# ---- list and get ----

@test "get prints the value of each type" {
	local key value
	typed
	while read -r key value; do
		try apr-meta get "a.$key" typed.gguf
		quiet
		[ "$(cat "$out")" = "$value" ] || fail "$key: $(cat "$out")"
	done <<-'END'
		u8 200
		i8 -3
		u16 60000
		i16 -30000
		u32 4000000000
		i32 -2000000000
		u64 "18446744073709551615"
		i64 "-9223372036854775808"
		f32 0.1
		f64 0.1
		bool true
		text word
	END
	# A string has no line break of its own, except on a terminal.
	apr-meta get a.text typed.gguf | cmp - <(printf word)
	# Progress may be cleared before or after the value.
	{ on_terminal apr-meta get a.text typed.gguf; printf end; } | tr '\r' '\n' >shown
	grep -q 'word$' shown || fail "$(cat -A shown)"
	apr-meta get a.u8 typed.gguf | cmp - <(echo 200)
}

@test "get KEY[INDEX] prints one item" {
	try apr-meta get 'tokenizer.ggml.tokens[0]' "$model"
	quiet
	[ "$(cat "$out")" = '!' ]
	[ "$(apr-meta get 'tokenizer.ggml.token_type[1023]' "$model")" = 3 ]
	try apr-meta get 'tokenizer.ggml.tokens[1024]' "$model"
	said 1 'has 1024 items, and no item 1024'
	try apr-meta get 'general.name[0]' "$model"
	said 2 'is not an array'
	try apr-meta get 'tokenizer.ggml.tokens[99999999999999999999999]' "$model"
	said 1 'has no key'
	try apr-meta get general.nam "$model"
	said 1 'has no key general.nam'
	grep -q 'did you mean general.name?' "$err"
}

@test "list --json prints whole values, also those that travel in blobs" {
	apr-meta list --json "$model" >list
	objects <list
	[ "$(wc -l <list)" -eq 22 ]
	# The same from a pipe in small pieces, and from another container.
	apr-unpack "$model" | dd bs=999 status=none | apr-meta list --json | diff list -
	apr-unpack "$model" | apr-pack -o m.apr
	apr-meta list --json m.apr | diff list -
	apr-unpack "$model" | apr-pack -t safetensors -o m.safetensors
	apr-meta list --json m.safetensors | diff list -
}

@test "--trusted-key: nothing is printed before the signature is verified" {
	apr-keygen -W -o key 2>/dev/null
	apr-keygen -W -o other 2>/dev/null
	apr-unpack "$model" | apr-sign key 2>/dev/null >signed.aprs
	for how in list 'list --json' 'get general.name'; do
		try apr-meta $how --trusted-key key.pub signed.aprs
		[ "$status" -eq 0 ] && [ -s "$out" ]
		try apr-meta $how --trusted-key other.pub signed.aprs
		[ "$status" -eq 1 ] && [ ! -s "$out" ]
		try_pipe "apr-meta $how --trusted-key other.pub <signed.aprs"
		[ "$status" -eq 1 ] && [ ! -s "$out" ]
	done
}

# ---- set ----

@test "a key keeps its type and place, and a number must fit" {
	local key value
	typed
	for key in u8=0 i8=-128 u16=1 i16=-1 u32=1 i32=1 u64=18446744073709551614 i64=-1 f32=1e-5 \
		f64=1e-300 bool=false text=other; do
		apr-meta set "a.$key" typed.gguf | apr-meta list --json >after
		apr-meta list --json typed.gguf | diff - after >differs || true
		[ "$(grep -c '^>' differs)" -eq 1 ] || fail "$key" "$(cat differs)"
		value=${key#*=}
		[ "$(sed -n 's/^>.*"value":"\{0,1\}\([^"]*\)"\{0,1\}}$/\1/p' differs | tail -n 1)" = \
			"${value/1e-5/1e-05}" ] || fail "$key" "$(cat differs)"
	done
	for key in u8=256 u8=-1 i8=128 u16=65536 i16=32768 u32=4294967296 i32=2147483648 \
		u64=18446744073709551616 i64=9223372036854775808 u8= u8=0x1 u8=1.0 u8=+1 'u8=1 2' f32=1e39 \
		f32=0x1p3 f32=one f64=1e999 bool=1 bool=yes; do
		try apr-meta set "a.$key" typed.gguf
		said 2 "is not a value of type"
	done
	try apr-meta set "a.text=$(printf 'a\377b')" typed.gguf
	said 2 'its text is not UTF-8'
}

@test "a type can be given, also to a new key" {
	typed
	apr-meta set a.u8:string=x n.json:json='{"a":[1,2]}' n.f:f32=nan n.i:array:i8='[-1,2]' \
		n.n:array:array:u8='[[1],[2,3]]' 'n.s:array:string=["a","\u00e9\"\\"]' typed.gguf |
		apr-pack -t gguf -o set.gguf
	[ "$(apr-meta get a.u8 set.gguf)" = x ]
	[ "$(apr-meta get n.json set.gguf)" = '{"a":[1,2]}' ]
	[ "$(apr-meta get n.f set.gguf)" = '"nan"' ]
	[ "$(apr-meta get n.i set.gguf)" = '[-1,2]' ]
	[ "$(apr-meta get n.n set.gguf)" = '[[1],[2,3]]' ]
	[ "$(apr-meta get n.s set.gguf)" = '["a","é\"\\"]' ]
	[ "$(apr-meta list --json set.gguf | tail -n 5 | cut -d'"' -f8 | tr '\n' ' ')" = \
		'json f32 array:i8 array:array:u8 array:string ' ]
	try apr-meta set n.x:u33=1 typed.gguf
	said 2 'has a colon, but no type'
	for value in '[1' '[1,]' '[1 2]' '{}' '1' '["a]' '[[1]]' '[1]]'; do
		try apr-meta set "n.x:array:u8=$value" typed.gguf
		[ "$status" -eq 2 ] || fail "$value: $status"
	done
}

@test "a new key has the type that GGUF defines for it, else it is a string" {
	typed
	try apr-meta set general.tags='["a"]' llama.context_length=77 tokenizer.ggml.add_bos_token=true \
		tokenizer.ggml.eos_token_id=5 general.version=3 typed.gguf
	quiet
	apr-meta list --json "$out" | tail -n 5 | diff - <(
		echo '{"key":"general.tags","type":"array:string","value":["a"]}'
		echo '{"key":"llama.context_length","type":"u32","value":77}'
		echo '{"key":"tokenizer.ggml.add_bos_token","type":"bool","value":true}'
		echo '{"key":"tokenizer.ggml.eos_token_id","type":"u32","value":5}'
		echo '{"key":"general.version","type":"string","value":"3"}')
	try apr-meta set my.number=3 typed.gguf
	[ "$status" -eq 0 ]
	grep -q 'my.number is a new key and becomes a string' "$err"
}

@test "@FILE is the value's bytes, also of a long one" {
	head -c 100000 /dev/zero | tr '\0' x >long
	printf 'two\nlines\n' >short
	apr-meta set general.description=@short tokenizer.chat_template=@long a.b=@@at "$model" |
		apr-pack -t gguf -o m.gguf
	apr-meta get general.description m.gguf | cmp - short
	apr-meta get tokenizer.chat_template m.gguf | cmp - long
	[ "$(apr-meta get a.b m.gguf)" = @at ]
	# A long value becomes short again, and a long one is replaced, renamed and deleted.
	apr-meta set tokenizer.chat_template=s m.gguf | apr-meta get tokenizer.chat_template | cmp - <(printf s)
	apr-meta rename tokenizer.chat_template x.y m.gguf | apr-meta get x.y | cmp - long
	apr-meta delete tokenizer.chat_template m.gguf | apr-pack -t gguf -o n.gguf
	[ "$(apr-meta list --json n.gguf | wc -l)" -eq 24 ]
	try apr-meta set general.name=@none "$model"
	said 3 'none: cannot be opened'
}

@test "items of long arrays are set, and other values stay" {
	apr-meta list --json "$model" >before
	apr-meta set 'tokenizer.ggml.tokens[7]=a longer token' 'tokenizer.ggml.tokens[1023]=' \
		'tokenizer.ggml.merges[0]=x y' "$model" >edited.aprs
	apr-meta list --json edited.aprs | diff before - >differs || true
	[ "$(grep -c '^>' differs)" -eq 2 ]
	[ "$(apr-meta get 'tokenizer.ggml.tokens[7]' edited.aprs)" = 'a longer token' ]
	[ -z "$(apr-meta get 'tokenizer.ggml.tokens[1023]' edited.aprs)" ]
	# Back again: the same model.
	apr-meta set "tokenizer.ggml.tokens[7]=$(apr-meta get 'tokenizer.ggml.tokens[7]' "$model")" \
		"tokenizer.ggml.tokens[1023]=$(apr-meta get 'tokenizer.ggml.tokens[1023]' "$model")" \
		"tokenizer.ggml.merges[0]=$(apr-meta get 'tokenizer.ggml.merges[0]' "$model")" edited.aprs |
		apr-pack -t gguf | cmp - "$model"
	try apr-meta set 'tokenizer.ggml.tokens[1024]=x' "$model"
	said 1 'has 1024 items'
	try apr-meta set 'tokenizer.ggml.token_type[3]=x' "$model"
	said 2 'is not a value of type i32'
	try apr-meta set 'none[3]=x' "$model"
	said 1 'has no key none'
	try apr-meta delete 'tokenizer.ggml.tokens[3]' "$model"
	said 2 'is an item of an array'
}

@test "keys of containers, and vocabularies that contradict themselves, are refused" {
	local key
	for key in general.alignment split.count apr.blob.x apr.licence apr_stream; do
		try apr-meta set "$key=1" "$model"
		said 2 "is the container's"
		try apr-meta rename general.name "$key" "$model"
		said 2 "is the container's"
	done
	try apr-meta set 'tokenizer.ggml.tokens=["a","b"]' "$model"
	said 5 'a vocabulary has one of each per token'
	# Both together are allowed.
	apr-meta set 'tokenizer.ggml.tokens=["a","b"]' 'tokenizer.ggml.token_type=[1,1]' "$model" |
		apr-meta get tokenizer.ggml.tokens | diff - <(echo '["a","b"]')
	try apr-meta set =x "$model"
	said 2 'is not a key'
	try apr-meta rename general.name '' "$model"
	said 2 'is not a key'
}

@test "rename and delete: names that exist and that do not" {
	apr-meta rename general.name general.basename "$model" | apr-meta list --json |
		sed 's/general.basename/general.name/' | diff - <(apr-meta list --json "$model")
	try apr-meta rename general.name general.license "$model"
	said 5 'is a key of the model already'
	try apr-meta rename general.nome x "$model"
	said 1 'has no key general.nome'
	try apr-meta delete general.name general.nome "$model"
	said 1 'has no key general.nome'
	apr-unpack "$model" | apr-meta delete general.name general.license | apr-meta list --json |
		diff - <(apr-meta list --json "$model" | grep -v -e general.name -e general.license)
}

@test "a changed model loses its signature and gains a record; an unchanged one keeps it" {
	apr-keygen -W -o key 2>/dev/null
	apr-unpack "$model" | apr-sign key 2>/dev/null >signed.aprs
	try apr-meta set general.name=x signed.aprs
	[ "$status" -eq 0 ]
	grep -q 'the content changes: its signature' "$err"
	apr-header "$out" | grep -Eq '^signatures +0'
	apr-header "$out" | grep -Eq '^provenance +1'
	try apr-meta set 'general.name=Shakespeare 2.3M' signed.aprs
	quiet
	cmp "$out" signed.aprs
	apr-verify -q key.pub "$out"
}

# ---- copy and import ----

@test "copy takes keys and types from another model" {
	typed
	apr-meta copy --from typed.gguf a.u8 a.text "$model" | apr-meta list --json | tail -n 2 | diff - <(
		echo '{"key":"a.u8","type":"u8","value":200}'
		echo '{"key":"a.text","type":"string","value":"word"}')
	# All keys, except those that describe tensors; long values too.
	apr-meta copy --from "$model" typed.gguf | apr-meta list --json >all
	[ "$(wc -l <all)" -eq $((13 + 20)) ]
	! grep -q general.file_type all || false
	grep tokenizer.ggml.tokens all | diff - <(apr-meta list --json "$model" | grep tokenizer.ggml.tokens)
	try apr-meta copy --from typed.gguf a.u9 "$model"
	said 1 'has no key a.u9'
	try apr-meta copy a.u8 "$model"
	said 2 'copy needs --from FILE'
	try apr-meta copy --from none "$model"
	said 3 'none: cannot be opened'
}

@test "import reads what list --json and apr-header --json print, and plain objects" {
	typed
	apr-meta list --json "$model" >rows
	printf '[%s]' "$(paste -sd, rows)" >array
	for file in rows array; do
		apr-meta import $file typed.gguf | apr-meta list --json | tail -n 21 >got
		grep -v general.architecture rows | diff - got
	done
	cat >plain <<-'END'
		{ "a.u8": 7, "a.text": "new", "n.i": 3, "n.neg": -3, "n.f": 0.5, "n.b": false,
		  "n.a": [1, 2, 3], "n.s": ["x"], "a.f64": null, "no.such.key": null,
		  "n.t": {"type": "u16", "value": 9}, "n.j": {"a": 1}, "n.big": 5000000000 }
	END
	try apr-meta import plain typed.gguf
	quiet
	apr-meta list --json "$out" >got
	! grep -q a.f64 got || false
	tail -n 9 got | diff - <(
		echo '{"key":"n.i","type":"u32","value":3}'
		echo '{"key":"n.neg","type":"i32","value":-3}'
		echo '{"key":"n.f","type":"f32","value":0.5}'
		echo '{"key":"n.b","type":"bool","value":false}'
		echo '{"key":"n.a","type":"array:i32","value":[1,2,3]}'
		echo '{"key":"n.s","type":"array:string","value":["x"]}'
		echo '{"key":"n.t","type":"u16","value":9}'
		echo '{"key":"n.j","type":"json","value":{"a": 1}}'
		echo '{"key":"n.big","type":"u64","value":5000000000}')
	grep -q '"a.u8","type":"u8","value":7' got
}

@test "import: hostile files have one message" {
	local text
	while IFS= read -r text; do
		printf '%s' "$text" >bad
		try apr-meta import bad "$model"
		[ "$status" -eq 2 ] || said 4
		said "$status"
	done <<-'END'

		x
		{
		{"a"
		{"a":
		{"a":1
		{"a":1,}
		{"a":1}x
		{"a":1,"a":2}
		{"":1}
		{"\ud800":1}
		{"a\u0000b":1}
		{1:2}
		{"a":[}
		{"a":[]}
		{"a":[1,"x"]}
		{"a":{"type":"u99","value":1}}
		{"a":{"type":"u8","value":256}}
		{"a":{"type":5,"value":256}}x
		{"a":"unterminated}
		{"a":"\q"}
		{"a":truth}
		{"a":1e999}
		[1]
		[[1,2,3]]
		[["a","u8"]]
		[["a","u8",1],["a","u8",1]]
		{"general.alignment":64}
	END
	# Nesting, which costs neither stack nor memory.
	{ printf '{"a":'; head -c 5000000 /dev/zero | tr '\0' '['; } >bad
	try apr-meta import bad "$model"
	said 4
	{ printf '{"a":{"type":"json","value":'; head -c 100000 /dev/zero | tr '\0' '['; head -c 100000 /dev/zero | tr '\0' ']'; printf '}}'; } >bad
	try apr-meta import bad "$model"
	said 2
	# Too many keys; a file that is too long.
	{ printf '{'; seq -f '"k%g":1,' 20000; printf '"x":1}'; } >bad
	try apr-meta import bad "$model"
	said 2 'more than 16384 keys'
	truncate -s 70M bad
	try apr-meta import bad "$model"
	said 2 'has more than 64 MiB'
	printf '{"a":"\377"}' >bad
	try apr-meta import bad "$model"
	said 4 'is not UTF-8'
}

@test "a sealed model's keys can be read, but not changed" {
	age-keygen -o id 2>/dev/null || skip 'age-keygen is not installed'
	apr-unpack "$model" | apr-encrypt -r "$(sed -n 's/.*public key: //p' id)" >sealed.aprs 2>/dev/null
	[ "$(apr-meta get general.name sealed.aprs)" = 'Shakespeare 2.3M' ]
	try apr-meta set general.name=x sealed.aprs
	said 1 'is sealed (E005)'
}

@test "commands: wrong words have one message" {
	try apr-meta </dev/null
	said 2 'COMMAND is missing'
	try apr-meta sett a=b </dev/null
	said 2 'unknown command sett'
	grep -q 'did you mean set' "$err"
	try apr-meta get </dev/null
	said 2 'get needs KEY'
	try apr-meta rename a </dev/null
	said 2 'rename needs OLD NEW'
	try apr-meta set "$model"
	said 2 'is not KEY=VALUE'
}

# ---- card ----

@test "card passes the exam of a report" {
	exam_cut=100
	exam report apr-meta card
}

@test "card: text, Markdown and JSON, with fields of both lists and compliance" {
	cat >card.json <<-'END'
		{ "author": "A. Uthor", "intended_users": {"type": "array:string", "value": ["you", "me"]},
		  "compliance": {"gdpr_training_consent": true, "export_control": "none"},
		  "general.license": "MIT" }
	END
	apr-meta import card.json "$model" >m.aprs
	try apr-meta card --json m.aprs
	quiet
	objects <"$out"
	grep -q '"author":"A. Uthor"' "$out"
	grep -q '"gdpr_training_consent":true' "$out"
	grep -q '"intended_users":\["you","me"\]' "$out"
	apr-meta card m.aprs | grep -Eq '^license +MIT$'
	apr-meta card --markdown m.aprs | grep -q '^# Shakespeare 2.3M$'
	# The same from other containers and from a pipe.
	apr-pack -o m.apr <m.aprs
	for format in text markdown json; do
		option=--$format
		[ $format != text ] || option=
		# shellcheck disable=SC2086
		diff <(apr-meta card $option m.apr) <(apr-meta card $option <m.aprs)
	done
	try apr-meta card --markdown --json m.aprs
	said 2
	try apr-meta list --markdown m.aprs
	said 2 '--markdown needs the command card'
	try apr-meta set a=b --json m.aprs
	said 2 '--json needs list, get or card'
	try apr-meta get a --from m.aprs m.aprs
	said 2 '--from needs the command copy'
}
