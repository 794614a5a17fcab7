// worker.js: holds a module and the open model. The page sends {id, job, ...}; answers are
// {id, value} or {id, error}, and before that any number of {id, step}. Jobs come one after the other;
// "stop" ends the text that is being generated. Models are looked at with the smallest module; others are
// fetched when a file or a job needs them.
import { load } from './aprml.js';
import { forget, kept, local, remote, watch } from './ranges.js';
import { make } from './make.js';
import { identity, recipientOf, seal, unseal } from './message.js';
import { Run } from './run.js';
import { create, tidy } from './save.js';
import { check, Ring, verify } from './trust.js';
import { cut, size as sizeText } from './text.js';

const SAMPLE = 1 << 22; // values of a histogram
const PARTS = 64;       // of a tensor, if the sample is not all of it
const BINS = 96;         // at most
const ROOM = 3.5 * 2 ** 30; // bytes of a model that can run: the module has 4 GiB at most
const KEYS = 2000;       // that are shown
const TEXT = 4000;       // characters of a value that are shown
const ITEMS = 16;        // of an array that are shown
const FORMAT = 1, SEALED = 5; // numbers of errors

const FEATURES = ['check', 'verify', 'save', 'run', 'message']; // that the page offers

// What the modules can do besides to look, the smallest first: check, with tokenizer and model card too (judge),
// verify, sign, seal and run (run), write and quantize (write), compress and read files of other software (more).
const MODULES = [
  { file: 'aprml-look.wasm', can: [] },
  { file: 'aprml-core.wasm', can: ['check'] },
  { file: 'aprml-run.wasm', can: ['run'] },
  { file: 'aprml.wasm', can: ['check', 'judge', 'run', 'write'] },
  { file: 'aprml-full.wasm', can: ['check', 'judge', 'run', 'write', 'more'] },
];
const LARGE = 1 << 28; // bytes of memory that a module without a model may keep

const can = (module, needs) => needs.every((n) => module.can.includes(n));

// The smallest module that can, of those that are there, or else of all.
const moduleFor = (needs) => MODULES.find((m) => m.aprml && can(m, needs)) ?? MODULES.find((m) => can(m, needs));

async function loaded(module) {
  module.aprml ??= await load(new URL(module.file, import.meta.url), { log: (text) => console.log(text) });
  return module.aprml;
}

let model = null, files = [], run = null, ring = null;
let source = null, needs = [], used = MODULES[0]; // of the open model: what the page sent, what it needs, its module
let stopped = -1; // jobs up to this number

function closeModel() {
  run?.close();
  model?.close();
  ring?.close();
  run = model = ring = null;
}

function close() {
  closeModel();
  for (const f of files) f.close();
  files = [];
  source = null;
  needs = [];
}

// Reports how much of the files has been read.
function follow(tell) {
  const all = files.reduce((sum, f) => sum + f.size, 0);
  let done = 0, last = 0;
  watch((bytes) => {
    done += bytes;
    const now = performance.now();
    if (now - last < 100) return;
    last = now;
    tell({ done: Math.min(done, all), all });
  });
}

// Other messages, such as that to stop, get their turn.
const turns = new MessageChannel();
const turn = () => new Promise((done) => {
  turns.port1.onmessage = done;
  turns.port2.postMessage(0);
});

// ---- opening ----

// The page shows the beginning of long values.
function shown(value, count) {
  if (value instanceof Uint8Array) return `${value.length} bytes that are not text`;
  if (!Array.isArray(value)) return cut(String(value), TEXT);
  const items = value.map((v) => (typeof v === 'string' ? JSON.stringify(cut(v, TEXT)) : shown(v, v?.length)));
  return cut(`[${items.join(', ')}${count > items.length ? ', …' : ''}]`, TEXT);
}

function keys() {
  return model.keys.slice(0, KEYS).map((key) => {
    try {
      const type = model.type(key), count = type.startsWith('array') ? Number(model.count(key)) : null;
      return { key, type, count, value: shown(model.value(key, { limit: ITEMS }), count) };
    } catch (e) {
      return { key, type: '', count: null, value: e.message };
    }
  });
}

// A sealed model that no key opens can be looked at from outside: the result is why, else null.
function openWith(aprml, whole, { identities, passphrase }) {
  const folder = files.length > 1 || whole, name = folder ? whole ?? 'folder' : files[0].name;
  const from = folder ? Object.fromEntries(files.map((f) => [f.name, f])) : files[0];
  if (identities || passphrase) ring = new Ring(aprml, identities ? [{ bytes: identities }] : [], passphrase);
  try {
    model = aprml.open(from, name, { ring: ring?.address });
    return null;
  } catch (e) {
    if (e.number !== SEALED || !can(used, ['run'])) throw e;
    model = aprml.open(from, name, { sealed: true });
    return e.message;
  }
}

const isText = (file) => {
  const first = new Uint8Array(1);
  return file.read(0, first) === 1 && first[0] === '{'.charCodeAt(0);
};

// What the module lacked that could not open the model, or null: a damaged file of a known format is damaged for each
// module. A file of JSON may be that of other software, which also writes what JSON does not have, such as NaN.
function lacked({ number }) {
  if (number === SEALED && !can(used, ['run'])) return ['run'];
  return (number === FORMAT || files.length > 1 || isText(files[0])) && !can(used, ['more']) ? ['more'] : null;
}

// The error is that of the last module.
async function openBy() {
  const keys = source.keys ?? {};
  for (needs = keys.identities || keys.passphrase ? ['run'] : []; ;) {
    used = moduleFor(needs);
    try {
      return openWith(await loaded(used), source.name, keys);
    } catch (e) {
      closeModel();
      const more = lacked(e);
      if (!more || files.some((f) => f.failure)) throw e;
      needs = more;
    }
  }
}

// A module for a job with the model, which then has it.
async function works(...job) {
  const all = [...needs, ...job], last = used;
  if (can(last, all)) return loaded(last);
  const next = moduleFor(all), aprml = await loaded(next);
  used = next;
  if (model) {
    closeModel();
    openWith(aprml, source.name, source.keys ?? {});
    if (last.aprml?.memory() > LARGE) last.aprml = null;
  }
  return aprml;
}

// The module that only checks has no tokenizer, and does not read YAML.
const isPlain = () => !model.keys.some((key) => key.startsWith('tokenizer.')) && model.files.length === 0;

async function open(given) {
  close();
  try {
    source = given.source;
    files = source.address ? [await remote(source.address)] : source.files.map((f, i) => local(f, source.names?.[i]));
    const sealed = await openBy(), aprml = await loaded(used);
    const published = model.keys.includes('inference_pub_key') ? model.value('inference_pub_key') : null;
    return {
      name: source.name ?? (files.length === 1 ? files[0].name : `${files.length} files`),
      size: files.reduce((sum, f) => sum + f.size, 0),
      sealed,
      tensors: model.tensors.map((t) => ({ ...t, dims: t.dims.map(Number), values: Number(t.values), bytes: Number(t.bytes) })),
      keys: keys(),
      keyCount: model.keys.length,
      recipient: typeof published === 'string' ? recipientOf(aprml, published) : null,
    };
  } catch (e) {
    const failure = files.find((f) => f.failure)?.failure;
    close();
    throw failure ?? e;
  }
}

// ---- histogram ----

// All values of a tensor, or parts at even distances.
function sample(i) {
  const values = Number(model.tensors[i].values);
  if (values <= SAMPLE) return model.floats(i, 0, values);
  const all = new Float32Array(SAMPLE), part = SAMPLE / PARTS;
  for (let k = 0; k < PARTS; k++)
    all.set(model.floats(i, Math.floor((values - part) * (k / (PARTS - 1))), part), k * part);
  return all;
}

function histogram({ tensor }) {
  const x = sample(tensor), bins = Math.max(1, Math.min(BINS, Math.ceil(2 * Math.sqrt(x.length))));
  const counts = new Array(bins).fill(0);
  let min = Infinity, max = -Infinity, sum = 0, squares = 0, zeros = 0, odd = 0;
  for (const v of x) {
    if (!Number.isFinite(v)) {
      odd++;
      continue;
    }
    if (v < min) min = v;
    if (v > max) max = v;
    if (v === 0) zeros++;
    sum += v;
    squares += v * v;
  }
  const n = x.length - odd, mean = sum / n;
  for (const v of x)
    if (Number.isFinite(v)) counts[max > min ? Math.min(bins - 1, Math.floor((v - min) / (max - min) * bins)) : 0]++;
  return { counts, min, max, mean, deviation: Math.sqrt(Math.max(0, squares / n - mean * mean)), zeros, odd, n: x.length };
}

// ---- jobs ----

const jobs = {
  async start() {
    const aprml = await loaded(MODULES[0]);
    await tidy();
    return { version: aprml.version, kept: await kept(), can: FEATURES };
  },

  open,
  close,
  histogram,

  async check(_, tell) {
    const aprml = await works(isPlain() ? 'check' : 'judge');
    follow(tell);
    return check(aprml, model);
  },

  async verify({ key }, tell) {
    const aprml = await works('run');
    follow(tell);
    return verify(aprml, model, [{ bytes: key }]);
  },

  async save({ name, how, target }, tell) {
    const kind = how.compress || how.to === 'apr1' ? 'more' : how.type || how.to !== 'apr2' ? 'write' : 'run';
    const aprml = await works(kind), file = await create(name), began = performance.now();
    follow(tell);
    try {
      make(aprml, model, file, how);
      const saved = await file.end(target);
      return { file: target ? null : saved, size: saved.size, seconds: (performance.now() - began) / 1000 };
    } catch (e) {
      await file.drop();
      throw file.failure ?? e;
    }
  },

  async run({ text, options }, tell, id) {
    const bytes = model.tensors.reduce((sum, t) => sum + Number(t.bytes), 0);
    if (bytes > ROOM) throw new Error(`the model has ${sizeText(bytes)}; in a browser one of ${sizeText(ROOM)} can run`);
    const aprml = await works('run');
    follow(tell);
    run ??= new Run(aprml, model);
    watch();
    run.clear();
    run.begin(text, options);
    for (let token; id > stopped && (token = run.next()) !== null;) {
      tell({ token });
      await turn();
    }
    return { ...run.result(), stopped: id <= stopped };
  },

  async seal({ recipient, text }) {
    return seal(await loaded(moduleFor(['run'])), recipient, new TextEncoder().encode(text));
  },

  async unseal({ keys: text, bytes }) {
    return unseal(await loaded(moduleFor(['run'])), text, bytes);
  },

  async identity() {
    return identity(await loaded(moduleFor(['run'])));
  },

  // What is open stays.
  async forget() {
    await forget();
    return kept();
  },
};

async function serve({ id, job, ...given }) {
  for (const f of files) f.failure = null;
  try {
    const value = await jobs[job](given, (step) => postMessage({ id, step }), id);
    postMessage({ id, value: value ?? null });
  } catch (e) {
    const cause = files.find((f) => f.failure)?.failure ?? e;
    postMessage({ id, error: { message: cause.message, number: cause.number ?? 0, ended: /^the module has ended/.test(e.message) } });
  } finally {
    watch();
  }
}

let last = Promise.resolve();
onmessage = ({ data }) => {
  if (['stop', 'open', 'close'].includes(data.job)) stopped = data.id;
  if (data.job === 'stop') postMessage({ id: data.id, value: null });
  else last = last.then(() => serve(data));
};
