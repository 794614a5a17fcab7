// trust.js: models are judged, and signatures verified: aprml_make.h, aprml_trust.h.
//
//	check(aprml, model)                 // {score, word, errors, warnings, findings}
//	verify(aprml, model, keys)          // {key, root, sealed, name, version, date, comment}, or throws
//	new Ring(aprml, keys, passphrase)   // {address, close()}
//
// keys: [{bytes, passphrase}], the contents of key files.

// Where the members of the structures lie in wasm32.
const FINDING = { size: 24, level: 4, id: 8, object: 12, fact: 16, fix: 20 };
const VERDICT = { size: 840, key: 4, root: 28, sealed: 100, name: 104, version: 240, date: 312, comment: 336 };
const LEVELS = ['info', 'warning', 'error'];
const failed = (result) => result < 0, none = (pointer) => pointer === 0;

export function check(a, model) {
  const report = a.tried('aprml_check', none, model.handle, 0, 0);
  try {
    const findings = a.borrow([FINDING.size], (f) => {
      const text = (member) => (a.u32(f + member) ? a.string(a.u32(f + member)) : null), all = [];
      a.data().setUint32(f, FINDING.size, true);
      for (let i = 0; a.call('aprml_report_finding', report, i, f) === 0; i++)
        all.push({ level: LEVELS[a.u32(f + FINDING.level)], id: text(FINDING.id), object: text(FINDING.object),
          fact: text(FINDING.fact), fix: text(FINDING.fix) });
      return all;
    });
    return {
      score: a.call('aprml_report_score', report),
      word: a.string(a.call('aprml_report_word', report)),
      warnings: a.call('aprml_report_count', report, 1),
      errors: a.call('aprml_report_count', report, 2),
      findings,
    };
  } finally {
    a.call('aprml_report_close', report);
  }
}

// Keys in the module. passphrase: seals and opens instead of keys. A sealed model that was opened by
// aprml.open(FILE, NAME, {ring: ring.address}) needs its ring until it is closed.
export class Ring {
  #a;
  address = 0;

  constructor(aprml, keys = [], passphrase = '') {
    this.#a = aprml;
    this.address = aprml.tried('aprml_ring_open', none);
    try {
      for (const key of keys)
        this.#lent([key.bytes, key.passphrase ?? ''], (p, n, s, m) =>
          aprml.tried('aprml_ring_add', failed, this.address, p, n, m > 0 ? s : 0, m));
      if (passphrase)
        this.#lent([passphrase], (p, n) => aprml.tried('aprml_ring_passphrase', failed, this.address, p, n));
    } catch (e) {
      this.close();
      throw e;
    }
  }

  // Runs use with the address and the size of each secret, which are wiped afterwards.
  #lent(secrets, use) {
    const a = this.#a, all = secrets.map((x) => (typeof x === 'string' ? new TextEncoder().encode(x) : x));
    a.borrow(all.map((x) => x.length), (...at) => {
      all.forEach((x, i) => a.view(at[i], x.length).set(x));
      try {
        use(...all.flatMap((x, i) => [at[i], x.length]));
      } finally {
        all.forEach((x, i) => a.view(at[i], x.length).fill(0));
      }
    });
  }

  close() {
    if (this.address) this.#a.call('aprml_ring_close', this.address);
    this.address = 0;
  }
}

// Runs use with the address of a ring of these keys.
export function ring(a, keys, passphrase, use) {
  const r = new Ring(a, keys, passphrase);
  try {
    return use(r.address);
  } finally {
    r.close();
  }
}

export function verify(a, model, keys) {
  return ring(a, keys, '', (r) => a.borrow([VERDICT.size], (v) => {
    a.view(v, VERDICT.size).fill(0);
    a.data().setUint32(v, VERDICT.size, true);
    a.tried('aprml_verify', failed, model.handle, r, 0, 0, v);
    const text = (member) => a.string(v + member);
    return { key: text(VERDICT.key), root: text(VERDICT.root), sealed: a.u32(v + VERDICT.sealed) !== 0,
      name: text(VERDICT.name), version: text(VERDICT.version), date: text(VERDICT.date), comment: text(VERDICT.comment) };
  }));
}
