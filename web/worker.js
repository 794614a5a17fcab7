// worker.js: holds a module and the open model. The page sends {id, job, ...}; answers are
// {id, value} or {id, error}, and before that any number of {id, step}. Jobs come one after the other;
// "stop" ends the text that is being generated. Models are looked at with the small module; larger ones
// are fetched when a file or a job needs them.
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
const SEALED = 5;        // the number of the error

const FEATURES = ['check', 'verify', 'save', 'run', 'message']; // that the page offers

// Each module can do all that those before it can.
const MODULES = ['aprml-core.wasm', 'aprml.wasm', 'aprml-full.wasm'], LOOKS = 0, WORKS = 1, ALL = 2;
const loaded = [];
const module = (i) => loaded[i] ??= load(new URL(MODULES[i], import.meta.url), { log: (text) => console.log(text) });

let model = null, files = [], run = null, ring = null;
let source = null, used = LOOKS; // of the open model: what the page sent, and the number of its module
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
  used = LOOKS;
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
    if (e.number !== SEALED || used === LOOKS) throw e;
    model = aprml.open(from, name, { sealed: true });
    return e.message;
  }
}

// With the first module that can; keys need the second. The error is that of the last.
async function openBy() {
  const keys = source.keys ?? {};
  for (used = keys.identities || keys.passphrase ? WORKS : LOOKS; ; used++) {
    try {
      return openWith(await module(used), source.name, keys);
    } catch (e) {
      closeModel();
      if (used === MODULES.length - 1 || files.some((f) => f.failure)) throw e;
    }
  }
}

// A module for more than to look, which then also has the model.
async function works(least = WORKS) {
  if (used >= least) return module(used);
  const aprml = await module(least);
  used = least;
  if (model) {
    closeModel();
    openWith(aprml, source.name, source.keys ?? {});
  }
  return aprml;
}

// The small module has no tokenizer, and does not read YAML.
const isPlain = () => !model.keys.some((key) => key.startsWith('tokenizer.')) && model.files.length === 0;

async function open(given) {
  close();
  try {
    source = given.source;
    files = source.address ? [await remote(source.address)] : source.files.map((f, i) => local(f, source.names?.[i]));
    const sealed = await openBy(), aprml = await module(used);
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
    const aprml = await module(LOOKS);
    await tidy();
    return { version: aprml.version, kept: await kept(), can: FEATURES };
  },

  open,
  close,
  histogram,

  async check(_, tell) {
    const aprml = await works(isPlain() ? LOOKS : WORKS);
    follow(tell);
    return check(aprml, model);
  },

  async verify({ key }, tell) {
    const aprml = await works();
    follow(tell);
    return verify(aprml, model, [{ bytes: key }]);
  },

  async save({ name, how, target }, tell) {
    const aprml = await works(how.compress || how.to === 'apr1' ? ALL : WORKS), file = await create(name), began = performance.now();
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
    const aprml = await works();
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
    return seal(await works(), recipient, new TextEncoder().encode(text));
  },

  async unseal({ keys: text, bytes }) {
    return unseal(await works(), text, bytes);
  },

  async identity() {
    return identity(await works());
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
