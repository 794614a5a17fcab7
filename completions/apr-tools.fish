# Completion of apr and the apr tools for fish. It reads the words of apr from "apr help --words"
# and options from --help, so it cannot be out of date.

# Prints the words that a description ends in, or has before a parenthesis: "lz4 or zstd".
function __apr_tools_listed
	set -l word '[A-Za-z0-9_:.-]+'
	set -l found (string match -r "(?:^|: |to )((?:$word, )*$word,? or $word)(?: \\(.*)?\$" -- "$argv[1]")
	test (count $found) -eq 2; or return 1
	string split ' ' -- (string replace -a ',' '' -- $found[2]) |
		string match -r '^[a-z0-9_:.-]+$' | string match -v or
end

# Prints the types that a tool, or apr-quant, can write.
function __apr_tools_types
	set -l tool $argv
	test (basename $tool[1]) != apr; or set tool $tool[1] quant
	$tool --list 2>/dev/null | awk '$4 == "yes" { print $1 }'
end

# Prints the words for operand $argv[1], from 1, of the command $argv[3..]; $argv[2] is the word
# before it.
function __apr_tools_operand
	set -l tool $argv[3..-1]
	set -l name (basename $tool[1])
	test $name != apr; or set name apr-$tool[2]
	switch $name:$argv[1]:$argv[2]
		case 'apr-help:1:*'
			$tool[1] help --words | cut -f 1
		case 'apr-completions:1:*'
			printf '%s\n' bash zsh fish
		case 'apr-config:1:*'
			printf '%s\n' list get set unset path
		case apr-config:2:get apr-config:2:set apr-config:2:unset
			$tool --json list 2>/dev/null | string replace -r '^\{"key":"([^"]*)".*' '$1'
		case 'apr-config:3:*'
			$tool --json get $argv[2] 2>/dev/null | string match -rg '"values":"([^"]*)"' |
				string split '|'
	end
end

# Prints a line of a help in parts: the line, letter, name, value and description of its option.
function __apr_tools_parts
	set -l m (string match -r '^  (-.,|   ) --([a-z0-9-]+)( [^ ]+|)( +.*|)$' -- $argv[1]); or return
	printf '%s\n' $m[1] (string trim -c ' ,-' -- $m[2]) $m[3] (string trim -- $m[4]) \
		(string trim -- $m[5])
end

# Prints the options of the help $argv, with descriptions.
function __apr_tools_options
	for line in $argv
		set -l m (__apr_tools_parts $line); or continue
		printf '%s\t%s\n' --$m[3] "$m[5]"
		test -z "$m[2]"; or printf '%s\t%s\n' -$m[2] "$m[5]"
	end
end

# Prints the values of the option $argv[1]; the help is $argv[2], and the rest is the command.
# Fails if it takes none, or a file.
function __apr_tools_values
	set -l option $argv[1]
	set -l help (string split \n -- $argv[2])
	set -l tool $argv[3..-1]
	for line in $help
		set -l m (__apr_tools_parts $line); or continue
		contains -- $option --$m[3] "-$m[2]"; or continue
		set -l value (string trim -c '[]' -- "$m[4]")
		switch "$value"
			case '' '*FILE*' MANIFEST MODEL 'KEY*' CANARY PROMPTS 'REGEX=*' REGEX
				return 1
			case '*TYPE'
				__apr_tools_types $tool
				string split '|' -- $value | string match -r '^[a-z].*'
				__apr_tools_listed "$m[5]"
				return 0
		end
		set -l usage (string match -r '\[(?:-'"$m[2]"'|--'$m[3]') ([a-z0-9_|-]*)\]' -- "$help")
		if test (count $usage) -eq 2
			string split '|' -- $usage[2]
		else if not __apr_tools_listed "$m[5]"
			string match -q '*|*' -- $value; and string split '|' -- $value
		end
		return 0
	end
	return 1
end

function __apr_tools_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	# What follows "--" of apr-batch is a command of its own.
	if test (basename $words[1]) = apr-batch; or test "x$words[2]" = xbatch
		if set -l at (contains -i -- -- $words)
			set -l apr (string replace -r 'apr-batch$' apr -- $words[1])
			set words $apr $words[(math $at + 1)..-1]
			if string match -q 'apr-*' -- "$words[2]"
				set words $words[2..-1]
			end
		end
	end
	set -l tool $words[1]
	set -l first 1
	if test (basename $tool) = apr
		if test (count $words) -eq 1
			$tool help --words 2>/dev/null | string replace -r '\t[^\t]*\t' '\t'
			return
		end
		set tool $words[1..2]
		set first 2
	end
	set -l number (math (count $words) - $first + 1)
	if not string match -q -- '-*' $cur
		set -l list (__apr_tools_operand $number "$words[-1]" $tool)
		if test (count $list) -gt 0
			printf '%s\n' $list
			return
		end
	end
	set -l help ($tool --help 2>/dev/null | string collect)
	if string match -q -- '-*' $words[-1]; and test (count $words) -gt $first
		__apr_tools_values $words[-1] "$help" $tool; and return
	end
	if string match -qr '^(?<option>--[^=]*)=' -- $cur
		for value in (__apr_tools_values $option "$help" $tool)
			echo $option=$value
		end
	else if string match -q -- '-*' $cur
		__apr_tools_options (string split \n -- $help)
	else if test $number -eq 1; and string match -qr ' TYPE \\[FILE\\]\n' -- "$help"
		__apr_tools_types $tool
	end
end

# Without words, names of files.
function __apr_tools_no_files
	test (count (__apr_tools_complete)) -gt 0
end

for tool in apr apr-adapt apr-batch apr-cache apr-canary apr-check apr-completions \
		apr-config apr-debug apr-decrypt apr-diff apr-distill apr-embed apr-encrypt apr-explain apr-fit \
		apr-gate apr-get apr-header apr-imatrix apr-keygen apr-lint apr-lora apr-lowrank apr-merge apr-meta apr-open \
		apr-pack apr-predict apr-prune apr-pull apr-push apr-quant apr-rename apr-run apr-seal apr-sign apr-sparse apr-stats \
		apr-sum apr-tok apr-unpack apr-verify
	complete -c $tool -n __apr_tools_no_files -f
	complete -c $tool -a '(__apr_tools_complete)'
end
