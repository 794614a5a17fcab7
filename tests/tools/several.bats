# Several FILEs, each read by a process of its own; --trusted-key wherever a model is opened.
load ../helper

setup() {
	PATH=$PATH:$APR_GEN
	cd "$BATS_TEST_TMPDIR"
	cp "$model" m.gguf
	head -c 100000 m.gguf >cut.gguf
}

signed() {
	apr-keygen -W -o key >/dev/null
	apr-keygen -W -o other >/dev/null
	APR_LOG_LEVEL=error apr-sign key m.gguf >signed.aprs
	apr-pack -o signed.apr signed.aprs
}

@test "each FILE is headed by its name, and the highest exit status counts" {
	try apr-header m.gguf missing cut.gguf m.gguf
	[ "$status" -eq 4 ]
	diff <(grep '^==>' "$out") <(printf '==> %s <==\n' m.gguf missing cut.gguf m.gguf)
	[ "$(grep -c '^format  *gguf$' "$out")" -eq 2 ]
	diff <(sed 's/^\([^:]*: [^:]*:\).*(/\1 (/' "$err") - <<-END
		apr-header: missing: (E007)
		apr-header: cut.gguf: (E002)
	END
	try apr-header m.gguf missing
	[ "$status" -eq 3 ]
	try apr-header m.gguf m.gguf
	quiet
}

@test "a reader that fails is named with the FILE" {
	try apr-stats m.gguf cut.gguf
	[ "$status" -eq 4 ]
	grep -qx 'apr-stats: cut.gguf: its reader has failed' "$err"
	mkmodel >nan.gguf <<-END
		key general.architecture string llama
		tensor a.weight F32 8x64 noise
		tensor b.weight F32 4 values 0 0x7fc00000 0 0
	END
	try apr-stats --fail-nonfinite m.gguf nan.gguf
	[ "$status" -eq 5 ]
	grep -q '^apr-stats: nan.gguf: b.weight: value 1' "$err"
}

@test "--json of several FILEs: a line names its model, and there are no headings" {
	local tool
	for tool in 'apr-header -l' apr-stats apr-sum 'apr-sum --gguf-hash'; do
		# shellcheck disable=SC2086
		$tool --json m.gguf ./m.gguf >both
		objects <both
		[ "$(grep -c '"model":"m.gguf"}$' both)" -eq "$(grep -c '"model":"./m.gguf"}$' both)" ] ||
			fail "$tool"
		[ "$(grep -vc '"model":"' both)" -eq 0 ]
		# shellcheck disable=SC2086
		$tool --json m.gguf >one
		! grep -q '"model"' one
	done
	[ "$(apr-header --json m.gguf ./m.gguf | grep -o '^{"file":"[^"]*"' | tr '\n' ' ')" = \
		'{"file":"m.gguf" {"file":"./m.gguf" ' ]
}

@test "a name of a FILE does not reach a terminal unescaped" {
	cp m.gguf $'bad\e[31m.gguf'
	apr-header -l $'bad\e[31m.gguf' m.gguf | head -n 1 >head
	grep -qxF '==> bad\x1b[31m.gguf <==' head
}

@test "more FILEs than a table has room for" {
	local names=()
	mkmodel >small.gguf <<-END
		key general.architecture string llama
		tensor a.weight F32 8x64 noise
	END
	for ((i = 0; i < 70; i++)); do names+=(small.gguf); done
	[ "$(apr-sum "${names[@]}" | grep -c ' root$')" -eq 70 ]
}

@test "a FILE may be standard input, once" {
	apr-unpack m.gguf >m.aprs
	[ "$(apr-sum m.gguf - <m.aprs | grep ' root$' | sort -u | wc -l)" -eq 1 ]
}

@test "apr-verify -q takes several FILEs, and says which fails" {
	signed
	try apr-verify -q key.pub signed.apr signed.aprs signed.apr
	quiet
	try apr-verify -q --trusted-key key.pub signed.apr signed.aprs
	quiet
	try apr-verify -q key.pub signed.apr m.gguf signed.aprs
	said 1 'm.gguf: the model is not signed (E006)'
	try apr-verify -q key.pub m.gguf signed.apr cut.gguf
	[ "$status" -eq 4 ]
	try apr-verify -q --json key.pub signed.apr signed.aprs
	quiet
	[ "$(grep -o '"file":"[^"]*"' "$out" | tr '\n' ' ')" = '"file":"signed.apr" "file":"signed.aprs" ' ]
	try apr-verify key.pub signed.apr signed.aprs
	said 2 'several FILEs need -q'
	# The folder of trusted keys, and three models.
	mkdir -p "$HOME/.config/apr/trusted"
	cp key.pub "$HOME/.config/apr/trusted/me.pub"
	try apr-verify -q signed.apr signed.aprs signed.apr
	rm "$HOME/.config/apr/trusted/me.pub"
	quiet
}

@test "apr-sum -c takes one FILE" {
	apr-sum m.gguf >list
	try apr-sum -c list m.gguf m.gguf
	said 2 '-c takes one FILE'
}

# ---- --trusted-key ----

@test "apr-header, apr-sum and apr-tok take --trusted-key" {
	signed
	local tool
	for tool in apr-header apr-sum 'apr-tok encode -p hello'; do
		# shellcheck disable=SC2086
		for file in signed.apr signed.aprs; do
			APR_LOG_LEVEL=error try $tool --trusted-key key.pub $file
			quiet
			[ -s "$out" ]
			try $tool --trusted-key other.pub $file
			said 1 'no signature is by a trusted key'
			[ ! -s "$out" ] || fail "$tool printed what was not verified"
		done
		# shellcheck disable=SC2086
		try $tool --trusted-key key.pub m.gguf
		said 1 'the model is not signed (E006)'
		[ ! -s "$out" ]
		# shellcheck disable=SC2086
		try $tool --trusted-key missing.pub m.gguf
		said 3 'missing.pub: cannot be opened'
	done
	APR_LOG_LEVEL=error apr-sum --trusted-key key.pub signed.apr | diff - <(apr-sum m.gguf)
	APR_LOG_LEVEL=error apr-sum --trusted-key key.pub - <signed.aprs | diff - <(apr-sum m.gguf)
	APR_LOG_LEVEL=error apr-tok encode -p hello --trusted-key key.pub - <signed.aprs |
		diff - <(apr-tok encode -p hello m.gguf)
}

@test "apr-header --trusted-key shows the verified stream, and says that it is" {
	signed
	APR_LOG_LEVEL=error apr-header --trusted-key key.pub signed.apr >facts
	grep -qx 'format            stream' facts
	grep -qx 'signatures        1 (verified)' facts
	APR_LOG_LEVEL=error apr-header --json --trusted-key key.pub signed.apr |
		grep -q '"signatures_verified":true'
	grep -c . <(apr-header signed.apr | grep '(not verified)')
}

@test "--trusted-key: one changed byte, and nothing is shown" {
	signed
	apr-pack -t gguf -o signed.gguf signed.aprs 2>/dev/null
	printf X | dd of=signed.gguf bs=1 seek=4000000 conv=notrunc status=none
	local tool
	for tool in apr-header apr-sum 'apr-tok encode -p hello'; do
		# shellcheck disable=SC2086
		try $tool --trusted-key key.pub signed.gguf
		said 1 'differ from what was signed (E006)'
		[ ! -s "$out" ]
	done
}
