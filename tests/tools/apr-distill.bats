# apr-distill: a student learns from a text and a teacher
load ../helper

few=(--batch 1 --context 32 --held-out 0.2)
distill=(apr-distill --data text.txt "${few[@]}")

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	printf '%s\n' 'First Citizen:' 'Before we proceed any further, hear me speak.' '' 'All:' \
		'Speak, speak.' '' 'First Citizen:' 'You are all resolved rather to die than to famish?' '' \
		'All:' 'Resolved. resolved.' '' 'First Citizen:' \
		'First, you know Caius Marcius is chief enemy to the people.' '' 'All:' \
		"We know't, we know't." '' 'First Citizen:' \
		"Let us kill him, and we'll have corn at our own price. Is't a verdict?" >text.txt
}

@test "apr-distill passes the exam" {
	exam filter apr-distill --layers 1 --data "$PWD/text.txt" --steps 1 "${few[@]}"
}

@test "the same bytes on any CPU, with any number of threads, from file and pipe" {
	local level
	"${distill[@]}" --layers 1 --steps 3 -j 1 "$model" -o want 2>/dev/null
	apr-unpack "$model" | "${distill[@]}" --layers 1 --steps 3 -j 2 2>/dev/null | cmp - want
	for level in $(levels); do
		APR_CPU=$level "${distill[@]}" --layers 1 --steps 3 "$model" 2>/dev/null | cmp - want
	done
	! "${distill[@]}" --layers 1 --steps 3 --seed 1 "$model" 2>/dev/null | cmp -s - want
}

@test "a training that is killed goes on, and ends with the same bytes" {
	local i pid
	"${distill[@]}" --layers 1 --steps 12 "$model" -o want 2>/dev/null
	for i in 2 5 8; do
		"${distill[@]}" --layers 1 --steps 12 --every 1 --json --checkpoint state --resume "$model" 2>log >out &
		pid=$!
		# The line is printed before the state is saved.
		until grep -qs "^{\"step\":$i," log || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
		kill -9 $pid 2>/dev/null || true
		wait $pid || true
	done
	"${distill[@]}" --layers 1 --steps 12 --every 1 --checkpoint state --resume "$model" -o got 2>log
	grep -q 'goes on after step' log
	cmp got want
	try "${distill[@]}" --layers 1 --steps 12 --checkpoint state "$model"
	said 2 'exists'
	try "${distill[@]}" --layers 1 --steps 12 --lr 0.01 --checkpoint state --resume "$model"
	[ "$status" -eq 5 ]
	grep -q 'a checkpoint of another training: its "lr" is 0.001, not 0.01' "$err"
	try "${distill[@]}" --layers 1 --steps 12 --checkpoint want --resume "$model"
	[ "$status" -eq 4 ]
	grep -q 'want: is not a checkpoint of apr-distill' "$err"
	# A value that has changed, and a file that ends early.
	printf X | dd of=state bs=1 seek=1000000 conv=notrunc status=none
	try "${distill[@]}" --layers 1 --steps 12 --checkpoint state --resume "$model"
	[ "$status" -eq 4 ]
	grep -q 'state: value: its data is damaged.*(E004)' "$err"
	head -c 1000000 want >state
	try "${distill[@]}" --layers 1 --steps 12 --checkpoint state --resume "$model"
	[ "$status" -eq 4 ]
	[ ! -s "$out" ]
}

# The last validation loss.
reached() {
	sed -n 's/.*after step [1-9][0-9]*: validation loss \([0-9.]*\),.*/\1/p' "$err"
}

@test "a student of some layers learns, runs, and its metadata follows" {
	local first
	try "${distill[@]}" --layers 1 --steps 20 --validate text.txt "$model"
	said 2 'give one of --validate and --held-out'
	try apr-distill --data text.txt --validate text.txt --batch 2 --context 32 --keep 0,2 --steps 20 \
		"$model" -o s.gguf
	[ "$status" -eq 0 ]
	first=$(sed -n 's/.*after step 0: validation loss \([0-9.]*\),.*/\1/p' "$err")
	awk -v a="$first" -v b="$(reached)" 'BEGIN { exit !(b < a - 1) }'
	apr-header s.gguf >head
	grep -q 'llama.block_count .* 2$' head
	grep -q 'types .* F32 21$' head
	grep -q 'apr.distill.recipe .*"layers":\[0,2\],"alpha":0.5,"temperature":2.0,"steps":20,' head
	apr-check s.gguf >/dev/null
	apr-run -p ROMEO: -n 5 s.gguf >text
	[ -s text ]
}

@test "a student's file that is cut meanwhile is reported" {
	local pid
	cp "$model" student.gguf
	"${distill[@]}" --student student.gguf --alpha 0 --steps 12 --json "$model" -o out.gguf 2>log &
	pid=$!
	until grep -qs '^{"step":0,' log || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
	kill -STOP $pid
	truncate -s 4096 student.gguf
	kill -CONT $pid
	wait $pid && fail "a model from a file that was cut" || [ $? -eq 4 ]
	grep -q 'student.gguf: was cut while it was in use' log
	[ ! -e out.gguf ]
}

@test "students: a file, a new model, layers by cosine; JSON lines" {
	printf '{"text":"ROMEO: I will."}\n\n{"prompt":"JULIET: ","completion":"I will not, I will not."}\n' \
		>t.jsonl
	apr-prune --heads 4 --neurons 384 "$model" 2>/dev/null | apr-pack -t gguf -o half.gguf
	try "${distill[@]}" --student half.gguf --steps 2 "$model" -o s.gguf
	[ "$status" -eq 0 ]
	[ "$(apr-header s.gguf | grep '^parameters')" = "$(apr-header half.gguf | grep '^parameters')" ]
	try apr-distill --new layers=1,hidden=32,heads=4,kv=2,ff=64 --alpha 0 --data t.jsonl --context 4 \
		--steps 30 --lr 0.01 "$model" -o new.gguf
	[ "$status" -eq 0 ]
	awk -v b="$(reached)" 'BEGIN { exit !(b < 6) }' # from ln 1024 = 6.9
	apr-run -p 'I will' -n 3 new.gguf >text
	[ -s text ]
	"${distill[@]}" --layers 1 --keep cosine --steps 1 "$model" 2>/dev/null | apr-header - >head
	grep -q '"layers":\[0\]' head
	"${distill[@]}" --size tiny --keep first --steps 1 "$model" 2>/dev/null | apr-header - |
		grep -q 'llama.block_count .* 1$'
}

@test "texts, models and options that cannot be used are refused, and nothing is left" {
	local line code fact
	: >empty.txt
	printf 'a\200b' >bytes.txt
	printf '{"text":"a"}\n{"prompt":"b"}\n' >half.jsonl
	printf 'short' >short.txt
	mkmodel <<-END >other.gguf
		tensor a.weight F32 2x4 values 1
	END
	while IFS='|' read -r line code fact; do
		# shellcheck disable=SC2086
		try apr-distill $line -o left.gguf
		[ "$status" -eq "$code" ] || fail "$line: exit $status" "$(cat "$err")"
		grep -qF -- "$fact" "$err" || fail "$line" "$(cat "$err")"
		[ ! -e left.gguf ]
	done <<-END
		$model|2|--data is missing
		--data text.txt $model|2|what is the student?
		--layers 1 --new layers=1 --data text.txt $model|2|what is the student?
		--layers 4 --data text.txt $model|5|has 3 layers: 4 cannot stay
		--keep 1,3 --data text.txt $model|5|has 3 layers, numbered from 0: 3 is not one of them
		--layers 1 --data none.txt $model|3|none.txt
		--layers 1 --data empty.txt $model|5|empty.txt: is empty
		--layers 1 --data bytes.txt $model|4|bytes.txt: is not UTF-8 text: byte 1 is 80
		--layers 1 --data half.jsonl $model|4|half.jsonl: line 2: the object must have a text
		--layers 1 --data short.txt $model|5|short.txt: is too short for one part: tokens 3, needed 256 + 1
		--layers 1 --data text.txt --context 257 $model|5|the student has 256 positions
		--layers 1 --data text.txt --alpha 1.5 $model|2|--alpha
		--layers 1 --data text.txt --lr 0 $model|2|--lr must be above 0
		--layers 1 --data text.txt --resume $model|2|--resume needs --checkpoint
		--layers 1 --data text.txt other.gguf|4|other.gguf
		--new hidden=30,heads=4 --data text.txt $model|2|heads
		--layers 1 --data - -|2|standard input can be only one of the files
		--layers 1 --data text.txt --checkpoint text.txt -f $model|2|is the input
		--layers 1 --data text.txt --checkpoint - $model|2|needs the name of a file
		--layers 1 --data text.txt --checkpoint s/ $model|2|needs the name of a file
		${few[*]} --layers 1 --data text.txt --checkpoint none/s $model|3|none/s
		--new depth=2 --data text.txt $model|2|depth=2 is not NAME=NUMBER
	END
	line=$APR_TEST_DATA/models/stories260K/stories260K-f32.gguf
	if [ -e "$line" ]; then
		try apr-distill --student "$line" --data text.txt "$model"
		[ "$status" -eq 5 ]
		grep -q 'stories260K-f32.gguf: has another vocabulary than .*shakespeare' "$err"
	fi
}
