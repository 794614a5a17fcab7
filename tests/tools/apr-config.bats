# apr-config, and settings in every tool
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$PWD/home
	file=$HOME/.config/apr/config.toml
	mkdir -p "${file%/*}"
}

# settings LINE…: writes the file.
settings() {
	printf '%s\n' "$@" >"$file"
}

# All keys, with values that are not the defaults.
all_keys() {
	settings '[defaults]' 'output_format = "json"' 'color = "always"' 'log_level = "error"' \
		'progress = "always"' 'jobs = 1' 'ram_limit = "1000T"' \
		'[inspect]' 'show_vocab = false' 'max_tokens_display = 2' \
		'[debug]' 'drama_mode = true' 'hex_limit = 16' \
		'[validate]' 'strict = false' 'require_signature = true' 'min_score = 1' \
		'[lint]' 'fail_on = "never"' '[trust]' 'folder = "~/keys"'
}

@test "the exam: apr-config" {
	exam maker apr-config
}

@test "settings change no byte of a model, whichever keys are set" {
	local to
	make_all() {
		mkdir -p "$1"
		for to in gguf apr1 apr2 safetensors; do
			apr-unpack "$model" | apr-quant q4_0 | apr-pack -t $to -o "$1/$to"
		done
		apr-quant q8_0 "$model" | apr-pack -z zstd -o "$1/zstd.apr"
		apr-adapt hf "$model" | apr-pack -t safetensors -o "$1/hf"
		apr-check --pass signed.aprs | apr-pack -o "$1/checked.apr"
		apr-meta set general.name=x "$model" >"$1/meta"
		apr-rename '^blk\.=block.' "$model" >"$1/renamed"
		apr-get --npy output_norm.weight -o "$1/norm.npy" "$model"
	}
	mkdir "$HOME/keys"
	apr-keygen -W -o "$HOME/keys/key" >/dev/null
	apr-sign -o signed.aprs "$HOME/keys/key" "$model" 2>/dev/null
	make_all without 2>/dev/null
	[ "$(find without -type f -size +100c | wc -l)" -eq 10 ]
	all_keys
	# The file has each key, and no other.
	[ "$(apr-config --json | grep -c '"from":"file"')" -eq "$(apr-config | wc -l)" ]
	make_all with 2>/dev/null
	diff -r without with
}

@test "CHECK-071 each key changes what it says" {
	local m=$model
	settings 'defaults.output_format = "json"'
	[[ $(apr-header "$m") == '{'* && $(apr-debug "$m") == '{'* && $(apr-explain "$m") == '{'* ]]
	[[ $(apr-lint "$m") == '{'* && $(apr-stats "$m") == '{'* && $(apr-meta list "$m") == '{'* ]]
	[[ $(apr-check --only 1 "$m") == '{'* && $(apr-quant -n q4_0 "$m") == '{'* ]]
	[[ $(apr-diff --all "$m" "$m") == '{'* && $(apr-rename -n '^blk=b' "$m") == '{'* ]]
	# Other forms are stronger, and nothing that was right becomes wrong.
	[[ $(apr-lint --junit "$m") == '<?xml'* && $(apr-debug --strings "$m") != '{'* ]]
	apr-sum "$m" >sums
	apr-sum -c sums "$m"
	[ "$(apr-meta get general.name "$m")" = 'Shakespeare 2.3M' ]
	apr-diff -q "$m" "$m"
	apr-check --pass "$m" | apr-quant q8_0 | apr-sum >/dev/null
	apr-tok encode -p 'To be' "$m" | apr-tok decode "$m" >/dev/null
	apr-imatrix -l /dev/null 2>/dev/null || [ $? -eq 4 ]
	apr-quant --list >/dev/null

	settings 'defaults.color = "always"'
	apr-header no-such-file 2>said || true
	[[ $(<said) == $'\e['*apr-header:$'\e[0m '* ]]
	settings 'defaults.color = false'
	! apr-header no-such-file 2>&1 | grep -q $'\e' || fail 'colour'

	settings 'defaults.log_level = "error"'
	try apr-quant -o q.aprs q4_0 "$m"
	quiet
	settings 'defaults.progress = "always"'
	apr-unpack -o p.aprs "$m" 2>&1 | grep -q 's left'
	[ "$(apr-unpack --no-progress "$m" 2>&1 >/dev/null | wc -c)" -eq 0 ]
	settings 'defaults.jobs = 1'
	[ "$(apr-config get defaults.jobs)" = 1 ]
	settings 'defaults.jobs = 1025'
	try apr-stats "$m"
	said 2 'config.toml:1: defaults.jobs is 1025, not an integer from 1 to 1024'
	settings 'defaults.ram_limit = 1'
	# An address sanitizer reserves more than any limit before main.
	if ! grep -q __asan_init "$APR_BIN/apr-unpack"; then
		try apr-header "$m"
		[ "$status" -eq 1 ]
		grep -q 'APR_RAM_LIMIT is 1' "$err"
	fi

	settings 'inspect.show_vocab = false'
	apr-header "$m" | grep -q 'tokens  *array:string 1024: \.\.\.$'
	settings 'inspect.max_tokens_display = 2'
	apr-header "$m" | grep -q 'tokens  *array:string 1024: ! " \.\.\.$'
	settings 'debug.drama_mode = true' 'defaults.output_format = "json"'
	apr-debug "$m" | diff - <(APR_CONFIG=/dev/null apr-debug --drama "$m")
	[[ $(apr-debug --json "$m") == '{'* ]]
	settings 'debug.hex_limit = 16'
	apr-debug --hex @0 "$m" | diff - <(APR_CONFIG=/dev/null apr-debug --hex @0 --limit 16 "$m")
	[ "$(apr-debug --hex @0 "$m" | wc -l)" -lt "$(apr-debug --limit 256 --hex @0 "$m" | wc -l)" ]

	settings 'lint.fail_on = "never"'
	apr-lint "$m" >/dev/null
	settings 'lint.fail_on = "info"'
	! apr-lint "$m" >/dev/null 2>&1 || fail 'no finding counts'
	settings 'validate.min_score = 100'
	try apr-check --only 1,2,3,4,5 "$m"
	[ "$status" -eq 0 ] || [ "$status" -eq 5 ]
	settings 'validate.min_score = 0'
	try apr-check "$m"
	said 2 'validate.min_score is 0, not an integer from 1 to 100'
}

@test "strict, min_score: policy" {
	apr-check "$model" >plain || true
	score=$(apr-check --json "$model" | grep -o '"score":[0-9]*' | head -n 1 | tr -dc 0-9)
	[ "$score" -gt 1 ]
	if [ "$score" -lt 100 ]; then
		settings "validate.min_score = $((score + 1))"
		try apr-check "$model"
		[ "$status" -eq 5 ]
		try apr-check --no-min-score "$model"
		[ "$status" -eq 0 ]
	fi
	# A model that fails: a norm of NaN.
	"$APR_GEN/tamper" mother >mother.aprs
	settings 'validate.strict = true'
	try_pipe 'apr-check --pass mother.aprs | apr-pack -o made.apr'
	[ "$status" -ne 0 ] || skip 'the model of the generator passes'
	[ ! -e made.apr ]
	settings 'validate.strict = false'
	pipe 'apr-check --pass mother.aprs | apr-pack -o made.apr' 2>said
	[ -s made.apr ]
}

@test "require_signature, trust.folder: only models of trusted keys" {
	apr-keygen -W -o key >/dev/null
	apr-unpack "$model" | apr-sign key 2>/dev/null | apr-pack -o signed.apr
	apr-unpack "$model" | apr-pack -o plain.apr
	settings 'validate.require_signature = true'
	for tool in 'apr-check --only 1' 'apr-run -p x -n 1'; do
		# shellcheck disable=SC2086
		try $tool plain.apr
		[ "$status" -eq 1 ] && grep -q '(E006)' "$err" || fail "$tool: $status" "$(cat "$err")"
		# shellcheck disable=SC2086
		try $tool signed.apr
		[ "$status" -eq 1 ] && grep -q '(E006)' "$err" || fail "$tool: $status" "$(cat "$err")"
		# shellcheck disable=SC2086
		try $tool --no-trusted-key plain.apr
		[ "$status" -eq 0 ] || fail "$tool: $status" "$(cat "$err")"
	done
	mkdir keys
	cp key.pub keys
	settings 'validate.require_signature = true' "trust.folder = '$PWD/keys'"
	apr-check --only 1 signed.apr >/dev/null 2>said
	apr-run -p x -n 1 signed.apr >/dev/null 2>said
	apr-verify -q signed.apr 2>said
	try apr-run -p x -n 1 plain.apr
	[ "$status" -eq 1 ] && grep -q '(E006)' "$err"
	[ ! -s "$out" ]
	settings 'trust.folder = "keys"'
	try apr-verify -q signed.apr
	said 2 'trust.folder is keys, not an absolute path'
}

@test "an option is stronger than the environment, that than the file" {
	settings 'defaults.output_format = "json"'
	[[ $(apr-header "$model") == '{'* ]]
	[[ $(APR_OUTPUT_FORMAT=text apr-header "$model") == file* ]]
	[[ $(APR_OUTPUT_FORMAT=text apr-header --json "$model") == '{'* ]]
	[[ $(apr-header --no-json "$model") == file* ]]
	[[ $(APR_OUTPUT_FORMAT='' apr-header "$model") == '{'* ]]
	try apr-header --no-json --no-json "$model"
	said 2 '--json is given twice'
	try apr-header --no-list "$model"
	said 2 'unknown option --no-list'
	try env APR_OUTPUT_FORMAT=xml apr-header "$model"
	said 2 'APR_OUTPUT_FORMAT is xml, not text or json'
	# Where the file is.
	mkdir -p xdg/apr
	echo 'defaults.jobs = 7' >xdg/apr/config.toml
	[ "$(XDG_CONFIG_HOME=$PWD/xdg apr-config get defaults.jobs)" = 7 ]
	try env XDG_CONFIG_HOME=xdg apr-config get defaults.jobs
	said 1 'is not set'
	[ "$(APR_CONFIG=xdg/apr/config.toml apr-config get defaults.jobs)" = 7 ]
	[ "$(APR_CONFIG=xdg/apr/config.toml apr-config path)" = xdg/apr/config.toml ]
	[ "$(apr-config path)" = "$file" ]
	[[ $(APR_CONFIG=/dev/null apr-header "$model") == file* ]]
	rm "$file"
	[ "$(env -u HOME apr-config get defaults.color)" = auto ]
	[[ $(env -u HOME apr-header "$model") == file* ]]
	[ "$(apr-config path --json)" = "{\"path\":\"$file\",\"exists\":false}" ]
}

# refused TEXT: the last file is refused with one message, and exit status 2.
refused() {
	try apr-header "$model"
	said 2 "$1"
	[ ! -s "$out" ]
	try apr-header --help
	quiet
	[ "$(apr-config path)" = "$file" ]
	try apr-config list
	said 2 "$1"
	try apr-config set defaults.jobs 2
	said 2 "$1"
}

@test "broken, unreadable and hostile files: one message" {
	settings '[defaults' && refused 'config.toml:1:10: ] was expected'
	settings 'a = 1979-05-27' && refused 'config.toml:1:5: a date or a time is not supported here'
	printf 'a = "\xff"\n' >"$file" && refused 'config.toml:1:6: bytes that are not UTF-8'
	head -c 3000 "$model" >"$file" && refused 'config.toml:1:'
	settings '[defaults]' 'color = 3' && refused 'config.toml:2: defaults.color is an integer, not auto'
	settings 'defaults.color = ["auto"]' && refused 'defaults.color is an array, not auto'
	settings 'defaults.output_format = "\u001b[31m"' &&
		refused 'defaults.output_format is \x1b[31m, not text or json'
	settings 'trust.folder = "/a\u0000b"' && refused 'is a string with a NUL'
	truncate -s 1G "$file" && refused 'config.toml: has more than 64 KiB'
	settings '' && chmod o+w "$file" && refused 'config.toml: can be written by every user'
	rm "$file"
	mkdir "$file" && refused 'config.toml: is a directory'
	rmdir "$file"
	mkfifo "$file" && refused 'config.toml: is not a regular file'
	rm "$file"
	ln -s config.toml "$file" && refused 'config.toml: cannot be opened: Too many levels'
	ln -sf /dev/zero "$file" && refused 'config.toml: is not a regular file'
	rm "$file"
	mkdir empty
	try env APR_CONFIG=empty/none apr-header "$model"
	said 2 'empty/none: cannot be opened: No such file'
	try env APR_CONFIG="$model/x" apr-header "$model"
	said 2 'cannot be opened: Not a directory'
	# Without a file, and where a link leads nowhere, there are no settings.
	apr-header "$model" >/dev/null
	ln -s nowhere "$file"
	try apr-header "$model"
	quiet
	[ "$(find "$HOME" empty ! -type d)" = "$file" ]
}

@test "a file that cannot be read is one message" {
	[ "$(id -u)" -ne 0 ] || skip 'root can read every file'
	settings ''
	chmod 0 "$file"
	refused 'config.toml: cannot be opened: Permission denied'
}

@test "every tool reads the file, and refuses a broken one" {
	local tool
	settings 'oops'
	for tool in "$root"/bin/apr-*.c; do
		tool=$(basename "$tool" .c)
		case $tool in apr-config | apr-completions) continue ;; esac
		try "$tool" </dev/null
		said 2 'config.toml:1:5: = was expected after a key'
	done
}

@test "an unknown key is one warning, with the nearest name" {
	settings '[defaults]' 'colour = true' 'color = true' '[nothing]' 'like = "this"' '[inspect]' \
		'hex_limit = 3'
	apr-header "$model" 2>said >/dev/null
	[ "$(grep -c 'unknown key' said)" -eq 3 ]
	grep -q 'config.toml:2: unknown key defaults.colour; did you mean defaults.color?' said
	grep -q 'config.toml:5: unknown key nothing.like$' said
	grep -q 'config.toml:7: unknown key inspect.hex_limit; did you mean debug.hex_limit?' said
	# The apr-unpack that reads the file for apr-stats does not warn again.
	apr-stats "$model" 2>said >/dev/null
	[ "$(grep -c 'unknown key' said)" -eq 3 ]
	try env APR_LOG_LEVEL=error apr-header "$model"
	quiet
	seq -f 'x%g = 1' 100 >"$file"
	apr-header "$model" 2>said >/dev/null
	[ "$(wc -l <said)" -eq 9 ]
	grep -q '92 more unknown keys' said
}

@test "apr-config set keeps comments and order, and the file is never half written" {
	settings '# mine' '[defaults]' '  jobs = 2 # few' '' '[other] # keep' 'x = [1,' ' 2]'
	apr-config set defaults.jobs 3
	apr-config set defaults.color never
	apr-config set validate.strict false
	apr-config set defaults.ram_limit 2G
	diff "$file" - <<-'END'
		# mine
		[defaults]
		  jobs = 3 # few
		  color = "never"
		  ram_limit = "2G"

		[other] # keep
		x = [1,
		 2]

		[validate]
		strict = false
	END
	apr-config unset defaults.color
	! grep -q color "$file"
	try apr-config unset defaults.color
	said 1 'does not have defaults.color'
	cp "$file" before
	try apr-config set defaults.jobs many
	said 2 'defaults.jobs: is many, not an integer from 1 to 1024'
	try apr-config set defaults.job 3
	said 2 'defaults.job: is not a key'
	grep -qF 'did you mean defaults.jobs?' "$err"
	try apr-config set defaults.jobs
	said 2 'set takes KEY and VALUE'
	try apr-config sett defaults.jobs 3
	said 2 'sett is not list, get, set, unset or path'
	try apr-config get
	said 2 'get takes KEY'
	try apr-config --json set defaults.jobs 3
	said 2 'it takes no --json'
	run bash -c 'ulimit -f 0; exec apr-config set defaults.jobs 5'
	[ "$status" -eq 1 ] && [[ $output == *'cannot be written'* ]]
	cmp "$file" before
	[ "$(ls -A "${file%/*}")" = config.toml ]

	# A link stays, and so do the permissions.
	mkdir dots
	mv "$file" dots/apr.toml
	chmod 640 dots/apr.toml
	ln -s "$PWD/dots/apr.toml" "$file"
	apr-config set defaults.jobs 4
	[ -L "$file" ] && grep -q 'jobs = 4' dots/apr.toml
	[ "$(stat -c %a dots/apr.toml)" = 640 ]
	# A new file and its folder are the user's own.
	try env APR_CONFIG=new/deep/c.toml apr-config set defaults.jobs 4
	quiet
	[ "$(stat -c %a new new/deep new/deep/c.toml | tr '\n' ' ')" = '700 700 600 ' ]
	try env APR_CONFIG=/dev/null apr-config set defaults.jobs 4
	said 2 '/dev/null: is not a regular file'
	[ -c /dev/null ]
}

@test "of changes at the same time none is lost" {
	local i key=(jobs=2 color=never log_level=error progress=never output_format=json ram_limit=9M)
	for i in "${key[@]}"; do
		apr-config set "defaults.${i%=*}" "${i#*=}" 3>&- &
	done
	wait
	[ "$(apr-config --json | grep -c '"from":"file"')" -eq 6 ]
}
