// jobs.mjs MODULE: does what the lines of standard input say, with fields between tabs, and prints a
// line for each; the exit status is 1 if one failed.
//
//	write IN OUT OPTION=VALUE...   options of make.js; sign, seal and open name files of keys
//	verify IN KEY                  prints the id of the key and the root
//	judge IN                       prints what a check finds, apart from the tokenizer
//	look IN                        prints a digest of tensors, their first values, metadata and bytes
//	logits IN OUT ID[,ID]...       writes the logits after each token, or after those fed at once, f32
//	say IN TEXT COUNT              prints what a model says next
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { load } from '../../web/aprml.js';
import { make } from '../../web/make.js';
import { Run } from '../../web/run.js';
import { Ring, check, verify } from '../../web/trust.js';

const aprml = await load(process.argv[2]);
const key = (path) => ({ bytes: readFileSync(path) });

function opened(path, keys, use) {
  const ring = keys ? new Ring(aprml, [key(keys)]) : null;
  try {
    const model = aprml.open(path, undefined, { ring: ring?.address ?? 0 });
    try {
      return use(model);
    } finally {
      model.close();
    }
  } finally {
    ring?.close();
  }
}

function running(path, use) {
  return opened(path, null, (model) => {
    const run = new Run(aprml, model, { cache: 'f32' });
    try {
      return use(run);
    } finally {
      run.close();
    }
  });
}

const jobs = {
  write(from, to, ...options) {
    const how = Object.fromEntries(options.map((o) => o.split(/=(.*)/s)));
    const fd = openSync(to, 'w');
    const file = { write: (at, bytes) => writeSync(fd, bytes, 0, bytes.length, at) };
    if (how.sign) how.sign = key(how.sign);
    if (how.seal) how.seal = [key(how.seal)];
    opened(from, how.open, (model) => make(aprml, model, file, how));
    closeSync(fd);
    return to;
  },
  verify: (from, keys) => opened(from, null, (model) => {
    const v = verify(aprml, model, [key(keys)]);
    return `${v.key} ${v.root}`;
  }),
  look: (from) => opened(from, null, (model) => {
    const seen = createHash('sha256'), add = (x) => seen.update(JSON.stringify(x, (_, v) => (typeof v === 'bigint' ? `${v}` : v)));
    for (const [i, t] of model.tensors.entries()) {
      add(t);
      try {
        seen.update(model.floats(i, 0, Math.min(256, Number(t.values))));
      } catch (e) {
        add(e.message);
      }
    }
    for (const key of model.keys) add([key, model.type(key), model.value(key)]);
    for (const f of model.files) seen.update(f.bytes);
    model.data((i, bytes) => seen.update(bytes));
    return `${from} ${model.tensors.length} ${seen.digest('hex')}`;
  }),
  judge: (from) => opened(from, null, (model) => {
    const { findings } = check(aprml, model);
    return `${from} ${JSON.stringify(findings.filter((f) => f.id !== 'CHECK-084'))}`;
  }),
  logits: (from, to, ...ids) => running(from, (run) => {
    writeFileSync(to, Buffer.concat(ids.map((id) => Buffer.from(run.feed(id.split(',').map(Number)).buffer))));
    return to;
  }),
  say: (from, text, count) => running(from, (run) => {
    let said = '';
    run.begin(text, { count: Number(count) });
    for (let token; (token = run.next()) !== null;) said += token;
    return said;
  }),
};

for (const line of readFileSync(0, 'utf8').trimEnd().split('\n')) {
  const [job, ...given] = line.split('\t');
  try {
    console.log(jobs[job](...given));
  } catch (e) {
    console.log(`${job} ${given[0]}: ${e.message} (${e.number})`);
    process.exitCode = 1;
  }
}
