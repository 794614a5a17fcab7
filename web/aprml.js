// aprml.js: the library of the apr tools for JavaScript, in browsers and in node 18 or later. No
// dependencies, no build step. All work is synchronous, so a page calls it from a worker.
//
//	import { load } from './aprml.js';
//
//	const aprml = await load(new URL('aprml.wasm', import.meta.url));
//	const model = aprml.open(file);            // File, Blob, bytes, URL, or in node a path
//	for (const t of model.tensors) console.log(t.name, t.type, t.dims);
//	model.floats(0, 0, 8);                      // Float32Array
//	model.close();
//
// aprml-look.wasm only opens the containers that the tools write and looks into them, aprml-core.wasm also checks,
// aprml-run.wasm verifies, signs, seals and runs instead; aprml-full.wasm also compresses, and reads the files of
// other libraries (web/module.mk).
//
// load(SOURCE, {log, codecs})  SOURCE: bytes of aprml.wasm, its URL, a Response, a WebAssembly.Module, or in
//                      node a path. log: function of one text. codecs: aprml-codecs.wasm, as a file (see
//                      open) or WebAssembly.Module, if it is not beside SOURCE; only a model with compressed
//                      tensors loads it. Returns an Aprml.
//
// Aprml
//   version            of the library
//   open(FILE)         a Model. FILE as above, or {size, read(at, bytes)}: read fills the beginning
//                      of bytes and returns the number of bytes.
//   open(FOLDER)       {NAME: FILE, ...}: a model in several files, or a folder.
//   open(FILE, NAME, OPTIONS)  NAME: how messages call it. OPTIONS: ring, the address of keys that
//                      open a sealed model (trust.js); sealed: true opens one without a key; from: the
//                      format, whatever the content looks like; beside: {NAME: FILE, ...}, files in the
//                      same folder, which the model may refer to
//   memory()           bytes that the module holds
//
// Model
//   tensors            [{name, type, dims, values, bytes}], dims outermost first
//   keys               names of the metadata
//   value(KEY)         number, BigInt beyond 2^53, boolean, string, bytes that are not UTF-8, or array.
//                      {limit}: only this many items of an array
//   type(KEY)          "u32", "array:string", ...
//   count(KEY)         items of an array
//   files              [{name, type, bytes}] that travel with the model
//   find(NAME)         number of a tensor, or -1
//   floats(I, FROM, N) values of tensor I as Float32Array
//   bytes(I, FROM, N)  its bytes as Uint8Array
//   data(EACH)         reads all data in order: EACH(I, BYTES) for each piece; BYTES is valid during
//                      the call only. Checksums are checked; returns when the file was whole.
//   close()
//
// Functions throw an AprmlError: message is the text of the library, number that of the error as in
// apr(7), or 0. Models are read by ranges as they are needed and never held as a whole.

const LAYOUT = ['error', 'error.code', 'error.text',
  'tensor', 'tensor.name', 'tensor.type', 'tensor.ndim', 'tensor.dims', 'tensor.values', 'tensor.bytes',
  'value', 'value.kind', 'value.type', 'value.u', 'value.i', 'value.number', 'value.text',
  'value.bytes', 'value.count',
  'file', 'file.name', 'file.type', 'file.bytes', 'file.p',
  'origin', 'origin.path', 'origin.from', 'origin.ring', 'origin.sealed'];
const KINDS = ['unsigned', 'signed', 'real', 'bool', 'string', 'json', 'array'];
const ENOENT = 44, EIO = 29, EBADF = 8, ENOMEM = 48, EROFS = 69; // of WASI
const PIECE = 1 << 20;
const CODEC_PIECE = 1 << 17, FACT = 128; // of lib/codecs/codec.h and lib/core/wasm/host.h

export class AprmlError extends Error {
  constructor(message, number = 0) {
    super(message);
    this.name = 'AprmlError';
    this.number = number;
  }
}

// ---- files: {size, read(at, bytes)} ----

const node = typeof process === 'object' && process.versions?.node
  ? { fs: await import('node:fs'), url: await import('node:url') } : null;

function bytesFile(bytes) {
  return {
    size: bytes.length,
    read(at, to) {
      const part = bytes.subarray(at, at + to.length);
      to.set(part);
      return part.length;
    },
  };
}

// Only in a worker: a page has no synchronous reader.
function blobFile(blob) {
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    read(at, to) {
      const part = new Uint8Array(reader.readAsArrayBuffer(blob.slice(at, at + to.length)));
      to.set(part);
      return part.length;
    },
  };
}

function pathFile(path) {
  const fd = node.fs.openSync(path, 'r');
  return {
    size: node.fs.fstatSync(fd).size,
    read: (at, to) => node.fs.readSync(fd, to, 0, to.length, at),
    close: () => node.fs.closeSync(fd),
  };
}

// A file on a server that gives ranges; only in a worker. Small reads come from one request of PIECE
// bytes.
function urlFile(url) {
  const ask = (range) => {
    const r = new XMLHttpRequest();
    r.open('GET', url, false);
    r.responseType = 'arraybuffer';
    r.setRequestHeader('Range', range);
    r.send();
    return r;
  };
  const first = ask(`bytes=0-${PIECE - 1}`);
  if (first.status === 200) return bytesFile(new Uint8Array(first.response));
  if (first.status !== 206) throw new AprmlError(`${url}: the server answers ${first.status}`);
  const size = Number(/\/(\d+)$/.exec(first.getResponseHeader('Content-Range') ?? '')?.[1]);
  if (!Number.isSafeInteger(size)) throw new AprmlError(`${url}: the server does not tell its size`);
  let start = 0, held = new Uint8Array(first.response);
  return {
    size,
    read(at, to) {
      if (at < start || at >= start + held.length) {
        const r = ask(`bytes=${at}-${Math.min(size, at + Math.max(to.length, PIECE)) - 1}`);
        if (r.status !== 206) throw new AprmlError(`${url}: the server answers ${r.status}`);
        start = at;
        held = new Uint8Array(r.response);
      }
      const part = held.subarray(at - start, at - start + to.length);
      to.set(part);
      return part.length;
    },
  };
}

function fileOf(from) {
  if (from instanceof Uint8Array) return bytesFile(from);
  if (from instanceof ArrayBuffer) return bytesFile(new Uint8Array(from));
  if (typeof Blob !== 'undefined' && from instanceof Blob) return blobFile(from);
  if (typeof from?.read === 'function') return from;
  if (from instanceof URL && from.protocol === 'file:') return pathFile(node.url.fileURLToPath(from));
  if (from instanceof URL) return urlFile(from.href);
  if (typeof from === 'string') return node ? pathFile(from) : urlFile(from);
  throw new AprmlError('not a file that can be read');
}

// ---- the module ----

async function moduleOf(from) {
  if (from instanceof WebAssembly.Module) return from;
  if (typeof from === 'string' && node) from = node.fs.readFileSync(from);
  if (from instanceof URL && from.protocol === 'file:') from = node.fs.readFileSync(from);
  if (from instanceof URL || typeof from === 'string') from = await fetch(from);
  if (typeof Response !== 'undefined' && from instanceof Response)
    return WebAssembly.compile(await from.arrayBuffer());
  return WebAssembly.compile(from);
}

// The address of the decoders, beside the module, or beside this file if that has no address.
function codecsOf(from) {
  if (typeof from === 'string') from = node ? node.url.pathToFileURL(from) : new URL(from, globalThis.location);
  return new URL('aprml-codecs.wasm', from instanceof URL ? from : from?.url || import.meta.url);
}

export async function load(from, options = {}) {
  return new Aprml(await moduleOf(from), { codecs: () => codecsOf(from), ...options });
}

// Decoders of compressed frames, in a module with memory of its own (web/codecs/frame.h), made from a
// WebAssembly.Module or a file at once, or from a function that returns one of these.
class Codecs {
  constructor(from) {
    if (typeof from === 'function') from = from();
    if (!(from instanceof WebAssembly.Module)) {
      const file = fileOf(from), bytes = new Uint8Array(file.size);
      for (let at = 0, n; at < bytes.length; at += n)
        if (!((n = file.read(at, bytes.subarray(at))) > 0)) throw new AprmlError('aprml-codecs.wasm is cut short');
      file.close?.();
      from = new WebAssembly.Module(bytes);
    }
    this.exports = new WebAssembly.Instance(from).exports;
    this.exports._initialize();
  }

  // piece: a struct host_piece in the memory of aprml.
  decode(frame, aprml, piece) {
    const { memory, frame_decode } = this.exports;
    const [from, to, n, room] = new Uint32Array(aprml.exports.memory.buffer, piece, 4);
    let words = new Uint32Array(memory.buffer, frame, 5);
    words[0] = Math.min(n, CODEC_PIECE);
    words[1] = Math.min(room, CODEC_PIECE);
    new Uint8Array(memory.buffer, words[2]).set(aprml.view(from, words[0]));
    const r = frame_decode(frame);
    words = new Uint32Array(memory.buffer, frame, 5);
    if (r < 0) {
      const fact = new Uint8Array(memory.buffer, words[4]);
      aprml.view(piece + 16, FACT).set(fact.subarray(0, Math.min(fact.indexOf(0) + 1, FACT)));
    } else {
      words[1] = Math.min(words[1], room);
      aprml.view(to, words[1]).set(new Uint8Array(memory.buffer, words[3], words[1]));
      new Uint32Array(aprml.exports.memory.buffer, piece, 4).set(words.subarray(0, 2), 2);
    }
    return r;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const encoder = new TextEncoder();

export class Aprml {
  #names = new Map(); // what the module may open
  #opened = [];
  #log;
  #count = 0;
  #ended = null;
  #codecs;

  constructor(module, { log = () => {}, codecs = codecsOf } = {}) {
    this.#log = log;
    this.#codecs = codecs;
    this.exports = new WebAssembly.Instance(module, { apr: this.#host() }).exports;
    this.exports._initialize();
    const at = this.exports.js_layout() / 4, words = new Uint32Array(this.exports.memory.buffer);
    this.layout = Object.fromEntries(LAYOUT.map((name, i) => [name, words[at + i]]));
  }

  // The functions that the module imports: lib/core/wasm/host.h.
  #host() {
    const guard = (fn) => (...args) => {
      try {
        return fn(...args);
      } catch (e) {
        this.#log(String(e.message ?? e));
        return -EIO;
      }
    };
    return {
      open: guard((p, n, writes) => {
        const file = this.#names.get(this.string(p, n));
        if (!file) return -ENOENT;
        if (writes && !file.write) return -EROFS;
        const at = this.#opened.indexOf(null);
        if (at < 0) return this.#opened.push(file) - 1;
        this.#opened[at] = file;
        return at;
      }),
      size: (i) => this.#opened[i]?.size ?? 0,
      close: (i) => { this.#opened[i] = null; },
      read: guard((i, at, p, n) => this.#opened[i]?.read(at, this.view(p, n)) ?? -EBADF),
      write: guard((i, at, p, n) => this.#opened[i]?.write?.(at, this.view(p, n)) ?? -EBADF),
      list: guard((p, n, i, to, room) => {
        const start = this.string(p, n);
        const name = [...this.#names.keys()].filter((x) => x.startsWith(start)).sort()[i];
        if (name === undefined) return -1;
        const bytes = encoder.encode(name);
        this.view(to, room).set(bytes.subarray(0, room));
        return bytes.length;
      }),
      clock: (wall) => (wall ? Date.now() : performance.now()) / 1000,
      entropy: (p, n) => {
        for (let at = 0; at < n; at += 65536)
          globalThis.crypto.getRandomValues(this.view(p + at, Math.min(65536, n - at)));
      },
      log: (p, n) => this.#log(this.string(p, n)),
      decoder: guard((kind) => {
        if (!(this.#codecs instanceof Codecs)) this.#codecs = new Codecs(this.#codecs);
        return this.#codecs.exports.frame_new(kind) || -ENOMEM;
      }),
      decoder_free: guard((frame) => this.#codecs.exports.frame_free(frame)),
      restart: guard((frame) => this.#codecs.exports.frame_restart(frame)),
      decode: guard((frame, piece) => this.#codecs.decode(frame, this, piece)),
    };
  }

  // ---- memory ----

  // A view is valid until the module runs.
  view(p, n) {
    return new Uint8Array(this.exports.memory.buffer, p >>> 0, n >>> 0);
  }

  data() {
    return new DataView(this.exports.memory.buffer);
  }

  string(p, n) {
    p >>>= 0;
    if (n === undefined) n = new Uint8Array(this.exports.memory.buffer).indexOf(0, p) - p;
    return decoder.decode(this.view(p, n));
  }

  u32(p) {
    return this.data().getUint32(p >>> 0, true);
  }

  u64(p) {
    const v = this.data().getBigUint64(p >>> 0, true);
    return v <= Number.MAX_SAFE_INTEGER ? Number(v) : v;
  }

  allocate(n) {
    const p = this.call('malloc', n || 1);
    if (!p) throw new AprmlError('out of memory', 8);
    return p >>> 0;
  }

  // Runs fn with memory of these sizes, then frees it.
  borrow(sizes, fn) {
    const all = [];
    try {
      for (const n of sizes) all.push(this.allocate(n));
      return fn(...all);
    } finally {
      if (!this.#ended) for (const p of all) this.exports.free(p);
    }
  }

  // ---- calls ----

  // Calls an export. A module that has trapped cannot be used any more.
  call(name, ...args) {
    if (this.#ended) throw this.#ended;
    try {
      return this.exports[name](...args);
    } catch (e) {
      if (e instanceof WebAssembly.RuntimeError || e instanceof RangeError)
        throw this.#ended = new AprmlError(`the module has ended: ${e.message}`, 8);
      throw e;
    }
  }

  // The same for one whose last parameter is a struct aprml_error; failed(result) throws it.
  tried(name, failed, ...args) {
    const { error, 'error.code': code, 'error.text': text } = this.layout;
    return this.borrow([error], (e) => {
      this.view(e, error).fill(0);
      const r = this.call(name, ...args, e);
      if (failed(r)) {
        const fact = this.string(e + text).replace(/^\d+\//, ''); // the number that open gave
        throw new AprmlError(fact, this.data().getInt32(e + code, true));
      }
      return r;
    });
  }

  // Runs fn with the addresses of texts.
  withTexts(texts, fn) {
    const all = texts.map((text) => encoder.encode(text));
    return this.borrow(all.map((bytes) => bytes.length + 1), (...at) => {
      all.forEach((bytes, i) => {
        const to = this.view(at[i], bytes.length + 1);
        to.set(bytes);
        to[bytes.length] = 0;
      });
      return fn(...at);
    });
  }

  withText(text, fn) {
    return this.withTexts([text], fn);
  }

  get version() {
    return this.string(this.call('aprml_version'));
  }

  memory() {
    return this.exports.memory.buffer.byteLength;
  }

  // Gives a file a name by which the module can open it.
  name(name, file) {
    this.#names.set(name, fileOf(file));
  }

  unname(name) {
    const file = this.#names.get(name);
    file?.close?.();
    this.#names.delete(name);
    this.#opened.forEach((x, i) => { if (x === file) this.#opened[i] = null; });
  }

  open(from, name = from?.name ?? (typeof from === 'string' ? from.split('/').pop() : 'model'), options = {}) {
    const isFolder = Object.getPrototypeOf(from) === Object.prototype && typeof from.read !== 'function';
    const folder = this.#count++, place = `${folder}/${name}`;
    const named = [];
    const add = (n, file) => {
      this.name(n, file);
      named.push(n);
    };
    try {
      if (isFolder) for (const [n, file] of Object.entries(from)) add(`${place}/${n}`, file);
      else add(place, from);
      for (const [n, file] of Object.entries(options.beside ?? {})) add(`${folder}/${n}`, file);
      return new Model(this, place, options, () => named.forEach((n) => this.unname(n)));
    } catch (e) {
      named.forEach((n) => this.unname(n));
      throw e;
    }
  }
}

export class Model {
  #a;
  #m;
  #forget;
  #tensors;
  #keys;

  constructor(aprml, path, { ring = 0, from = null, sealed = false }, forget) {
    const l = aprml.layout, texts = from === null ? [path] : [path, from];
    this.#a = aprml;
    this.#forget = forget;
    this.#m = aprml.withTexts(texts, (p, format = 0) => aprml.borrow([l.origin], (o) => {
      aprml.view(o, l.origin).fill(0);
      const put = (at, v) => aprml.data().setUint32(o + at, v, true);
      put(0, l.origin);
      put(l['origin.path'], p);
      put(l['origin.from'], format);
      put(l['origin.ring'], ring);
      put(l['origin.sealed'], sealed ? 1 : 0);
      return aprml.tried('aprml_open_origin', (m) => m === 0, o);
    }));
  }

  get handle() {
    if (!this.#m) throw new AprmlError('the model is closed');
    return this.#m;
  }

  close() {
    if (!this.#m) return;
    const m = this.#m;
    this.#m = 0;
    this.#a.call('aprml_close', m);
    this.#forget();
  }

  get tensors() {
    return this.#tensors ??= this.#readTensors();
  }

  #readTensors() {
    const a = this.#a, l = a.layout, all = [];
    return a.borrow([l.tensor], (t) => {
      const n = a.call('aprml_tensor_count', this.handle);
      for (let i = 0; i < n; i++) {
        a.call('aprml_tensor', this.#m, i, t);
        all.push({
          name: a.string(a.u32(t + l['tensor.name'])),
          type: a.string(a.u32(t + l['tensor.type'])),
          dims: Array.from({ length: a.u32(t + l['tensor.ndim']) },
            (_, k) => a.u64(t + l['tensor.dims'] + 8 * k)),
          values: a.u64(t + l['tensor.values']),
          bytes: a.u64(t + l['tensor.bytes']),
        });
      }
      return all;
    });
  }

  get keys() {
    const a = this.#a;
    return this.#keys ??= Array.from({ length: a.call('aprml_key_count', this.handle) },
      (_, i) => a.string(a.call('aprml_key', this.#m, i)));
  }

  // Runs fn with the address of a key's value.
  #valued(key, fn) {
    const a = this.#a;
    return a.withText(key, (k) => a.borrow([a.layout.value, a.layout.value], (v, item) => {
      a.tried('aprml_value', (r) => r < 0, this.handle, k, v);
      return fn(v, item);
    }));
  }

  #text(p, n) {
    const a = this.#a;
    try {
      return a.string(p, n);
    } catch {
      return a.view(p, n).slice();
    }
  }

  #valueAt(v, limit) {
    const a = this.#a, l = a.layout;
    switch (KINDS[a.u32(v + l['value.kind'])]) {
      case 'unsigned': return a.u64(v + l['value.u']);
      case 'signed': {
        const i = a.data().getBigInt64(v + l['value.i'], true);
        return Number.isSafeInteger(Number(i)) ? Number(i) : i;
      }
      case 'real': return a.data().getFloat64(v + l['value.number'], true);
      case 'bool': return a.u64(v + l['value.u']) !== 0;
      case 'string': case 'json':
        return this.#text(a.u32(v + l['value.text']), a.u32(v + l['value.bytes']));
      default: {
        const n = Math.min(Number(a.u64(v + l['value.count'])), limit), items = [];
        a.borrow([l.value], (item) => {
          for (let i = 0; i < n; i++) {
            if (a.call('aprml_item', v, BigInt(i), item) < 0) break;
            items.push(this.#valueAt(item, limit));
          }
        });
        return items;
      }
    }
  }

  value(key, { limit = Infinity } = {}) {
    return this.#valued(key, (v) => this.#valueAt(v, limit));
  }

  type(key) {
    return this.#valued(key, (v) => this.#a.string(v + this.#a.layout['value.type']));
  }

  count(key) {
    return this.#valued(key, (v) => this.#a.u64(v + this.#a.layout['value.count']));
  }

  get files() {
    const a = this.#a, l = a.layout;
    return a.borrow([l.file], (f) =>
      Array.from({ length: a.call('aprml_file_count', this.handle) }, (_, i) => {
        a.tried('aprml_file', (r) => r < 0, this.#m, i, f);
        return {
          name: a.string(a.u32(f + l['file.name'])),
          type: a.string(a.u32(f + l['file.type'])),
          bytes: a.view(a.u32(f + l['file.p']), Number(a.u64(f + l['file.bytes']))).slice(),
        };
      }));
  }

  find(name) {
    const a = this.#a;
    return a.withText(name, (p) => a.borrow([4], (i) =>
      a.call('aprml_find', this.handle, p, i) < 0 ? -1 : a.u32(i)));
  }

  floats(i, from = 0, n = this.tensors[i]?.values - from) {
    const a = this.#a;
    return a.borrow([4 * n], (y) => {
      a.tried('aprml_floats', (r) => r < 0, this.handle, i, BigInt(from), n, y);
      return new Float32Array(a.exports.memory.buffer.slice(y, y + 4 * n));
    });
  }

  bytes(i, from = 0, n = this.tensors[i]?.bytes - from) {
    const a = this.#a;
    return a.borrow([n], (p) => {
      a.tried('aprml_bytes', (r) => r < 0, this.handle, i, BigInt(from), n, p);
      return a.view(p, n).slice();
    });
  }

  data(each = () => {}) {
    const a = this.#a, failed = (r) => r < 0;
    a.borrow([4, 4, PIECE], (i, n, p) => {
      while (a.tried('aprml_next', failed, this.handle, i) > 0) {
        for (;;) {
          a.tried('aprml_read', failed, this.#m, p, PIECE, n);
          if (a.u32(n) === 0) break;
          each(a.u32(i), a.view(p, a.u32(n)));
        }
      }
    });
  }
}
