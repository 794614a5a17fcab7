/* abi: the layout of each structure of the headers and the number of each constant. aprml.abi has what
 * they are. Programs were compiled with these, so they stay as long as the soname does.
 */
#include <aprml/aprml.h>
#include <stdio.h>

#define MEMBER(s, m) printf("%s.%s %zu+%zu\n", #s, #m, offsetof(struct s, m), sizeof((struct s *)0)->m)
#define SIZE(s) printf("%s %zu\n", #s, sizeof(struct s))
#define NUMBER(n) printf("%s %lld\n", #n, (long long)(n))

int
main(void)
{
	SIZE(aprml_error);
	MEMBER(aprml_error, code);
	MEMBER(aprml_error, text);
	SIZE(aprml_ranges);
	MEMBER(aprml_ranges, bytes);
	MEMBER(aprml_ranges, size);
	MEMBER(aprml_ranges, read);
	MEMBER(aprml_ranges, prefetch);
	MEMBER(aprml_ranges, ctx);
	SIZE(aprml_tensor);
	MEMBER(aprml_tensor, name);
	MEMBER(aprml_tensor, type);
	MEMBER(aprml_tensor, ndim);
	MEMBER(aprml_tensor, dims);
	MEMBER(aprml_tensor, values);
	MEMBER(aprml_tensor, bytes);
	SIZE(aprml_value);
	MEMBER(aprml_value, kind);
	MEMBER(aprml_value, type);
	MEMBER(aprml_value, u);
	MEMBER(aprml_value, i);
	MEMBER(aprml_value, number);
	MEMBER(aprml_value, text);
	MEMBER(aprml_value, bytes);
	MEMBER(aprml_value, count);
	SIZE(aprml_file);
	MEMBER(aprml_file, name);
	MEMBER(aprml_file, type);
	MEMBER(aprml_file, bytes);
	MEMBER(aprml_file, p);
	NUMBER(APRML_DIMS);
	NUMBER(APRML_TYPE);
	NUMBER(APRML_KEEP);
	NUMBER(APRML_UNSIGNED);
	NUMBER(APRML_SIGNED);
	NUMBER(APRML_REAL);
	NUMBER(APRML_BOOL);
	NUMBER(APRML_STRING);
	NUMBER(APRML_JSON);
	NUMBER(APRML_ARRAY);
	SIZE(aprml_weights_options);
	MEMBER(aprml_weights_options, bytes);
	MEMBER(aprml_weights_options, memory);
	MEMBER(aprml_weights_options, copy);
	MEMBER(aprml_weights_options, log);
	MEMBER(aprml_weights_options, ctx);
	SIZE(aprml_run_options);
	MEMBER(aprml_run_options, bytes);
	MEMBER(aprml_run_options, context);
	MEMBER(aprml_run_options, cache);
	MEMBER(aprml_run_options, memory);
	MEMBER(aprml_run_options, seconds);
	MEMBER(aprml_run_options, threads);
	MEMBER(aprml_run_options, arena);
	MEMBER(aprml_run_options, log);
	MEMBER(aprml_run_options, progress);
	MEMBER(aprml_run_options, ctx);
	SIZE(aprml_sampling);
	MEMBER(aprml_sampling, bytes);
	MEMBER(aprml_sampling, temperature);
	MEMBER(aprml_sampling, top_p);
	MEMBER(aprml_sampling, min_p);
	MEMBER(aprml_sampling, repeat_penalty);
	MEMBER(aprml_sampling, top_k);
	MEMBER(aprml_sampling, seed);
	MEMBER(aprml_sampling, count);
	MEMBER(aprml_sampling, stop);
	MEMBER(aprml_sampling, stop_count);
	SIZE(aprml_token);
	MEMBER(aprml_token, id);
	MEMBER(aprml_token, logprob);
	MEMBER(aprml_token, text);
	MEMBER(aprml_token, bytes);
	SIZE(aprml_result);
	MEMBER(aprml_result, bytes);
	MEMBER(aprml_result, end);
	MEMBER(aprml_result, prompt);
	MEMBER(aprml_result, made);
	MEMBER(aprml_result, prompt_seconds);
	MEMBER(aprml_result, seconds);
	SIZE(aprml_predictor_info);
	MEMBER(aprml_predictor_info, bytes);
	MEMBER(aprml_predictor_info, kind);
	MEMBER(aprml_predictor_info, features);
	MEMBER(aprml_predictor_info, outputs);
	MEMBER(aprml_predictor_info, classes);
	MEMBER(aprml_predictor_info, trees);
	MEMBER(aprml_predictor_info, texts);
	NUMBER(APRML_BARE);
	NUMBER(APRML_SPECIAL);
	NUMBER(APRML_NO_TOKEN);
	NUMBER(APRML_BOS);
	NUMBER(APRML_EOS);
	NUMBER(APRML_EOT);
	NUMBER(APRML_UNK);
	NUMBER(APRML_SEP);
	NUMBER(APRML_PAD);
	NUMBER(APRML_MASK);
	NUMBER(APRML_RUNNING);
	NUMBER(APRML_COUNT);
	NUMBER(APRML_END_OF_TEXT);
	NUMBER(APRML_STOP);
	NUMBER(APRML_CONTEXT);
	NUMBER(APRML_CANCELLED);
	NUMBER(APRML_TIME);
	NUMBER(APRML_FAILED);
	NUMBER(APRML_PREDICTION);
	NUMBER(APRML_PROBABILITIES);
	NUMBER(APRML_SCORES);
	NUMBER(APRML_LEAVES);
	return 0;
}
