# apr-completions, and what the shells complete
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$PWD/home
}

# Each shell gives what it offers for the last of its words, one a line, without descriptions.
in_bash() {
	bash -c '
		source "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_apr_tools "$1" "${@: -1}" "${@: -2:1}"
		printf "%s\n" "${COMPREPLY[@]}"
	' - "$root/completions/apr-tools.bash" "$@"
}

in_zsh() {
	zsh -f -c '
		fpath=($1 $fpath)
		shift
		_call_program() { shift; "$@" }
		_arguments() { print -rl -- "$@" }
		_describe() { print -rl -- ${list%%:*} }
		compadd() { print -rl -- $list }
		autoload -Uz _apr-tools
		words=("$@") CURRENT=$#
		_apr-tools
	' - "$root/completions" "$@"
}

in_fish() {
	fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$root/completions/apr-tools.fish" \
		"$*" | cut -f 1
}

@test "apr-completions prints the files" {
	try apr-completions --help
	quiet
	exam_synopsis apr-completions
	apr-completions bash | cmp - "$root/completions/apr-tools.bash"
	apr-completions zsh | cmp - "$root/completions/_apr-tools"
	apr-completions fish | cmp - "$root/completions/apr-tools.fish"
	try apr-completions
	said 2 'which shell: bash, zsh or fish'
	try apr-completions tcsh
	said 2 'the shell is bash, zsh or fish, not tcsh'
	try bash -c 'exec apr-completions bash >/dev/full'
	said 1 '<stdout>: cannot be written'
	(source <(apr-completions bash) && complete -p apr apr-quant >said)
	[ "$(wc -l <said)" -eq 2 ]
}

# offers SHELL WANT WORD…: the last word is completed to the words WANT, in any order.
offers() {
	local shell=$1 want=$2 got
	shift 2
	got=$(in_"$shell" "$@" | sort | tr '\n' ' ')
	[ "$got" = "$want " ] || fail "$shell: $*: $got, not $want"
}

@test "bash completes words of apr, options, types, formats, keys, and commands of batch" {
	in_bash apr '' | sort | diff - <(apr help --words | cut -f 1 | sort)
	offers bash inspect apr inspe
	offers bash '--quality-check --quantize' apr convert --qua
	offers bash 'q4_k_m q4_k_s' apr convert --quantize q4_k_
	offers bash 'lz4 zstd' apr convert --compress ''
	offers bash 'apr1 apr2 apr2-64 gguf onnx safetensors xgboost' apr pack -t ''
	offers bash 'apr1 apr2-64 gguf safetensors' apr convert --to '' ||
		offers bash 'apr apr1 apr2-64 gguf safetensors' apr convert --to ''
	offers bash 'error info never warning' apr lint --fail-on ''
	offers bash 'f16 f32 q8_0' apr-run --cache ''
	offers bash 'get list path set unset' apr config ''
	offers bash defaults.color apr config get defaults.c
	offers bash 'false true' apr-config set debug.drama_mode ''
	offers bash 'bash fish zsh' apr completions ''
	offers bash inspect apr batch 'x*' -- inspe
	offers bash --json apr-batch x -- inspect --js
	offers bash q8_0 apr batch x -- apr-quant q8
	offers bash convert apr help conv
	# Names of files: bash's own.
	[ -z "$(in_bash apr inspect '')" ]
	[ -z "$(in_bash apr convert --imatrix '')" ]
	[ -z "$(in_bash apr no-such-word --)" ]
}

@test "zsh completes them too" {
	[ -x "$(command -v zsh)" ] || skip 'zsh is not installed'
	in_zsh apr '' | sort | diff - <(apr help --words | cut -f 1 | sort)
	in_zsh apr convert '' >specs
	grep -q '^--compress=.*:(lz4 zstd)$' specs
	grep -q '^--quantize=.*:TYPE:.* q4_k_m ' specs
	grep -q '^--imatrix=.*:_files$' specs
	in_zsh apr pack '' | grep -q '^--to=.*:(apr1 apr2 apr2-64 gguf onnx safetensors xgboost)$'
	offers zsh 'get list path set unset' apr config ''
	offers zsh 'false true' apr-config set debug.drama_mode ''
	offers zsh 'bash fish zsh' apr completions ''
	in_zsh apr batch x -- '' | grep -qx inspect
	in_zsh apr-batch x -- apr-header '' | grep -q '^--json\['
}

@test "fish completes them too" {
	[ -x "$(command -v fish)" ] || skip 'fish is not installed'
	in_fish apr '' | sort | diff - <(apr help --words | cut -f 1 | sort)
	offers fish '--quality-check --quantize' apr convert --qua
	offers fish 'q4_k_m q4_k_s' apr convert --quantize q4_k_
	offers fish 'lz4 zstd' apr convert --compress ''
	offers fish 'apr1 apr2 apr2-64 gguf safetensors' apr pack -t ''
	offers fish 'get list path set unset' apr config ''
	offers fish 'false true' apr-config set debug.drama_mode ''
	offers fish --json apr-batch x -- inspect --js
	offers fish q8_0 apr batch x -- apr-quant q8
}
