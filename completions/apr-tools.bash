# Completion of apr and the apr tools for bash. It reads the words of apr from "apr help --words"
# and options from --help, so it cannot be out of date.

# Prints option $2 of the help $1: its letter or "-", its name, the word for its value or "-", and
# its description: "o output FILE write to FILE". Prints nothing if there is no such option.
_apr_tools_option() {
	local line pattern='^  (-(.),|   ) --([a-z0-9-]+)( ([^ ]+))?( +(.*))?$'
	while IFS= read -r line; do
		if [[ $line =~ $pattern ]] &&
			[[ $2 == "-${BASH_REMATCH[2]}" || $2 == "--${BASH_REMATCH[3]}" ]]; then
			printf '%s' "${BASH_REMATCH[2]:--} ${BASH_REMATCH[3]} ${BASH_REMATCH[5]:--}" \
				" ${BASH_REMATCH[7]}"
			return
		fi
	done <<<"$1"
}

# Prints the words that the usage in the help $1 lists for the option, which is spelled $2 or
# $3 there: [-t apr2|gguf].
_apr_tools_words() {
	local pattern="\\[(-$2|--$3) ([a-z0-9_|-]*)\\]"
	[[ $1 =~ $pattern ]] && printf '%s' "${BASH_REMATCH[2]//|/ }"
}

# Prints the words that a description ends in, or has before a parenthesis: "lz4, zstd or none".
_apr_tools_listed() {
	local word='[A-Za-z0-9_:.-]+' pattern
	pattern="(^|: |to )(($word, )*$word,? or $word)( \\(.*)?\$"
	[[ $1 =~ $pattern ]] || return
	grep -o '[^ ,]*' <<<"${BASH_REMATCH[2]}" | grep -x '[a-z0-9_:.-]*' | grep -vx or
}

# Prints the types that can be written: by the tool itself, or by apr-quant.
_apr_tools_types() {
	[[ ${1##*/} != apr ]] || set -- "$1" quant
	"$@" --list 2>/dev/null | awk '$4 == "yes" { printf "%s ", $1 }'
}

# Prints the words for the operand before the cursor, which is number $1 from 1, of the command
# $3…; $2 is the operand before it.
_apr_tools_operand() {
	local name=${3##*/} number=$1 before=$2
	shift 2
	[[ $name != apr ]] || name=apr-$2
	case $name:$number:$before in
	apr-help:1:*) "$1" help --words | cut -f 1 ;;
	apr-completions:1:*) echo bash zsh fish ;;
	apr-config:1:*) echo list get set unset path ;;
	apr-config:2:get | apr-config:2:set | apr-config:2:unset)
		"$@" --json list 2>/dev/null | sed 's/^{"key":"\([^"]*\)".*/\1/'
		;;
	apr-config:3:*)
		"$@" --json get "$before" 2>/dev/null | sed -n 's/.*"values":"\([^"]*\)".*/\1/p' |
			tr '|' '\n'
		;;
	esac
}

_apr_tools_offer() {
	compopt +o default 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# The command after "--" of apr-batch, as if it were typed alone. Fails if it is not there.
_apr_tools_batch() {
	local i word
	[[ ${1##*/} == apr-batch || ${COMP_WORDS[1]-} == batch ]] || return
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || break
	done
	((i < COMP_CWORD)) || return
	word=${1%apr-batch}
	COMP_WORDS=("${word%apr}apr" "${COMP_WORDS[@]:i+1}")
	COMP_CWORD=$((COMP_CWORD - i))
	[[ $COMP_CWORD -eq 1 || ${COMP_WORDS[1]} != apr-* ]] || {
		COMP_WORDS=("${word%apr}${COMP_WORDS[1]}" "${COMP_WORDS[@]:2}")
		COMP_CWORD=$((COMP_CWORD - 1))
	}
}

_apr_tools() {
	local tool=("$1") cur=$2 prev=$3 first=1 help letter name value words text
	COMPREPLY=()
	if _apr_tools_batch "$1"; then
		_apr_tools "${COMP_WORDS[0]}" "$cur" "$prev"
		return
	fi
	if [[ ${1##*/} == apr ]]; then
		if ((COMP_CWORD == 1)); then
			_apr_tools_offer "$("$1" help --words 2>/dev/null | cut -f 1)" "$cur"
			return
		fi
		tool+=("${COMP_WORDS[1]}") first=2
	fi
	words=$(_apr_tools_operand $((COMP_CWORD - first + 1)) "$prev" "${tool[@]}")
	if [[ $words && $cur != -* ]]; then
		_apr_tools_offer "$words" "$cur"
		return
	fi
	words=
	help=$("${tool[@]}" --help 2>/dev/null) || return
	# "--to=ap" arrives as three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $prev == -?* ]]; then
		read -r letter name value text <<<"$(_apr_tools_option "$help" "$prev")"
		value=${value#[-[]} value=${value%]}
	elif ((COMP_CWORD == first)) && [[ $cur != -* && ${help%%$'\n\n'*} == *' TYPE [FILE]' ]]; then
		value=TYPE
	fi
	[[ $value || $cur != -* ]] ||
		words=$(grep -oE '^  (-.,|   ) --[a-z0-9-]+' <<<"$help" | grep -o -- '--.*')
	case $value in
	'' | *FILE* | MANIFEST | MODEL | KEY* | CANARY | PROMPTS)
		# Without a list of words, complete file names.
		[[ $words ]] || return
		;;
	REGEX*) ;;
	*TYPE)
		words="$(_apr_tools_types "${tool[@]}") $(tr '|' '\n' <<<"$value" | grep '^[a-z]')
			$(_apr_tools_listed "$text")"
		;;
	*)
		words=$(_apr_tools_words "$help" "$letter" "$name" || _apr_tools_listed "$text" ||
			grep -xE '[A-Za-z0-9_-]+(\|[A-Za-z0-9_-]+)+' <<<"$value" | tr '|' '\n')
		;;
	esac
	_apr_tools_offer "$words" "$cur"
}

complete -o default -F _apr_tools apr apr-adapt apr-batch apr-cache apr-canary apr-check \
	apr-completions apr-config apr-debug apr-decrypt apr-diff apr-distill apr-embed apr-encrypt apr-explain \
	apr-fit apr-gate apr-get apr-header apr-imatrix apr-keygen apr-lint apr-lora apr-lowrank apr-merge apr-meta apr-open \
	apr-pack apr-predict apr-prune apr-pull apr-push apr-quant apr-rename apr-run apr-seal apr-sign apr-sparse apr-stats \
	apr-sum apr-tok apr-unpack apr-verify
