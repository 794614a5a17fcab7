# apr-predict: what classical models say of rows. tests/unit/t_predict.c has the rules of each library.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >m.json <<-'END'
		{"features_info":{"float_features":[{"flat_feature_index":0,"feature_id":"a"},
		{"flat_feature_index":1,"feature_id":"b"}]},
		"model_info":{"class_params":{"class_names":["no","yes"]}},
		"oblivious_trees":[{"splits":[{"float_feature_index":0,"border":1.5}],"leaf_values":[-1,2]}]}
	END
	cat >v.txt <<-'END'
		tree
		version=v4
		num_class=1
		num_tree_per_iteration=1
		max_feature_idx=1
		objective=regression
		feature_names=a b

		Tree=0
		num_leaves=2
		num_cat=0
		split_feature=1
		threshold=0.5
		decision_type=10
		left_child=-1
		right_child=-2
		leaf_value=10 20.25

		end of trees
	END
}

@test "apr-predict passes the exam" {
	exam maker apr-predict m.json
}

@test "apr-predict: each form of rows gives its own form of output" {
	local expected=$'10\n20.25\n10'
	local -A rows=([csv]=$'1,0\n0,1\n3,' [tsv]=$'1\t0\n0\t1\n3\t' [space]=$'1 0\n0 1\n3 nan'
		[libsvm]=$'7 0:1\n1:1\n5 0:3 1:0 # x')
	for form in "${!rows[@]}"; do
		try apr-predict v.txt <<<"${rows[$form]}"
		quiet
		[ "$(cat "$out")" = "$expected" ] || fail "$form" "$(cat "$out")"
		try apr-predict --rows "$form" -j 1 v.txt - <<<"${rows[$form]}"
		[ "$(cat "$out")" = "$expected" ] || fail "$form" "$(cat "$out")"
	done
	try apr-predict v.txt <<<$'[1,0]\n{"b":1,"x":[{}]}\n{"b":null,"a":2}'
	quiet
	diff "$out" - <<<$'{"prediction":10}\n{"prediction":20.25}\n{"prediction":10}'
	try apr-predict m.json <<<$'"b","a"\n5,2\n"6",1'
	diff "$out" - <<<$'prediction\nyes\nno'
	try apr-predict --proba m.json <<<$'b\ta\textra\n5\t2\tred'
	diff "$out" - <<<$'proba_no\tproba_yes\n0.11920292202211769\t0.8807970779778823'
	try apr-predict --skip 1 --leaf m.json <<<$'red,2,2\r\nblue,1,1\r'
	diff "$out" - <<<$'1\n0'
	for row in '1,1' $'b,a\n1,1' '1:1' '[1,1]'; do # behind the mark of UTF-8
		cmp <(printf '\xef\xbb\xbf%s\n' "$row" | apr-predict v.txt) <(apr-predict v.txt <<<"$row")
	done
}

@test "apr-predict: rows that are wrong are named, and those before them predicted" {
	local n row fact
	while IFS='|' read -r n row fact; do
		try apr-predict v.txt <<<"$(printf "$row")"
		said 4 "$fact"
		[ "$(wc -l <"$out")" -eq "$n" ] || fail "$row" "$(cat "$out")"
	done <<-'END'
		1|1,2\n3|row 2 has 1 columns, and the model takes 2
		0|1,2,3|row 1 has 3 columns, and the model takes 2
		2|1,2\n1,2\n1,red|row 3, column 2: "red" is not a number
		1|1,2\n"1,2|row 2: a quote does not end
		1|a,b\n1,0x10|row 2, column 2: "0x10" is not a number
		0|a,c\n1,2|the header has no column b
		0|a,b,b\n1,2,3|the header has the column b twice
		0|x,y,z\n1,2,3|the header has 3 columns, and the model takes 2 features
		1|0 0:1\n0 2:1|row 2 has feature 2, and the model takes 2, from 0
		1|0 0:1\n0 0:1 1|row 2, column 3: "1" is not a number
		1|[1,2]\n[1]|row 2, byte 3: 1 values, and the model takes 2
		1|[1,2]\n[1,2|row 2, byte 4: ',' is missing
		0|{"c":1}|row 1, byte 7: no member has the name of a feature
	END
	try apr-predict v.txt < <(printf '1,2\0\n')
	said 4 'row 1 has a byte of value 0'
	try apr-predict v.txt < <(printf '1,2\n3,4\0\n')
	said 4 'row 2, column 2 has a byte of value 0'
	try apr-predict --one-based v.txt <<<'0 0:1'
	said 4 'row 1 has feature 0, and the model takes 2, from 1'
}

@test "apr-predict: --contrib says what each feature adds" {
	sed -i 's/"leaf_values"/"leaf_weights":[3,1],"leaf_values"/' m.json
	try apr-predict --contrib m.json <<<$'b,a\n1,2\n7,1'
	quiet
	[ "$(cat "$out")" = $'contrib_a,contrib_b,contrib_bias\n2.25,0,-0.25\n-0.75,0,-0.25' ] || fail "$(cat "$out")"
	try apr-predict --contrib m.json <<<'{"a":2,"b":0}'
	[ "$(cat "$out")" = '{"contrib":[2.25,0,-0.25]}' ] || fail "$(cat "$out")"
	sed '/^leaf_value=/a internal_count=4\nleaf_count=1 3' v.txt >counted.txt
	[ "$(apr-predict --contrib counted.txt <<<1,0)" = 0,-7.6875,17.6875 ]
	try apr-predict --contrib v.txt <<<1,2
	said 2 '--contrib: the trees lack covers'
}

@test "apr-predict: options that do not fit are refused" {
	try apr-predict --proba v.txt <<<1,2
	said 2 'the model is not a classifier'
	try apr-predict --proba --raw v.txt <<<1,2
	said 2 'only one of --proba, --raw, --leaf, --contrib and --inverse'
	try apr-predict --generate 1 v.txt
	said 2 '--generate: the model is not a list of n-grams'
	try apr-predict --trees 1 "$BATS_TEST_DIRNAME/../data/predict/svm_rbf.pkl" <<<1,2
	said 2 '--trees: the model has no trees'
	try apr-predict --seed 1 v.txt <<<1,2
	said 2 '--seed goes with --generate'
	try apr-predict --one-based v.txt <<<1,2
	said 2 '--one-based: the rows are csv, not libsvm'
	try apr-predict --skip 1 v.txt <<<'0 1:1'
	said 2 '--skip: rows of the form libsvm have no columns'
	try apr-predict --generate 1 --raw v.txt
	said 2 '--generate reads no rows'
	try apr-predict --generate 1 v.txt rows
	said 2 '--generate reads no rows'
	try apr-predict --header --no-header v.txt <<<1,2
	said 2 '--header and --no-header cannot be combined'
	try apr-predict --rows xml v.txt <<<1,2
	said 2 'xml is not a form of rows'
	try apr-predict --rows libsvm --header v.txt <<<1,2
	said 2 'rows of the form libsvm have no header'
	try apr-predict <<<1,2
	said 2 'a MODEL is expected'
	try apr-predict - <<<1,2
	said 2 'the model and the rows cannot both be standard input'
	try apr-predict no-such v.txt
	said 3 'no-such: cannot be opened'
	try apr-predict "$model" <<<1,2
	said 4 'is not a classical model'
	echo '{}' >empty.json
	try apr-predict empty.json <<<1,2
	said 4 'empty.json: is JSON, but not a model of'
	try apr-unpack "$BATS_TEST_DIRNAME/../data/pmml/derived.pmml"
	said 4 'computes in steps (fields of PMML)'
	grep -q 'apr-predict predicts with it' "$err"
}

@test "apr-unpack | apr-pack: classical models in any container, and as payloads of APR version 1" {
	local data=$BATS_TEST_DIRNAME/../data format
	cut -d, -f1-5 "$data/predict/values.csv" >rows.csv
	apr-predict --raw "$data/predict/tree_values.pkl" rows.csv >expected
	for format in apr1 apr2 apr2-64 gguf safetensors; do
		pipe "apr-unpack '$data/predict/boosted_values.pkl' | apr-pack -t $format -f -o made 2>said"
		apr-predict --raw made rows.csv | cmp - <(apr-predict --raw "$data/predict/boosted_values.pkl" rows.csv)
		[ $format != apr1 ] || grep -q 'no payload for sums of trees, such as boosting' said
		pipe "apr-unpack '$data/predict/vote.pkl' | apr-pack -t $format -f -o made 2>said" # models of models
		apr-predict --raw made "$data/predict/three.csv" |
			cmp - <(apr-predict --raw "$data/predict/vote.pkl" "$data/predict/three.csv")
		[ "$(apr-header made | grep -cE '^(kind  *vote of models|trees  *1|features  *5|classes  *3)$')" -eq 4 ]
	done
	pipe "apr-unpack '$data/predict/tree_values.pkl' | apr-pack -t apr1 -f -o made 2>said"
	grep -q 'written as DecisionTreeRegressor' said
	apr-header made | grep -q 'DecisionTreeRegressor'
	apr-predict --raw made rows.csv | paste - expected |
		awk '{ d = $1 - $2; bad += d > 1e-4 || d < -1e-4 } END { exit bad || NR < 20 }'
	# The payload is a model like others, which can go out again.
	pipe "apr-unpack made | apr-pack -t onnx -f -o made.onnx"
	apr-predict --raw made.onnx rows.csv | cmp - <(apr-predict --raw made rows.csv)
	try apr-pack -t onnx -f -o made.onnx "$model"
	said 4 'is not a classical model, and ONNX-ML holds no other'
}

@test "apr-pack -t xgboost, -t onnx: the libraries themselves take the files" {
	local data=$BATS_TEST_DIRNAME/../data name
	for name in values three dart linear; do
		pipe "apr-unpack '$data/contrib/$name.json' | apr-pack -t xgboost -f -o made.json"
		apr-predict --raw made.json "$data/contrib/rows.csv" |
			cmp - <(apr-predict --raw "$data/contrib/$name.json" "$data/contrib/rows.csv")
	done
	pipe "apr-unpack '$data/contrib/dart.json' | apr-pack -t onnx -f -o made.onnx"
	/usr/bin/python3 -c 'import xgboost, onnx' 2>/dev/null || skip "python3-xgboost or python3-onnx is missing"
	/usr/bin/python3 - "$data/contrib/linear.json" "$data/contrib/rows.csv" <<-'END'
		import sys, numpy, onnx, xgboost
		onnx.checker.check_model(onnx.load("made.onnx"), full_check=True)
		rows = xgboost.DMatrix(numpy.genfromtxt(sys.argv[2], delimiter=","))
		a, b = (xgboost.Booster(model_file=x).predict(rows) for x in (sys.argv[1], "made.json"))
		assert (a == b).all()
	END
}

@test "apr-predict: order and output do not depend on threads, pipes or sizes" {
	seq 1 20000 | awk '{ print $1 % 3 "," ($1 % 7) / 7 }' >rows.csv
	apr-predict -j 1 v.txt rows.csv >one
	[ "$(wc -l <one)" -eq 20000 ]
	apr-predict -j 3 v.txt <rows.csv | cmp - one
	(head -c 1000 rows.csv; tail -c +1001 rows.csv) | apr-predict v.txt | cmp - one
	cat rows.csv | apr-predict v.txt - | cmp - one
	apr-predict - rows.csv <v.txt | cmp - one
	apr-predict v.txt /dev/null | cmp - /dev/null
}

# What apr1_good writes: a split of feature 2 at 2.5, on its left one of feature 7 at 7.5; weights
# from 1 or 0.25 on in steps of 1/8; six coordinates of two centers in such steps from 1 on.
@test "apr-predict: linear models, trees and centers of APR version 1" {
	local file options row expected
	"$APR_GEN/apr1_good" . >/dev/null
	while IFS='|' read -r file options row expected; do
		# shellcheck disable=SC2086 # options is a list
		try apr-predict $options "$file" <<<"$row"
		quiet
		[ "$(cat "$out")" = "$expected" ] || fail "$file" "$(cat "$out")"
	done <<-'END'
		apr1_class_tree||0,0,2.5,0,0,0,0,7.5,0|0
		apr1_class_tree_1||0,0,2.5,0,0,0,0,7.6|1
		apr1_class_tree|--proba|0,0,2.6,0,0,0,0,7.5,0|0,0,1
		apr1_class_tree|--leaf|0,0,2.6,0,0,0,0,7.5,0|4
		apr1_value_tree||0,0,2.5,0,0,0,0,7.6|0.5
		apr1_class_forest|--leaf|0,0,2.5,0,0,0,0,7.6,0|3,3
		apr1_class_forest_2||0,0,9,0,0,0,0,7.6|2
		apr1_value_forest||0,0,9,0,0,0,0,0|1
		apr1_linear||1,2,3|7.5
		apr1_logistic||1,2,3,4|1
		apr1_logistic|--raw|1,2,3,4|5.0625
		apr1_kmeans||1,2,3|1
		apr1_kmeans|--raw|1,1,2|0.76034532,0.72886899
		apr1_kmeans|--raw|[1,1.375,2]|{"raw":[0.7905694,0.5448624]}
		apr1_markov_1||nothing|-100,1,1
		apr1_markov_custom||git x|-200,2,2
		apr1_experts||1,2,3|55.5
		apr1_experts_logistic|--proba|1,2|0.25683194,0.74316806
	END
	try apr-predict apr1_class_tree <<<'0,0,2.5,0,0,0,0,,0'
	said 4 'row 1: the value of feature 7 is missing, which the model does not accept'
	try apr-predict apr1_kmeans_new <<<1
	said 4 'the tensor centroids of type F32 is missing'
	try apr-predict apr1_type_21 <<<1
	said 4 'the payload (opaque) of the type NEURAL_CUSTOM is none of those that predict'
}

# safetensors NAME TENSOR SHAPE FLOATS…: writes a model of tensors, whose values are small multiples of
# a half.
safetensors() {
	local file=$1 header='' data='' at=0 name shape value bits
	shift
	while [ $# -gt 0 ]; do
		name=$1 shape=$2 bits=$at
		for value in $3; do
			case $value in
			0) data+='\0\0\0\0' ;; 0.5) data+='\0\0\0\77' ;; 1) data+='\0\0\200\77' ;; -1) data+='\0\0\200\277' ;;
			2) data+='\0\0\0\100' ;; 3) data+='\0\0\100\100' ;; 4) data+='\0\0\200\100' ;; nan) data+='\0\0\300\177' ;;
			esac
			at=$((at + 4))
		done
		header+=",\"$name\":{\"dtype\":\"F32\",\"shape\":[$shape],\"data_offsets\":[$bits,$at]}"
		shift 3
	done
	header="{${header#,}}"
	# shellcheck disable=SC2059 # data has escapes
	printf "\\$(printf %o $((${#header} & 255)))\\$(printf %o $((${#header} >> 8)))\0\0\0\0\0\0$header$data" >"$file"
}

@test "apr-predict: tensors by name, in any container" {
	safetensors bayes class_priors 2 '0.5 0.5' means 2,2 '0 0 4 4' variances 2,2 '1 1 1 4'
	safetensors near k 1 1 x_train 3,2 '0 0 4 4 1 0' y_train 3 '0 2 1'
	safetensors line bias 1 -1 weights 2 '1 2'
	safetensors pca components 1,2 '0.5 2' mean 2 '1 1'
	safetensors items items 2,2 '3 0 1 1'
	safetensors net a.bias 2 '0 -1' a.weight 2,2 '1 1 1 -1' b.bias 1 0.5 b.weight 1,2 '2 3'
	local name expected
	while read -r name expected; do
		try apr-predict "$name" <<<4,2
		quiet
		[ "$(cat "$out")" = "$expected" ] || fail "$name" "$(cat "$out")"
		apr-unpack "$name" | apr-pack -t apr1 --model-type CUSTOM -o "$name.apr"
		apr-predict "$name.apr" <<<4,2 | cmp - "$out"
	done <<-'END'
		bayes 1
		near 2
		line 1
		pca 3.5
		items 1
		net 15.5
	END
	safetensors bad class_priors 2 '0.5 0.5' means 2,2 '0 0 4 4' variances 2 '1 1'
	try apr-predict bad <<<4,2
	said 4 'the variances do not fit the means'
	safetensors bad k 1 4 x_train 3,2 '0 0 4 4 1 0' y_train 3 '0 2 1'
	try apr-predict bad <<<4,2
	said 4 'k is not from 1 to the rows of x_train'
	safetensors bad bias 1 -1 weights 2 '1 nan'
	try apr-predict bad <<<4,2
	said 4 'the tensor weights has a value that is not finite'
}

# tests/data/predict/make.py trained both models with two thirds of the messages.
@test "apr-predict: tokenize | vectorize | classify, joined by pipes" {
	local data="$BATS_TEST_DIRNAME/../data"
	awk -F'\t' 'int((NR - 1) / 2) % 3 == 2' "$data/predict/messages.tsv" >test.tsv
	cut -f2 test.tsv | apr-tok encode --lines --bare "$data/shakespeare-BF16.gguf" |
		apr-predict "$data/predict/message_vectorizer.pkl" |
		apr-predict --rows libsvm "$data/predict/message_classifier.pkl" >labels
	paste <(cut -f1 test.tsv) labels | awk '$1 == $2 { n++ } END { print n " of " NR }' | diff - <(echo '28 of 32')
}

@test "apr-predict: texts as lines, fields and members" {
	local data="$BATS_TEST_DIRNAME/../data/predict" rows form
	printf 'free entry, win\nsee "you" at home\n' >one
	apr-predict --proba "$data/text_bayes.pkl" one >expected
	[ "$(wc -l <expected)" -eq 2 ] && ! [ "$(sed -n 1p expected)" = "$(sed -n 2p expected)" ]
	declare -A rows=([csv]=$'x,"free entry, win"\nx,"see ""you"" at home"'
		[tsv]=$'x\tfree entry, win\nx\t"see ""you"" at home"')
	for form in csv tsv; do
		apr-predict --proba --rows "$form" --skip 1 "$data/text_bayes.pkl" <<<"${rows[$form]}" |
			tr '\t' , | cmp - expected
	done
	apr-predict --proba --rows jsonl "$data/text_bayes.pkl" <<-'END' | sed 's/.*\[//; s/\].*//' | cmp - expected
		"free entry, win"
		{"id":1,"text":"see \"you\" at home"}
	END
	try apr-predict "$data/words.pkl" <<<$'the the parcel\n\nwin'
	quiet
	grep -qE '^[0-9]+:1 [0-9]+:2$' <(sed -n 1p "$out")
	grep -qE '^[0-9]+:1$' <(sed -n 3p "$out")
	[ -z "$(sed -n 2p "$out")" ]
}

@test "apr-predict: --inverse turns a projection around" {
	local data="$BATS_TEST_DIRNAME/../data/predict"
	head -n 3 "$data/three.csv" >rows.csv
	apr-predict "$data/pca_white.pkl" rows.csv >there
	apr-predict --inverse "$data/pca_white.pkl" there | apr-predict "$data/pca_white.pkl" >again
	paste -d, there again | awk -F, '{ for (i = 1; i < 3; i++) if (($i - $(i + 2)) ^ 2 > 1e-18) exit 1 }'
	try apr-predict --inverse "$data/scalers.pkl" rows.csv
	said 2 '--inverse: the norm of the model has no inverse'
	try apr-predict --inverse "$data/gauss.pkl" rows.csv
	said 2 '--inverse: the model does not only scale and project'
}

@test "apr-predict: rows that an estimator does not take are named" {
	local data="$BATS_TEST_DIRNAME/../data/predict" model options row message
	while IFS='|' read -r model options row message; do
		# shellcheck disable=SC2059,SC2086 # the row has escapes, options is a list
		try apr-predict $options "$data/$model.pkl" <<<"$(printf "$row")"
		case $options in *text* | *libsvm*) said 2 "$message" ;; *) said 4 "$message" ;; esac
	done <<-'END'
		svm_rbf||1,2,3,4|row 1 has 4 columns, and the model takes 5
		gauss||1,2,3,4,5\n1,2,3,4,5,6|row 2 has 6 columns, and the model takes 5
		near_cosine|--no-header|1,2,x,4,5|row 1, column 3: "x" is not a number
		net_relu||1,2,,4,5|row 1: the value of feature 2 is missing
		text_bayes||a\n\377|row 2 is not UTF-8
		text_bayes|--rows csv|a,b|row 1 has 2 columns, and a text is one
		text_bayes|--rows jsonl|{"txt":"a"}|is neither a text nor an object
		text_bayes|--rows libsvm|0:1|the model reads texts
		gauss|--rows text|a|the model does not read texts
		message_classifier||0:1 99999:2|row 1 has feature 99999, and the model takes
	END
	apr-predict "$data/imputed.pkl" <<<1,2,,4,5 >"$out" # this one fills in
	try apr-predict --proba "$data/svm2_poly.pkl" <<<1,2,3,4,5
	said 2 '--proba: the model gives no probabilities'
	try apr-predict --leaf "$data/svm2_poly.pkl" <<<1,2,3,4,5
	said 2 '--leaf: the model has no trees'
}

# By hand: "b a" is back(<s>) + b, back(b) + a, back(a) + </s>, as no pair is in the list.
@test "apr-predict: n-grams of ARPA back off to shorter ones" {
	cat >m.arpa <<-'END'
		made by hand

		\data\
		ngram 1=5
		ngram 2=4
		ngram 3=1

		\1-grams:
		-1.0	<unk>
		-99	<s>	-0.5
		-0.7	</s>
		-0.6	a	-0.2
		-0.9	b	-0.1

		\2-grams:
		-0.3	<s> a	-0.05
		-0.4	a b
		-0.2	b </s>
		-0.8	a a

		\3-grams:
		-0.1	<s> a b

		\end\
	END
	try apr-predict m.arpa <<<$'a b\nb  a\na z\n'
	quiet
	awk -F, '{ printf "%.6g %d %d\n", $1, $2, $3 }' "$out" | diff - <(
		printf '%s\n' '-0.6 3 0' '-3 3 0' '-2.25 3 1' '-1.2 1 0'
	)
	apr-predict --generate 400 m.arpa >texts
	apr-predict --generate 400 --seed 0 - <m.arpa | cmp - texts
	! apr-predict --generate 400 --seed 1 m.arpa | cmp -s - texts
	pipe 'apr-unpack m.arpa | apr-pack -t gguf -o m.gguf 2>said'
	apr-predict --generate 400 m.gguf | cmp - texts
	apr-predict m.gguf <<<$'a b\nb  a\na z\n' | cmp - "$out"
	grep -qvE '^[ab ]*$' texts && fail 'other words'
	awk '$1 == "a" { n++ } END { exit !(n > 160 && n < 240) }' texts # P(a | <s>) is 0.501
	local change message
	while IFS='|' read -r change message; do
		sed "$change" m.arpa >bad.arpa
		try apr-predict bad.arpa <<<a
		said 4 "$message"
	done <<-'END'
		s/ngram 2=4/ngram 2=5/|line 21: the list has another number of n-grams
		s/^-0.4\ta b/-0.4\ta/|line 17: an n-gram has another number of words
		s/^-0.4/x/|line 17: the logarithm of a probability is expected
		s/^-0.4/0.4/|line 17: the logarithm of a probability is expected
		s/-0.05/-0.05x/|line 16: the weight of an n-gram is not a number
		s/a b$/a a/|token 8 has the text of token 6
		/end/d|\end\ is expected
		s/ngram 3/ngram 4/|line 6: the number of n-grams of each length
	END
}

# What follows the class and an empty argument is a dictionary of attributes.
@test "apr-predict: what a pickle of a vectorizer asks for is refused" {
	local module=sklearn.feature_extraction.text attributes message
	while IFS='|' read -r attributes message; do
		printf '\200\002c%s\nCountVectorizer\n)\201}(%bub.' "$module" "$attributes" >m.pkl
		try apr-predict m.pkl <<<a
		said 4 "$message"
	done <<-'END'
		X\005\000\000\000inputcos\nsystem\n|os.system
		X\005\000\000\000inputc__builtin__\neval\n|eval
		X\011\000\000\000tokenizercmy.own\ntokens\n|a preprocessor or a tokenizer of its own, which is code, is not read
		X\010\000\000\000analyzercmy.own\ntokens\n|an analyzer that is a function is not read
		X\013\000\000\000ngram_rangeK\003K\002\206|the lengths of terms are wrong
		X\015\000\000\000token_patternX\003\000\000\000(a)|a pattern of words with a group is not read
		X\013\000\000\000vocabulary_}X\001\000\000\000aK\005s|the vocabulary has columns without a term
		X\013\000\000\000vocabulary_}X\001\000\000\000aJ\377\377\377\377s|the vocabulary is not of texts and columns
	END
}

@test "apr-header, apr-explain, apr-check: what they say of classical models" {
	local fact file title
	"$APR_GEN/apr1_good" . >/dev/null
	apr-header apr1_class_forest >facts
	for fact in 'kind random forest for classes' 'trees 2' 'nodes 10' 'depth 2' 'features 9' \
		'classes 3'; do
		tr -s ' ' <facts | grep -qx "$fact" || fail "$fact" "$(cat facts)"
	done
	apr-unpack apr1_class_forest | apr-header - | tr -s ' ' | grep -qx 'depth 2'
	apr-header apr1_kmeans | tr -s ' ' | grep -qx 'centers 2'
	while IFS='|' read -r file title; do
		apr-explain "$file" | grep -qx "$file: $title" || fail "$file"
	done <<-'END'
		apr1_class_forest|random forest for classes (RandomForestClassifier)
		apr1_value_tree|decision tree for numbers (DecisionTreeRegressor)
		apr1_lasso|lasso regression (Lasso)
		apr1_kmeans|k-means (KMeans)
		apr1_markov_1|n-gram language model (MarkovModel.1)
	END
	apr-check apr1_class_forest | grep -q '^0 errors, 0 warnings'
	"$APR_GEN/mkmodel" >bad.gguf <<-'END'
		key apr1.model_type string DECISION_TREE
		key apr1.payload string DecisionTreeRegressor
		tensor node_features I64 3 values 0x0 0x0 0xffffffffffffffff
		tensor node_thresholds F32 3 values 1 1 1
		tensor node_values F32 3 values 1 2 3
		tensor node_left_child I64 3 values 0x1 0x0 0xffffffffffffffff
		tensor node_right_child I64 3 values 0x2 0x7 0xffffffffffffffff
	END
	try apr-check bad.gguf
	grep -q 'node 0 is a child of node 1.*TREE-CYCLE' "$out"
	grep -q 'node 1 has the child 7, of 3 nodes.*TREE-CHILD' "$out"
}

@test "apr-unpack | apr-pack: pipelines, support vectors and networks as tensors and as ONNX" {
	local name data=$root/tests/data/predict
	printf '%s\n' 0.5,1,-1,0.25,2 2,0.125,0.5,-3,1 1,1,1,1,0 >rows
	for name in forest svm_rbf net_relu; do
		apr-predict --no-header "$data/$name.pkl" rows >labels
		apr-unpack "$data/$name.pkl" | apr-pack -t gguf -o "$name.gguf"
		apr-predict --no-header "$name.gguf" rows | cmp labels -
		apr-unpack "$name.gguf" | apr-pack -t onnx -o "$name.onnx"
		apr-predict --no-header "$name.onnx" rows | cmp labels -
	done
	try bash -c 'apr-unpack "$1" | apr-pack -t onnx -o near.onnx' - "$data/near_euclidean.pkl"
	said 5 'ONNX cannot hold neighbours'
	for name in svm_rbf:'models that are neither trees nor linear' each:'the logistic function of a score for each class, div' \
		aggressive_classes:'classes by their scores, without prob'; do
		apr-unpack "$data/${name%%:*}.pkl" >stream
		try apr-pack -t xgboost -o none.json <stream
		said 5 "XGBoost cannot hold ${name#*:}"
	done
}

@test "apr-predict: infinite values are refused where scikit-learn refuses them" {
	local name value said data=$root/tests/data/predict
	apr-unpack "$data/ridge.pkl" | apr-pack -t gguf -o ridge.gguf
	while read -r name value said; do
		try apr-predict --no-header "$name" <<<"0,0,0,0,0
0,0,0,$value,0"
		said 4 "<stdin>: row 2: the value of feature 3 is $said, which the model does not accept"
		[ "$(wc -l <"$out")" = 1 ]
	done <<-END
		$data/ridge.pkl inf infinite
		ridge.gguf -inf infinite
		$data/vote_soft.pkl -inf infinite
		$data/tree_values.pkl 3.4028236e38 too large for single precision
	END
	for name in "$data/histogram_poisson.pkl" "$data/histogram_three.pkl"; do
		apr-predict --no-header "$name" <<<'0,0,0,inf,0' >one
		[ -s one ]
	done
	apr-predict --no-header "$data/tree_values.pkl" <<<'0,0,0,3.4028235e38,0' >one
	apr-predict --no-header "$data/ridge.pkl" <<<'0,0,0,1e39,0' >one
}

@test "apr-header, apr-explain, apr-check: files of libraries, and the same models as tensors" {
	local three=$root/tests/data/contrib/three.json file
	apr-unpack "$three" | apr-pack -t safetensors -o three.safetensors
	for file in "$three" three.safetensors; do
		apr-header "$file" >seen
		for fact in 'trees *12' 'nodes *170' 'depth *3' 'features *7' 'classes *3'; do
			grep -qx "$fact" seen || fail "$file: $fact"
		done
		apr-explain "$file" | grep -qx 'sizes *12 trees with 170 nodes, 7 features, 3 classes'
		apr-check "$file" | grep -q '^0 errors, 0 warnings'
	done
	"$APR_GEN/mkmodel" >bad.gguf <<-'END'
		key apr1.model_type string RANDOM_FOREST
		key apr.predict string {"form":"trees","features":2,"outputs":2,"width":2,"link":"share","average":true}
		tensor forest.counts I32 2 values 0x3 0x1
		tensor forest.features I32 4 values 0x2 0xffffffff 0xffffffff 0xffffffff
		tensor forest.thresholds F64 4 values 0x7ff8000000000000 0x0 0x0 0x0
		tensor forest.left I32 4 values 0x7 0x0 0x0 0x0
		tensor forest.values F64 6 values 0x3fe0000000000000 0x3fe0000000000000 0x3ff0000000000000 0x0 0x3fe0000000000000 0x3fe8000000000000
	END
	try apr-check bad.gguf
	grep -q 'node 0 of tree 0 has the child 7, of 3 nodes.*TREE-CHILD' "$out"
	grep -q 'node 0 of tree 0 asks for feature 2, of 2.*TREE-FEATURE' "$out"
	grep -q 'the threshold of node 0 of tree 0 is NaN.*TREE-THRESHOLD' "$out"
	grep -q 'leaf 2 sum to 1.25.*TREE-SHARES' "$out"
}

# Real models with the predictions of their libraries (data/README.md): scores to the last bit, but
# those of XGBoost only to single precision, in which it computes; probabilities to the last but a few,
# since the exponential function differs between C libraries.
# bats test_tags=repeats
@test "apr-predict: predictions are those that the libraries recorded" {
	local data=${APR_TEST_DATA:-$root/../shared/data}/import/classic/leaves
	local file options rows recorded column
	[ -d "$data" ] || skip "no $data"
	while IFS='|' read -r file options rows recorded column; do
		# shellcheck disable=SC2086 # options is a list
		try apr-predict $options "$data/$file" "$data/$rows"
		quiet
		paste -d ' ' <(tr ',\t' '  ' <"$out" | cut -d ' ' -f "${column:-1-}") \
			<(tr ',\t' '  ' <"$data/$recorded") | awk -v of="$file $options" '
			BEGIN { limit = of ~ /^xg/ ? 6e-8 : of ~ /--(raw|leaf)/ ? 0 : 1e-15 }
			NF == 0 || NF % 2 { exit bad = 1 }
			{ for (i = 1; i <= NF / 2; i++) {
				d = $i - $(i + NF / 2); v = $i < 0 ? -$i : $i
				if (d < 0) d = -d
				if (d > limit * (v > 1 ? v : 1)) bad = 1
			} }
			END { exit bad || NR < 30 }' || fail "$file $options"
	done <<-'END'
		xgagaricus.model|--proba|agaricus_test.libsvm|xgagaricus_true_predictions.txt|2
		xg_dart_agaricus.model|--raw --trees 10|agaricus_test.libsvm|xg_dart_agaricus_true_predictions.txt|
		xgblin_agaricus.model|--proba|agaricus_test.libsvm|xgblin_agaricus_true_predictions.txt|2
		xgblin_agaricus.model|--raw|agaricus_test.libsvm|xgblin_agaricus_true_raw_predictions.txt|
		xgdermatology.model|--raw|dermatology_test.libsvm|xgdermatology_true_predictions.txt|
		lg_breast_cancer.txt|--leaf|lg_breast_cancer_data.txt|lg_breast_cancer_data_pred_leaves.txt|
		lg_dart_breast_cancer.model|--proba|breast_cancer_test.tsv|lg_dart_breast_cancer_true_predictions.txt|2
		lg_kddcup99.model|--raw|kddcup99_test.tsv|lg_kddcup99_true_predictions.txt|
		lg_rf_iris.model|--proba|iris_test.libsvm|lg_rf_iris_true_predictions.txt|2
		lgmulticlass.model|--proba --skip 1|multiclass_test.tsv|lgmulticlass_true_predictions.txt|
		lgmulticlass.model|--raw --skip 1|multiclass_test.tsv|lgmulticlass_true_raw_predictions.txt|
		genlin_fmtp_gamma_AvgClaimAmount.model||genlin_fmtp_gamma_AvgClaimAmount_features.tsv|genlin_fmtp_gamma_AvgClaimAmount_true_predictions.txt|
		genlin_fmtp_poisson_Frequency.model||genlin_fmtp_poisson_Frequency_features.tsv|genlin_fmtp_poisson_Frequency_true_predictions.txt|
		genlin_fmtp_tweedie_PurePremium.model||genlin_fmtp_tweedie_PurePremium_features.tsv|genlin_fmtp_tweedie_PurePremium_true_predictions.txt|
		sk_iris.model|--raw|iris_test.libsvm|sk_iris_true_predictions.txt|
		sk_gradient_boosting_classifier.model|--raw|sk_gradient_boosting_classifier_test.libsvm|sk_gradient_boosting_classifier_true_predictions.txt|
	END
	# The dump of a model gives the scores of the model.
	apr-predict --raw "$data/lg_dart_breast_cancer.json" "$data/breast_cancer_test.tsv" |
		cmp - <(apr-predict --raw "$data/lg_dart_breast_cancer.model" "$data/breast_cancer_test.tsv")
}

@test "apr-predict: columns of texts and numbers are found by name" {
	local data="$BATS_TEST_DIRNAME/../data/predict"
	apr-predict "$data/columns_named.pkl" "$data/mixed.csv" >expected
	cut -d '|' -f 1 "$data/columns_named.out" | cmp - expected
	awk -F, -v OFS=, 'BEGIN { print "more", "color", "b", "a" } { print "x", $2, $3, $1 }' "$data/mixed.csv" >named.csv
	try apr-predict "$data/columns_named.pkl" named.csv
	quiet
	diff <(sed 1d "$out") expected
	try apr-predict "$data/columns_named.pkl" <<<'{"color": "red", "a": 1, "b": null}'
	quiet
	try apr-predict "$data/columns_named.pkl" <<<$'color,a\nred,1'
	said 4 'the header has no column b'
	try apr-predict "$data/columns_ridge.pkl" <<<'1,violet,2,s,3'
	said 4 'a category that training did not see'
}

@test "apr-predict: networks of Keras, TensorFlow Lite and ONNX compute what PyTorch does" {
	local net option
	for net in "$root"/tests/data/nets/*.{safetensors,tflite,onnx}; do
		case $net in *windows_* | *means_lite* | *states_*) option=--proba ;; *) option= ;; esac
		# shellcheck disable=SC2086 # there may be no option
		try apr-predict $option "$net" "${net%.*}.csv"
		quiet
		paste -d , "$out" "${net%.*}.out" | awk -F, '
			NF == 0 || NF % 2 { exit bad = 1 }
			{ for (i = 1; i <= NF / 2; i++) {
				d = $i - $(i + NF / 2)
				if (d > 1e-6 || d < -1e-6 || d != d) bad = 1
			} }
			END { exit bad || NR < 4 }' || fail "$net"
	done
}

@test "apr-predict: a pipeline of ONNX has columns by name; apr-header names its operators" {
	local ops=$root/tests/data/onnxops
	try apr-predict --proba "$ops/reviews.onnx" "$ops/reviews.csv"
	quiet
	[ "$(head -n 2 "$out" | tr '\n' ' ')" = 'proba_no,proba_yes 0.92757344,0.072426505 ' ]
	! apr-header "$ops/words.onnx" 2>log
	grep -q 'a pipeline of ONNX (Reshape, StringNormalizer, Tokenizer, .*) does not become tensors (E001)$' log
}

@test "apr-predict: classes of networks, and layers that are not read" {
	local data=${APR_TEST_DATA:-$root/../shared/data}/import/keras
	[ -d "$data" ] || skip "no $data"
	yes 0 | head -n $((28 * 28)) | paste -s -d , | apr-predict "$data/mnist_ann_baseline.keras" - 2>log |
		grep -qx '[0-9]'
	yes 0.5 | head -n $((28 * 28)) | paste -s -d , | apr-predict --proba "$data/mnist_ann_baseline.keras" - 2>log |
		awk -F, '{ for (i = 1; i <= NF; i++) sum += $i } END { exit NF != 10 || sum < 1 - 1e-9 || sum > 1 + 1e-9 }'
	echo 0 >row
	try apr-predict "$data/pretrainedResnet.h5" row
	[ "$status" -eq 4 ]
	grep -q 'layer add (Add): has several inputs: only sequences of layers are read (E001)' "$err"
	try apr-predict "$data/../tflite/mlperf_tiny/pretrainedResnet.tflite" row
	said 4 '(ADD): has several inputs: only sequences of operators are read'
	try apr-predict "$data/../onnx/silero/silero_vad.onnx" row
	said 4 '(graph): has several outputs: only sequences of operators are read'
}

@test "apr-predict: networks of TensorFlow Lite find the person" {
	local data=${APR_TEST_DATA:-$root/../shared/data}/import
	[ -d "$data/tflite" ] || skip "no $data/tflite"
	for name in no_person person; do # 96 x 96 bytes behind 1078, the lowest row first
		tail -c +1079 "$data/tflite/person_detect/$name.bmp" | od -An -v -w96 -tu1 | tac |
			awk '{ for (i = 1; i <= 96; i++) printf "%s%.6f", n++ ? "," : "", $i / 127.5 - 1 } END { print "" }'
	done >rows.csv
	try apr-predict "$data/tflite/person_detect/person_detect.tflite" rows.csv
	quiet
	diff "$out" - <<<$'0\n1'
}

@test "apr-predict: a column of texts among others, as csv, tsv and jsonl" {
	local data=$BATS_TEST_DIRNAME/../data/predict
	cut -d'|' -f1 "$data/table_texts.out" >labels
	apr-predict "$data/table_texts.pkl" "$data/messages.csv" | diff - labels
	apr-predict --proba "$data/table_texts.pkl" >one <<<'0.5,"Say ""win"" now, call","web","Say"'
	apr-predict --proba "$data/table_texts.pkl" <<<$'0.5\t"Say ""win"" now, call"\tweb\tSay' | tr '\t' , | cmp - one
	apr-predict --proba "$data/table_texts.pkl" <<<'[0.5,"Say \"win\" now, call","web","Say"]' |
		sed 's/.*\[\(.*\)\].*/\1/' | cmp - one
	try apr-predict "$data/table_texts.pkl" <<<'[1,null,"web","a"]'
	said 4 'a row has no text where the model reads one'
	try apr-predict --rows libsvm "$data/table_texts.pkl" <<<'0:1'
	said 2 'rows are csv, tsv or jsonl'
}

@test "apr-unpack | apr-pack: vectorizers, encoders and columns, as tensors of any container" {
	local data=$BATS_TEST_DIRNAME/../data/predict format model rows
	while read -r model rows; do
		for format in gguf safetensors apr2; do
			pipe "apr-unpack '$data/$model.pkl' | apr-pack -t $format -f -o made"
			apr-predict made "$data/$rows" | cmp - <(apr-predict "$data/$model.pkl" "$data/$rows")
		done
	done <<-'END'
		table_texts messages.csv
		columns_logistic mixed_fresh.csv
		columns_named mixed.csv
		text_union texts.txt
		tfidf_sublinear texts.txt
		rare letters_fresh.csv
	END
	pipe "apr-unpack '$data/qda.pkl' | apr-pack -t gguf -f -o made"
	apr-explain made | grep -q '^made: quadratic discriminant analysis'
	apr-header made | tr -s ' ' | grep -qx 'kind quadratic discriminant analysis'
	pipe "apr-unpack '$data/tfidf.pkl' | apr-pack -t gguf -f -o made"
	apr-explain made | grep -q '^made: TF-IDF vectorizer (TFIDF)'
	pipe "apr-unpack '$data/rare.pkl' | apr-pack -t gguf -f -o made"
	apr-explain made | grep -q '^made: transformer (CUSTOM)'
}
