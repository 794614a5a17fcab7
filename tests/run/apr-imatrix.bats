# apr-imatrix: how much each column matters
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	data=$root/tests/data
	text=$root/README.md
}

# Prints the largest relative difference of the sums of squares of two matrices in GGUF.
difference() {
	apr-get --list "$1" | awk '$1 ~ /in_sum2$/ { print $1 }' | while read -r name; do
		paste <(apr-get --text "$name" "$1" | tr ' ' '\n') \
			<(apr-get --text "$name" "$2" | tr ' ' '\n')
	done | awk '$2 != 0 { d = $1 / $2 - 1; d = d < 0 ? -d : d; if (d > most) most = d; n++ }
		END { printf "%.9f %d\n", most, n }'
}

@test "apr-imatrix passes the exam" {
	printf 'ROMEO: what is it? %.0s' {1..40} >words
	exam sink apr-imatrix --text "$PWD/words" --context 16
}

@test "apr-imatrix -l passes the exam" {
	exam_in=$data/imatrix.gguf exam report apr-imatrix -l
}

@test "a matrix of llama.cpp comes back byte for byte, in both types" {
	apr-imatrix --merge "$data/imatrix.gguf" | cmp - "$data/imatrix.gguf"
	apr-imatrix --merge "$data/imatrix.gguf" -o made.dat
	cmp made.dat "$data/imatrix.dat"
	apr-imatrix --merge "$data/imatrix.dat" -t dat | cmp - "$data/imatrix.dat"
	apr-imatrix --merge "$data/imatrix.dat" --context 256 -o back.gguf
	read -r most n < <(difference back.gguf "$data/imatrix.gguf")
	[ "$n" -gt 6000 ]
	awk -v d="$most" 'BEGIN { exit !(d < 1e-6) }'
}

# bats test_tags=repeats
@test "columns weigh what llama.cpp's imatrix tool finds, from a file and from its folder" {
	shakespeare=$APR_TEST_DATA/models/shakespeare
	[ -d "$shakespeare" ] || skip 'no reference data: APR_TEST_DATA'
	APR_CPU=$(levels | tr ' ' '\n' | tail -n 1)
	export APR_CPU
	for of in "$model" "$shakespeare"; do
		apr-imatrix --text "$APR_TEST_DATA/text/tinyshakespeare.txt" --context 256 --chunks 60 \
			-f -o made "$of"
		apr-imatrix -l made | awk 'NR > 1 && $4 != 15360 { exit 1 }'
		read -r most n < <(difference made "$data/imatrix.gguf")
		[ "$n" -gt 6000 ]
		awk -v d="$most" 'BEGIN { exit !(d < 0.01) }' || fail "$of: $most"
	done
}

# bats test_tags=repeats
@test "--fast: columns stay within 1 percent, with the same bytes on any number of threads" {
	text=$APR_TEST_DATA/text/tinyshakespeare.txt
	[ -e "$text" ] || skip 'no reference data: APR_TEST_DATA'
	of=(apr-imatrix --fast --text "$text" --context 256)
	"${of[@]}" --chunks 60 -j 3 -o made "$model"
	read -r most n < <(difference made "$data/imatrix.gguf")
	[ "$n" -gt 6000 ]
	awk -v d="$most" 'BEGIN { exit !(d > 0.003 && d < 0.01) }' || fail "$most"
	"${of[@]}" --chunks 12 -j 1 -o one "$model"
	"${of[@]}" --chunks 12 -j 3 "$model" | cmp - one
	"${of[@]}" --chunks 8 -o first "$model"
	"${of[@]}" --from-chunk 8 --chunks 4 --merge first -o both "$model"
	read -r most n < <(difference both one)
	awk -v d="$most" 'BEGIN { exit !(d < 1e-6) }' || fail "$most"
	apr-unpack "$model" | apr-quant --pure q8_0 | apr-pack -t gguf -o q8.gguf
	apr-imatrix --text "$text" --context 256 --chunks 2 -o slow q8.gguf
	apr-imatrix --fast --text "$text" --context 256 --chunks 2 q8.gguf | cmp - slow
}

@test "parts of a text add up; threads change nothing" {
	of=(apr-imatrix --text "$text" --context 64)
	"${of[@]}" --chunks 6 -j 1 -o all "$model"
	"${of[@]}" --chunks 6 -j 3 "$model" | cmp - all
	"${of[@]}" --chunks 2 -o first "$model"
	"${of[@]}" --from-chunk 2 --chunks 4 --merge first -o both "$model"
	read -r most n < <(difference both all)
	[ "$n" -gt 6000 ]
	awk -v d="$most" 'BEGIN { exit !(d < 1e-6) }' || fail "$most"
	apr-imatrix -l both >lines
	awk 'NR > 1 && $4 != 384 { exit 1 }' lines
	apr-header both | grep -q 'imatrix.chunk_count .*6'
	apr-header both | grep -q 'imatrix.datasets .*README.md.*README.md'
}

@test "the matrix serves apr-quant; the output layer is measured if asked" {
	apr-imatrix --text "$text" --context 64 --chunks 2 --process-output -o m "$model"
	apr-imatrix -l m | grep -q '^output.weight '
	apr-quant q2_k_s --imatrix m "$model" 2>said | apr-pack -o q.apr
	grep -q '22 of 23 tensors' said || fail "$(cat said)"
	apr-imatrix --text "$text" --context 64 --chunks 2 -t dat "$model" | cmp -s - m && return 1
	apr-imatrix --text "$text" --context 64 --chunks 2 "$model" | apr-unpack | apr-get --list - |
		grep -c in_sum2 | grep -qx 21
}

@test "experts have a matrix each, and the GGUF and the folder the same" {
	folder=$APR_TEST_DATA/convert/qwen2moe
	[ -d "$folder" ] || skip 'no reference data: APR_TEST_DATA'
	of=(apr-imatrix --text "$text" --context 64 --chunks 2 -f)
	apr-unpack "$folder/hf" 2>/dev/null | apr-adapt gguf 2>/dev/null | apr-pack -t gguf -o m.gguf
	"${of[@]}" -o file m.gguf 2>said
	"${of[@]}" -o folder "$folder/hf" 2>/dev/null
	apr-imatrix -l file | grep -q '^blk.0.ffn_down_exps.weight  *[2-9]'
	apr-imatrix -l file | grep -q '^blk.0.ffn_gate_inp_shexp.weight '
	diff <(apr-imatrix -l file | awk '{ print $1, $2, $3, $4 }') \
		<(apr-imatrix -l folder | awk '{ print $1, $2, $3, $4 }')
	read -r most n < <(difference folder file)
	[ "$n" -gt 100 ]
	awk -v d="$most" 'BEGIN { exit !(d < 0.01) }' || fail "$most"
}

@test "wrong use and wrong files are refused, and nothing is left" {
	try apr-imatrix --text missing -o out "$model"
	said 3 'missing: cannot be opened'
	head -c 3000 "$text" >own
	try apr-imatrix --text own -f -o own "$model"
	said 2 'own: is the input file itself'
	rm own
	try apr-imatrix --text "$text" --percentile 99 -o out "$model"
	said 2 "--percentile needs --method percentile"
	try apr-imatrix --text "$text" --method minmax --merge "$data/imatrix.gguf" -o out "$model"
	said 2 "ranges cannot be added"
	try apr-imatrix --text "$text" -t xml -o out "$model"
	said 2 'TYPE is gguf, dat or stream, not xml'
	try apr-imatrix --json "$data/imatrix.gguf"
	said 2 '--json goes with -l'
	try apr-imatrix -l --fast "$data/imatrix.gguf"
	said 2 '-l only reads FILE'
	try apr-imatrix -l --chunks 3 "$data/imatrix.gguf"
	said 2 '-l only reads FILE'
	try apr-imatrix --merge "$data/imatrix.gguf" --text "$text" -o out </dev/null
	said 2 'a text needs a model'
	try apr-imatrix --text "$text" --from-chunk 100000 -o out "$model"
	said 5 'fewer than the parts left out and one context of'
	echo short >short
	try apr-imatrix --text short -o out "$model"
	said 5 'give a longer text'
	try apr-imatrix --text "$text" --context 100000 -o out "$model"
	said 5 'is longer than the model'
	try apr-imatrix --merge "$model" -o out
	said 4 'is a model, but no importance matrix'
	try apr-imatrix --merge missing -o out
	said 3 'missing: cannot be opened'
	head -c 20000 "$data/imatrix.dat" >cut
	try apr-imatrix --merge "$data/imatrix.gguf" --merge cut -o out
	said 4 cut
	try apr-imatrix --text "$text" --context 64 -o out "$data/imatrix.gguf"
	said 4
	[ ! -e out ]
}

@test "matrices of other models are not added" {
	other=$root/tests/data/arch/qwen3moe.gguf
	[ -e "$other" ] || other=$(ls "$root"/tests/data/arch/*.gguf | head -n 1)
	apr-imatrix --text "$text" --context 64 --chunks 1 -o other "$other"
	try apr-imatrix --merge "$data/imatrix.gguf" --merge other -o out
	said 5 'has another size'
	[ ! -e out ]
}

@test "counts that no text has are refused" {
	PATH=$PATH:$APR_GEN
	for count in 1e38 -1 nan; do
		mkmodel >odd.gguf <<-END
			key general.type string imatrix
			key imatrix.chunk_size u32 1
			tensor a.in_sum2 F32 4 values 1 2 3 4
			tensor a.counts F32 1 values $count
		END
		try apr-imatrix --merge odd.gguf -t dat -o out
		said 4 'its count 0 is not a number of tokens'
	done
	[ ! -e out ]
}
