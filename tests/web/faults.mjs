// faults.mjs MODULE FOLDER[=FORMAT]...: makes a stream of each file of MANIFEST in these folders, which
// has a name, an exit status and a message in each line. The module must fail with that message, or
// accept the file if the status is 0. Prints the number of files.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { AprmlError, load } from '../../web/aprml.js';
import { make } from '../../web/make.js';

// A module does not see links and folders.
const LEFT_OUT = /_(link|folder)$/;

const [module, ...folders] = process.argv.slice(2);
let aprml = await load(module);
let n = 0, bad = 0;

function read(path, from) {
  const data = path.replace(/[^/]*$/, 'data.bin');
  const model = aprml.open(path, undefined, { from, beside: existsSync(data) ? { 'data.bin': data } : {} });
  try {
    make(aprml, model, { write: (at, bytes) => bytes.length }, { to: 'stream' });
  } finally {
    model.close();
  }
}

async function said(path, from) {
  try {
    read(path, from);
    return 'accepted';
  } catch (e) {
    if (!(e instanceof AprmlError)) throw e;
    if (e.message.startsWith('the module has ended')) aprml = await load(module);
    return `${e.message}${e.number ? ` (E${String(e.number).padStart(3, '0')})` : ''}`;
  }
}

for (const [folder, from = null] of folders.map((f) => f.split('=')))
  for (const line of readFileSync(`${folder}/MANIFEST`, 'utf8').trimEnd().split('\n')) {
    const [name, status, message] = line.split('\t'), path = `${folder}/${name}`;
    if (!statSync(path).isFile() || LEFT_OUT.test(name)) continue;
    const want = status === '0' ? 'accepted' : message, got = await said(path, from);
    n++;
    if (got.includes(want)) continue;
    bad++;
    console.error(`${folder.split('/').pop()} ${name}: "${got}", not "${want}"`);
  }
console.log(`${n} files, ${bad} wrong`);
process.exit(bad > 0 ? 1 : 0);
