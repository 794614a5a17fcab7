// run.js: text that a model says next, on the functions of aprml_run.h.
//
//	const run = new Run(aprml, model);
//	run.begin('ROMEO:', { count: 100, temperature: 0, seed: 0 });
//	for (let token; (token = run.next()) !== null;) …
//	run.feed(run.tokens('ROMEO:'))      // logits, as Float32Array
//	run.result()                        // {end, prompt, made, promptSeconds, seconds}
//	run.close();

import { AprmlError } from './aprml.js';

// Where the members of the structures lie in wasm32.
const WEIGHTS = { size: 32 };
const RUN = { size: 64, context: 8, cache: 16 };
const SAMPLING = { size: 72, temperature: 8, topP: 16, minP: 24, penalty: 32, topK: 40, seed: 48, count: 56 };
const TOKEN = { size: 24, text: 16, bytes: 20 };
const RESULT = { size: 40, end: 4, prompt: 8, made: 16, promptSeconds: 24, seconds: 32 };
const ENDS = ['running', 'count', 'end of text', 'stop', 'context', 'cancelled', 'time', 'failed'];
const SPECIAL = 2;
const failed = (result) => result < 0, none = (pointer) => pointer === 0;

export class Run {
  #a;
  #weights = 0;
  #run = 0;

  // Reads all tensors into memory. A run begins with an empty text. context: positions, 0: the model's,
  // at most 4096; cache: how keys and values are kept, f16, f32 or q8_0.
  constructor(aprml, model, { context = 0, cache = 'f16' } = {}) {
    this.#a = aprml;
    try {
      this.#weights = this.#with(WEIGHTS, () => {}, (o) => aprml.tried('aprml_weights_open', none, model.handle, o));
      this.#run = aprml.withText(cache, (text) => this.#with(RUN, (at) => {
        at.setBigUint64(RUN.context, BigInt(context), true);
        at.setUint32(RUN.cache, text, true);
      }, (o) => aprml.tried('aprml_run_open', none, this.#weights, o)));
    } catch (e) {
      this.close();
      throw e;
    }
  }

  // Calls use with the address of a structure of zeros whose first member is its size.
  #with({ size }, fill, use) {
    const a = this.#a;
    return a.borrow([size], (p) => {
      a.view(p, size).fill(0);
      const at = new DataView(a.exports.memory.buffer, p, size);
      at.setUint32(0, size, true);
      fill(at);
      return use(p);
    });
  }

  // The ids of a text's tokens.
  tokens(text) {
    const a = this.#a, bytes = new TextEncoder().encode(text);
    const tokenizer = a.tried('aprml_weights_tokenizer', none, this.#weights);
    const room = bytes.length + 16;
    return a.borrow([bytes.length, 4 * room, 4], (from, ids, count) => {
      a.view(from, bytes.length).set(bytes);
      a.tried('aprml_tokenizer_encode', failed, tokenizer, from, bytes.length, SPECIAL, ids, room, count);
      const n = a.u32(count);
      if (n > room) throw new AprmlError(`the text has ${n} tokens, more than its bytes`);
      return new Uint32Array(a.exports.memory.buffer, ids, n).slice();
    });
  }

  // Forgets all text.
  clear() {
    this.#a.call('aprml_run_rewind', this.#run, 0);
  }

  // Appends tokens; returns the logits of what follows as Float32Array.
  feed(ids) {
    const a = this.#a;
    a.borrow([4 * ids.length], (p) => {
      new Uint32Array(a.exports.memory.buffer, p, ids.length).set(ids);
      a.tried('aprml_run_feed', failed, this.#run, p, ids.length, 0, 0);
    });
    const at = a.call('aprml_run_logits', this.#run);
    return new Float32Array(a.exports.memory.buffer, at, a.call('aprml_run_vocabulary', this.#run)).slice();
  }

  // Appends a text. temperature 0 takes the most probable token.
  begin(text, { count = 128, temperature = 0, seed = 0 } = {}) {
    const a = this.#a, ids = this.tokens(text);
    a.borrow([4 * ids.length], (p) => this.#with(SAMPLING, (at) => {
      new Uint32Array(a.exports.memory.buffer, p, ids.length).set(ids);
      at.setFloat64(SAMPLING.temperature, temperature, true);
      at.setFloat64(SAMPLING.topP, 0.95, true);
      at.setFloat64(SAMPLING.minP, 0.05, true);
      at.setFloat64(SAMPLING.penalty, 1, true);
      at.setBigUint64(SAMPLING.topK, 40n, true);
      at.setBigUint64(SAMPLING.seed, BigInt(seed), true);
      at.setBigUint64(SAMPLING.count, BigInt(count), true);
    }, (o) => a.tried('aprml_run_begin', failed, this.#run, p, ids.length, o)));
  }

  // The text of the next token, or null at the end.
  next() {
    const a = this.#a;
    return a.borrow([TOKEN.size], (t) => {
      if (a.tried('aprml_run_next', failed, this.#run, t) === 0) return null;
      const bytes = a.u32(t + TOKEN.bytes);
      return bytes > 0 ? new TextDecoder().decode(a.view(a.u32(t + TOKEN.text), bytes)) : '';
    });
  }

  result() {
    const a = this.#a;
    return this.#with(RESULT, () => {}, (p) => {
      if (a.call('aprml_run_result', this.#run, p) < 0) return null;
      const at = new DataView(a.exports.memory.buffer, p, RESULT.size);
      return {
        end: ENDS[at.getUint32(RESULT.end, true)],
        prompt: Number(at.getBigUint64(RESULT.prompt, true)),
        made: Number(at.getBigUint64(RESULT.made, true)),
        promptSeconds: at.getFloat64(RESULT.promptSeconds, true),
        seconds: at.getFloat64(RESULT.seconds, true),
      };
    });
  }

  close() {
    if (this.#run) this.#a.call('aprml_run_close', this.#run);
    if (this.#weights) this.#a.call('aprml_weights_close', this.#weights);
    this.#run = this.#weights = 0;
  }
}
