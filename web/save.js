// save.js: a file that is written in a worker: to the origin's private file system (OPFS), or, without
// that, to memory.
//
//	const file = await create('small.gguf');
//	file.write(at, bytes);              // returns the number of bytes; failure is why it threw
//	const blob = await file.end(target) // target: a handle that the user chose, which gets the bytes; or
//	                                    // null: the caller saves what is returned
//	await file.drop()                   // after a failure
//	await tidy()                        // removes what was saved more than an hour ago

const FOLDER = 'saved';
const BLOCK = 1 << 22;
const ROOM = 2 ** 31; // bytes in memory, at most
const HOUR = 3600e3;

async function folder() {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create: true });
}

// The browser may still copy a file that was saved lately. Those that are being written are locked.
export async function tidy() {
  try {
    const place = await folder();
    for await (const [name, handle] of place.entries()) {
      const { lastModified } = await handle.getFile();
      if (Date.now() - lastModified > HOUR) await place.removeEntry(name).catch(() => {});
    }
  } catch { /* there is no private file system */ }
}

function inMemory(name) {
  const blocks = [];
  let size = 0;
  return {
    failure: null,
    write(at, bytes) {
      const i = Math.floor(at / BLOCK), from = at % BLOCK, n = Math.min(bytes.length, BLOCK - from);
      if (at + n > ROOM) throw this.failure = new Error('this browser can save at most 2 GiB, because it has no private file system');
      while (blocks.length <= i) blocks.push(new Uint8Array(BLOCK));
      blocks[i].set(bytes.subarray(0, n), from);
      size = Math.max(size, at + n);
      return n;
    },
    async end() {
      return new File(blocks, name).slice(0, size);
    },
    async drop() {},
  };
}

export async function create(name) {
  let place, handle, disk;
  const own = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
  try {
    place = await folder();
    handle = await place.getFileHandle(own, { create: true });
    disk = await handle.createSyncAccessHandle();
  } catch {
    return inMemory(name);
  }
  async function drop() {
    disk.close();
    await place.removeEntry(own).catch(() => {});
  }
  return {
    failure: null,
    write(at, bytes) {
      try {
        return disk.write(bytes, { at });
      } catch (e) {
        throw this.failure = e.name === 'QuotaExceededError' ? new Error('the file does not fit on this device') : e;
      }
    },
    async end(target) {
      disk.flush();
      disk.close();
      const file = await handle.getFile();
      if (!target) return file;
      await file.stream().pipeTo(await target.createWritable());
      await drop();
      return { size: file.size };
    },
    drop,
  };
}
