# libaprml computes: tokens, texts and predictions through the public headers are those of the tools
load ../helper
load ../library/library

# The static library of a mode, its headers, and what it links with.
with_library() {
	local packages
	packages=$(sed -n 's/^APRML_PACKAGES = //p' "$root/config.mk")
	mode=$1 run_make "build/$1/lib/libaprml.a"
	# shellcheck disable=SC2086
	echo "-I$BATS_FILE_TMPDIR/include $root/build/$1/lib/libaprml.a $(pkg-config --libs $packages)" \
		-lpthread -lm
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	[ -e "$(${CC:-cc} -print-file-name=libjansson.a)" ] || return 0
	mkdir include
	ln -s "$root/lib/api" include/aprml
	with_library "$mode" >flags
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -o runs "$root/tests/library/runs.c" \
		$(cat flags) $(mode_flags)
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	need_library
	PATH=$BATS_FILE_TMPDIR:$PATH
}

# A finding of a leak is a failure here.
export ASAN_OPTIONS=exitcode=99

@test "tokens are those of apr-tok" {
	local text=$'To be, or not to be:\n\tthat is the "question".'
	runs tokens "$model" "$text" >said
	apr-tok encode --special -p "$text" "$model" | tr -s ' ' , | diff - <(sed -n 1p said)
	grep -qF 'the "question".' said
	[ "$(tail -n 1 said)" = '1024 tokens, EOS ends: 1' ]
}

@test "texts are those of apr-run, however the model is opened and run" {
	local way ask=(--temp 0.9 --seed 7 -n 16)
	apr-run -p ROMEO: "${ask[@]}" "$model" >expected
	for way in path memory ranges copy threads arena feed; do
		runs text "$model" $way ROMEO: 16 0.9 7 >said 2>how
		diff said expected || fail "$way"
		[ "$(cat how)" = '1, 16 tokens' ] || fail "$way: $(cat how)"
	done
	runs text "$model" twice ROMEO: 16 0.9 7 2>/dev/null | diff - <(cat expected expected)
	# The recorded text, and one that ends before a stop text.
	runs text "$model" path ROMEO: 120 0 0 2>how |
		diff - <(head -c -2 "$root/tests/data/greedy.ROMEO.n120.txt")
	runs text "$model" path ROMEO: 40 0.9 7 are 2>how |
		diff - <(apr-run -p ROMEO: --temp 0.9 --seed 7 -n 40 --stop are "$model")
}

@test "logits are those of apr-run, bit for bit" {
	local file
	for file in "$model" "$root"/tests/data/arch/*.gguf; do
		apr-run --logits -p 'a text' "$file" >expected 2>/dev/null || continue
		runs logits "$file" 'a text' | cmp - expected
	done
	[ -s expected ]
	# With an adapter.
	PATH=$PATH:$APR_GEN mkmodel <<-'END' >adapter.gguf
		key general.type string adapter
		key adapter.type string lora
		key general.architecture string llama
		key adapter.lora.alpha f32 2
		tensor blk.0.attn_q.weight.lora_a F32 1x256 values 0.5
		tensor blk.0.attn_q.weight.lora_b F32 256x1 values 0.25
	END
	apr-run --logits -p 'a text' --lora adapter.gguf=0.5 "$model" >adapted
	! apr-run --logits -p 'a text' "$model" | cmp -s - adapted
	runs logits "$model" 'a text' adapter.gguf 0.5 | cmp - adapted
}

@test "a conversation goes on where it was, as if its text had come at once" {
	runs talk "$model"
}

@test "cancelled, late, without memory, misused: an error each" {
	runs ends "$model"
}

@test "eight threads over one model, and over eight: the same texts" {
	runs crowd "$model" "$root/tests/data/predict/svm2_rbf.pkl" >said
	[ "$(wc -l <said)" -ge 2 ]
}

@test "eight threads under the thread sanitizer, makers too: no race" {
	[ "$mode" = release ] || skip "a build of its own"
	echo 'int main(void) { return 0; }' >nothing.c
	${CC:-cc} -fsanitize=thread -o nothing nothing.c 2>/dev/null && ./nothing ||
		skip "no thread sanitizer here"
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -g -fsanitize=thread -o crowd "$root/tests/library/runs.c" $(with_library tsan)
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -D_GNU_SOURCE -g -fsanitize=thread -o makers "$root/tests/library/misuse.c" $(with_library tsan)
	TSAN_OPTIONS=exitcode=97 ./makers crowd "$model"
	TSAN_OPTIONS=exitcode=97 ./crowd crowd "$model" "$root/tests/data/predict/svm2_rbf.pkl" >said
	[ "$(wc -l <said)" -ge 2 ]
}

@test "memory runs out at each allocation: an error each, and no leak" {
	local models=$root/tests/data/predict
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror -o starved "$root/tests/library/starved.c" \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap $(cat "$BATS_FILE_TMPDIR/flags") $(mode_flags)
	./starved "$model" "$root/tests/data/arch/gemma2.gguf" "$models/forest.pkl" 5 "$models/text_bayes.pkl" 0 "$models/svm_rbf.pkl" 5 \
		"$models/boosted.pkl" 5 >said
	[ "$(wc -l <said)" -eq 17 ]
}

# Numbers in one notation, and labels without quotes.
numbers() {
	tr -d '"' <"$1" | awk -F, -v OFS=, '{ for (i = 1; i <= NF; i++) if ($i ~ /^[-+.0-9][-+.0-9e]*$/) $i = sprintf("%.17g", $i); print }'
}

# Prints "MODEL ROWS" for the models of scikit-learn whose rows are numbers.
models() {
	awk '$2 ~ /csv$/ { print $1, $2 }' "$root/tests/data/predict/models.txt"
}

# bats test_tags=repeats
@test "predictions are those of apr-predict" {
	local name rows what way ways count=0
	while read -r name rows; do
		file=$root/tests/data/predict/$name.pkl
		for what in prediction proba raw leaf contrib; do
			local option=(--$what)
			[ $what != prediction ] || option=()
			apr-predict "${option[@]}" "$file" "$root/tests/data/predict/$rows" >want 2>/dev/null || continue
			ways=(predict)
			[ $what != raw ] || ways+=(memory)
			for way in "${ways[@]}"; do
				runs $way "$file" $what <"$root/tests/data/predict/$rows" >said ||
					fail "$way $name $what"
				diff <(numbers said) <(numbers want) >differs ||
					fail "$way $name $what" "$(head -5 differs)"
			done
			count=$((count + 1))
		done
	done < <(models)
	[ "$count" -gt 30 ]
}

@test "predictions for texts are those of apr-predict" {
	local name count=0
	while read -r name; do
		file=$root/tests/data/predict/$name.pkl
		apr-predict --rows text "$file" "$root/tests/data/predict/texts.txt" >want
		! grep -q : want || continue
		runs texts "$file" prediction <"$root/tests/data/predict/texts.txt" | diff - want || fail "$name"
		count=$((count + 1))
	done < <(awk '$2 == "texts.txt" { print $1 }' "$root/tests/data/predict/models.txt")
	[ "$count" -gt 2 ]
}
