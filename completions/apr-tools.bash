# Completion of the apr tools for bash. It reads the options of a tool from its --help, so it
# cannot be out of date.

# Prints option $2 of the help $1: its letter or "-", its name, and the word for its value, if
# it takes one: "o output FILE". Prints nothing if there is no such option.
_apr_tools_option() {
	local line pattern='^  (-(.),|   ) --([a-z0-9-]+)( ([^ ]+))?'
	while IFS= read -r line; do
		if [[ $line =~ $pattern ]] &&
			[[ $2 == "-${BASH_REMATCH[2]}" || $2 == "--${BASH_REMATCH[3]}" ]]; then
			printf '%s' "${BASH_REMATCH[2]:--} ${BASH_REMATCH[3]} ${BASH_REMATCH[5]}"
			return
		fi
	done <<<"$1"
}

# Prints the words that the usage in the help $1 lists for the option, which is spelled $2 or
# $3 there: [-t apr2|gguf].
_apr_tools_words() {
	local pattern="\\[(-$2|--$3) ([a-z0-9|-]*)\\]"
	[[ $1 =~ $pattern ]] && printf '%s' "${BASH_REMATCH[2]//|/ }"
}

# Prints the types that a tool with --list can write.
_apr_tools_types() {
	"$1" --list 2>/dev/null | awk '$4 == "yes" { printf "%s ", $1 }'
}

_apr_tools() {
	local tool=$1 cur=$2 prev=$3 help letter name value words
	COMPREPLY=()
	help=$("$tool" --help 2>/dev/null) || return
	# "--to=ap" arrives as three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $prev == -?* ]]; then
		read -r letter name value <<<"$(_apr_tools_option "$help" "$prev")"
	elif ((COMP_CWORD == 1)) && [[ $cur != -* && ${help%%$'\n\n'*} == *' TYPE [FILE]' ]]; then
		value=TYPE
	fi
	[[ $value || $cur != -* ]] ||
		words=$(grep -oE '^  (-.,|   ) --[a-z0-9-]+' <<<"$help" | grep -o -- '--.*')
	case $value in
	'' | FILE | MANIFEST)
		# Without a list of words, complete file names.
		[[ $words ]] || return
		;;
	REGEX*)
		compopt +o default 2>/dev/null
		;;
	*TYPE)
		words="$(_apr_tools_types "$tool") $(tr '|' '\n' <<<"$value" | grep '^[a-z]')"
		compopt +o default 2>/dev/null
		;;
	*)
		words=$(_apr_tools_words "$help" "$letter" "$name")
		compopt +o default 2>/dev/null
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _apr_tools apr-adapt apr-batch apr-cache apr-canary apr-check \
	apr-config apr-debug apr-decrypt apr-diff apr-encrypt apr-explain apr-fit apr-gate \
	apr-get apr-header apr-imatrix apr-keygen apr-lint apr-meta apr-open apr-pack \
	apr-pull apr-quant apr-rename apr-run apr-seal apr-sign apr-stats apr-sum apr-tok \
	apr-unpack apr-verify
