// ranges.js: files that are read by ranges, in a worker: of the user, and of a web server. What was read
// from a server is kept in the origin's private file system (OPFS), if the browser has one, and used
// again as long as the server's file has the same size and date.
//
//	const file = local(blob, name);     // {name, size, read(at, bytes), failure, close()}
//	const file = await remote(url);     // the same
//	watch(fn)                           // fn(bytes) is called after each read, until watch()
//	await kept()                        // bytes on disk
//	await forget()                      // removes all that is not in use

const BLOCK = 1 << 20;
const MOST = 2 ** 42; // bytes of a file that is kept
const FOLDER = 'addresses';

let each = () => {};

export function watch(fn = () => {}) {
  each = fn;
}

// A file whose failure is kept: the library learns only that a read failed, and may try again. The
// worker forgets it before the next job.
function watched(name, size, read, close = () => {}) {
  return {
    name,
    size,
    close,
    failure: null,
    read(at, to) {
      if (this.failure) throw this.failure;
      try {
        const n = read(at, to);
        each(n);
        return n;
      } catch (e) {
        throw this.failure = e;
      }
    },
  };
}

export function local(blob, name = blob.name) {
  const reader = new FileReaderSync();
  return watched(name, blob.size, (at, to) => {
    const part = new Uint8Array(reader.readAsArrayBuffer(blob.slice(at, at + to.length)));
    to.set(part);
    return part.length;
  });
}

function ask(url, method, range) {
  const request = new XMLHttpRequest();
  request.open(method, url, false);
  if (method === 'GET') request.responseType = 'arraybuffer';
  if (range) request.setRequestHeader('Range', range);
  try {
    request.send();
  } catch {
    throw new Error(`${url}: no answer; the server must be reachable, allow other pages to read (CORS), and not lead to another server`);
  }
  return request;
}

// What tells versions of a file apart, as far as the server shows it to pages of other origins.
function marks(get) {
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(get('Content-Range') ?? '');
  return { etag: get('ETag'), date: get('Last-Modified'), from: range && Number(range[1]), size: range && Number(range[3]) };
}

function bytes(url, from, to, first) {
  const request = ask(url, 'GET', `bytes=${from}-${to - 1}`);
  if (request.status === 416) throw new Error(`${url}: the file has changed on the server`);
  if (request.status !== 206) throw new Error(`${url}: the server answers ${request.status}, not with a range`);
  const now = marks((name) => request.getResponseHeader(name));
  for (const mark of ['etag', 'date', 'size'])
    if (now[mark] !== null && first[mark] !== null && now[mark] !== first[mark])
      throw new Error(`${url}: the file has changed on the server`);
  const part = new Uint8Array(request.response);
  if (part.length !== to - from || (now.from !== null && now.from !== from))
    throw new Error(`${url}: the server sent other bytes than ${from} to ${to - 1}`);
  return part;
}

// The size and the marks of the version. The browser's own cache may hold another version of the file,
// which it drops now. A server that does not know ranges would send everything, so
// the answer is dropped after its header.
async function look(url) {
  const abort = new AbortController();
  const first = await fetch(url, { headers: { Range: 'bytes=0-0' }, cache: 'reload', signal: abort.signal }).catch(() => {
    throw new Error(`${url}: no answer; the server must be reachable, allow other pages to read (CORS), and not lead to another server`);
  });
  abort.abort();
  if (first.status === 416) throw new Error(`${url}: the file is empty`);
  if (first.status >= 400) throw new Error(`${url}: the server answers ${first.status}`);
  if (first.status !== 206) throw new Error(`${url}: the server does not give ranges; save the file and open it here`);
  // Other origins may hide Content-Range.
  const now = marks((name) => first.headers.get(name));
  const size = now.size ?? Number(ask(url, 'HEAD').getResponseHeader('Content-Length') ?? NaN);
  if (!Number.isSafeInteger(size)) throw new Error(`${url}: the server does not tell its size`);
  return { ...now, size };
}

async function folder(create = true) {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create });
}

// The file on disk: for each block of the remote file a byte (1: here), then the blocks. NULL without
// OPFS, if another page uses it, or if versions of the file cannot be told apart.
async function cache(url, size, mark) {
  if (!mark || size > MOST) return null;
  try {
    const text = new TextEncoder().encode(`${url}\n${size}\n${mark}`);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text));
    const name = [...digest.subarray(0, 16)].map((b) => b.toString(16).padStart(2, '0')).join('');
    const handle = await (await folder()).getFileHandle(name, { create: true });
    const disk = await handle.createSyncAccessHandle();
    const map = new Uint8Array(Math.ceil(size / BLOCK));
    if (disk.getSize() >= map.length) disk.read(map, { at: 0 });
    else disk.write(map, { at: 0 });
    return { disk, map };
  } catch {
    return null;
  }
}

function nameOf(url) {
  const last = new URL(url).pathname.split('/').pop() || 'model';
  try {
    return decodeURIComponent(last);
  } catch {
    return last; // "%" without two digits
  }
}

export async function remote(url) {
  const first = await look(url), { size } = first;
  let store = await cache(url, size, first.etag ?? first.date);
  let held = null, number = -1; // the block in memory

  function block(i) {
    if (number === i) return held;
    number = -1;
    const from = i * BLOCK, to = Math.min(size, from + BLOCK);
    if (store?.map[i] === 1) {
      held = new Uint8Array(to - from);
      if (store.disk.read(held, { at: store.map.length + from }) !== held.length) store.map[i] = 0;
    }
    if (store?.map[i] !== 1) {
      held = bytes(url, from, to, first);
      keep(i, from);
    }
    number = i;
    return held;
  }

  // First the bytes, then that they are there. A full disk ends the keeping, not the reading.
  function keep(i, from) {
    if (!store) return;
    try {
      store.disk.write(held, { at: store.map.length + from });
      store.disk.flush();
      store.map[i] = 1;
      store.disk.write(store.map.subarray(i, i + 1), { at: i });
    } catch {
      store.disk.close();
      store = null;
    }
  }

  return watched(nameOf(url), size, (at, to) => {
    const part = block(Math.floor(at / BLOCK)).subarray(at % BLOCK, at % BLOCK + to.length);
    to.set(part);
    return part.length;
  }, () => {
    store?.disk.close();
    store = null;
  });
}

export async function kept() {
  let sum = 0;
  try {
    for await (const file of (await folder(false)).values()) sum += (await file.getFile()).size;
  } catch { /* nothing is kept */ }
  return sum;
}

export async function forget() {
  const place = await folder();
  for await (const name of place.keys()) await place.removeEntry(name).catch(() => {});
}
