# apr-lint: rules, forms of the report, fixes, policies, and hostile models
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# ids: the rules that found something in the last try (--json)
ids() {
	sed -n 's/^{"id":"\([^"]*\)".*/\1/p' "$out" | sort -u | tr '\n' ' '
}

@test "exam" {
	exam_cut=5000
	exam report apr-lint --fail-on never
}

@test "CHECK-052 a missing licence is a warning, and the exit status says so" {
	apr-meta delete general.license "$model" | apr-pack -t gguf -o m.gguf
	try apr-lint m.gguf
	said 1 'm.gguf: 3 findings at the level warning or above'
	grep -q '^warning: general.license: the model does not state its licence \[LINT-LICENSE\]$' "$out"
	grep -q '^  fix: apr-meta set general.license=NAME --in-place m.gguf$' "$out"
	grep -q '^0 errors, 3 warnings, [0-9]* info$' "$out"
	try apr-lint --fail-on error m.gguf
	quiet
	try apr-lint --only LINT-ALIGN m.gguf
	quiet
	try apr-lint --fail-on info --only LINT-ALIGN m.gguf
	said 1 '1 finding at the level info or above'
}

@test "CHECK-094 a licence that is not commercial is a warning" {
	apr-meta set general.license=cc-by-nc-4.0 "$model" | apr-pack -t gguf -o m.gguf
	try apr-lint --json --only 'SEC-*' m.gguf
	said 1
	grep -q '"id":"SEC-LICENSE","level":"warning","object":"license","fact":"cc-by-nc-4.0 ' "$out"
}

# A model that most rules about .apr files and GGUF find something in.
@test "each fix is a command that mends its finding" {
	local fix
	apr-unpack "$model" | apr-rename '^blk\.0\.attn_q\.weight$=blk.0.attn_q.w' |
		apr-meta set general.author= | apr-meta rename general.name name |
		apr-quant q8_0 2>/dev/null | apr-meta delete general.quantization_version |
		apr-pack -t gguf --align 32 --reserve 4K -o m.gguf
	try apr-lint --json m.gguf
	[ "$(ids)" = "LINT-ALIGN LINT-CARD LINT-EMPTY LINT-NAME LINT-PROVENANCE LINT-QUANTIZATION-VERSION LINT-SPELLING " ] ||
		fail "$(cat "$out")"
	try apr-lint m.gguf
	# Fixes that change the file come first; then each pipe makes a new one.
	while read -r fix; do
		fix=${fix#fix: }
		fix=${fix/=NAME/=small} fix=${fix/=TEXT/=small} fix=${fix/=ADDRESS/=https:\/\/x}
		pipe "$fix" || fail "$fix"
		[ ! -e new.gguf ] || mv new.gguf m.gguf
	done < <(grep '^  fix: ' "$out" | sort)
	try apr-lint --json m.gguf
	[ "$(ids)" = "" ] || fail "$(cat "$out")"
}

@test "a finding of another form names its names: from GGUF to .apr and back" {
	apr-unpack "$model" | apr-pack -o m.apr
	try apr-lint --json --only 'LINT-FORM,LINT-COMPRESS,LINT-FORMAT-VERSION' m.apr
	quiet
	[ "$(ids)" = "LINT-FORM LINT-FORMAT-VERSION " ] || fail "$(cat "$out")"
	apr-adapt hf "$model" | apr-pack -t safetensors -o folder/ 2>/dev/null
	try apr-lint --only LINT-FORM folder
	quiet
}

@test "SARIF and JUnit of several files are one document, in which an unreadable file is an error" {
	head -c 3000 "$model" >cut.gguf
	cp "$model" 'a b.gguf'
	try apr-lint --sarif 'a b.gguf' cut.gguf
	[ "$status" -eq 4 ]
	[ "$(grep -o '"uri":"a%20b.gguf"' "$out" | wc -l)" -ge 2 ]
	grep -q '"executionSuccessful":false' "$out"
	[[ $(tail -c 4 "$out") == *']}' ]]
	try apr-lint --junit 'a b.gguf' cut.gguf
	[ "$status" -eq 4 ]
	grep -q '<testsuite name="cut.gguf" tests="1" failures="0" errors="1"' "$out"
	[ "$(tail -n 1 "$out")" = '</testsuites>' ]
}

@test "rules are listed, and chosen by options and a configuration" {
	try apr-lint --rules --off 'SEC-*'
	quiet
	grep -q '^LINT-LICENSE  *warning  the model states its licence$' "$out"
	grep -q '^SEC-PICKLE .* (off)$' "$out"
	while read -r id _; do
		grep -q "^\.It Cm $id " "$root/man/apr-lint.1" || fail "$id is not in the page" || return
	done <"$out"
	try apr-lint --off LINT-LICENCE "$model"
	said 2 '--off: LINT-LICENCE is not a rule'
	grep -q 'hint: did you mean LINT-LICENSE' "$err"
	echo '{"off":["LINT-CARD","LINT-PROV*"],"fail_on":"warning"}' >on.json
	try apr-lint --config on.json "$model"
	quiet
	echo '{"off":["LINT-NOTHING"]}' >on.json
	try apr-lint --config on.json "$model"
	said 4 'on.json: LINT-NOTHING is not a rule (E002)'
	echo '{"of":[]}' >on.json
	try apr-lint --config on.json "$model"
	said 4 'on.json: of is not a member of a configuration'
	echo '{"fail_on":"info"}' >on.json
	try apr-lint --config on.json --fail-on never "$model"
	quiet
	try apr-lint --json --sarif "$model"
	said 2 'cannot be combined'
}

@test "a policy: what it asks for, signatures too" {
	apr-keygen -W -o key 2>/dev/null
	apr-keygen -W -o other 2>/dev/null
	apr-unpack "$model" | apr-sign key 2>/dev/null | apr-pack -o m.apr
	cat >good.json <<-END
		{"version": 1, "licenses": ["cc0-*"], "denied_licenses": ["*-nc-*"], "types": ["F32", "BF16"],
		 "architectures": ["llama"], "formats": ["apr2", "gguf"], "max_bytes": "8MiB",
		 "max_parameters": 3000000, "required_keys": ["general.name"], "templates": false,
		 "signers": ["$(sed -n 2p key.pub)"], "require_signature": true}
	END
	try apr-lint --only 'POLICY-*' --policy good.json m.apr
	quiet
	[ "$(cat "$out")" = '0 errors, 0 warnings, 0 info' ]
	cat >bad.json <<-END
		{"licenses": ["mit"], "denied_licenses": ["CC0*"], "types": ["F32"], "architectures": ["qwen*"],
		 "formats": ["gguf"], "max_bytes": 1000, "max_parameters": 1, "required_keys": ["x"],
		 "signers": ["$(sed -n 2p other.pub)"]}
	END
	try apr-lint --json --only 'POLICY-*' --policy bad.json m.apr
	said 1
	[ "$(ids)" = 'POLICY-ARCHITECTURE POLICY-BYTES POLICY-DENIED-LICENSE POLICY-FORMAT POLICY-KEY POLICY-LICENSE POLICY-PARAMETERS POLICY-SIGNATURE POLICY-TYPE ' ] ||
		fail "$(cat "$out")"
	# A byte of a tensor: the signature does not hold.
	printf X | dd of=m.apr bs=1 seek=1000000 conv=notrunc status=none
	try apr-lint --policy good.json m.apr
	[ "$status" -ne 0 ]
	echo '{"require_signature": true}' >any.json
	try apr-lint --only 'POLICY-*' --policy any.json "$model"
	said 1
	grep -q '^error: the model is not signed \[POLICY-SIGNATURE\]$' "$out"
	try apr-lint --policy any.json - <"$model"
	said 2 'a signature is verified only in a FILE'
	try apr-lint --trusted-key other.pub "$model"
	said 1 'the model is not signed (E006)'
}

@test "a policy with an error is refused" {
	local text
	while IFS=$'\t' read -r text said; do
		printf '%s' "$text" >p.json
		try apr-lint --policy p.json "$model"
		said 4 "$said"
	done <<-'END'
		{	p.json
		[]	p.json
		{"license":["mit"]}	p.json: license is not a member of a policy
		{"licenses":"mit"}	p.json: licenses is not a list of texts
		{"licenses":[1]}	p.json: licenses is not a list of texts
		{"max_bytes":-1}	p.json: max_bytes is not a number
		{"max_bytes":"8 apples"}	p.json: max_bytes is not a number
		{"templates":0}	p.json: templates is not true or false
		{"signers":["RWQ"]}	p.json: signer 1 is not a public key
		{"signers":[]}	p.json: signers is an empty list
		{"version":2}	p.json: the policy has version 2, not 1
	END
	try apr-lint --policy nowhere.json "$model"
	said 3 nowhere.json
}

@test "apr-check has the rules about security too" {
	apr-meta set 'tokenizer.chat_template={{ x.__class__ }}' "$model" | apr-pack -t gguf -o m.gguf
	try apr-check --json m.gguf
	grep -q '"SEC-TEMPLATE"' "$out"
	try apr-lint --json --only 'SEC-*' m.gguf
	said 1 '1 finding'
	[ "$(ids)" = 'SEC-TEMPLATE ' ]
}

@test "padding that is not zero, and the end of an archive inside the last tensor" {
	local at
	at=$(apr-header --json "$model" | sed 's/.*"header_bytes":\([0-9]*\).*/\1/')
	cp "$model" m.gguf
	printf X | dd of=m.gguf bs=1 seek=$((at + 1)) conv=notrunc status=none
	try apr-lint --only 'LINT-PAD*,SEC-*' m.gguf
	said 1
	grep -q '^warning: .*1 byte of padding is not zero \[LINT-PADDING\]$' "$out"
	cp "$model" m.gguf
	printf 'PK\5\6\0\0\0\0\1\0\1\0\57\0\0\0\0\0\0\0\0\0' |
		dd of=m.gguf bs=1 seek=$(($(wc -c <"$model") - 22)) conv=notrunc status=none
	try apr-lint --only 'LINT-PAD*,SEC-*' m.gguf
	said 1
	grep -q '^error: the end of the file is that of a zip archive of 1 member \[SEC-POLYGLOT\]$' "$out"
}
