// message.js: short texts sealed for one recipient, as apr-seal and apr-open do it, and pairs of keys for
// that.
//
//	seal(aprml, recipient, bytes)       // sealed bytes; recipient: "age1…"
//	unseal(aprml, keys, bytes)          // {words, asks}; keys: text of identities, in bytes
//	recipientOf(aprml, text)            // the recipient in a model's inference_pub_key, or null
//	identity(aprml)                     // {identity, recipient}, new ones

const IDENTITY = 96, RECIPIENT = 80;
const failed = (result) => result < 0;
const encoder = new TextEncoder();

// Runs use with the addresses of these bytes, and of room for the result. All is wiped afterwards.
function lend(a, parts, room, use) {
  const sizes = [...parts.map((p) => p.length), room];
  return a.borrow(sizes, (...at) => {
    parts.forEach((part, i) => a.view(at[i], part.length).set(part));
    try {
      return use(...at);
    } finally {
      sizes.forEach((n, i) => a.view(at[i], n).fill(0));
    }
  });
}

export function seal(a, recipient, bytes) {
  const to = encoder.encode(`${recipient}\n`), room = a.call('js_seal_room', bytes.length);
  return lend(a, [to, bytes], room, (t, p, sealed) => {
    a.tried('js_seal', failed, t, to.length, p, bytes.length, sealed);
    return a.view(sealed, room).slice();
  });
}

export function unseal(a, keys, bytes) {
  return a.borrow([4], (asks) => lend(a, [keys, bytes], bytes.length, (k, p, words) => {
    const n = a.tried('js_unseal', failed, k, keys.length, p, bytes.length, words, asks);
    return { words: a.view(words, n).slice(), asks: a.u32(asks) !== 0 };
  }));
}

export function recipientOf(a, text) {
  const bytes = encoder.encode(text);
  return lend(a, [bytes], RECIPIENT, (p, to) => (a.call('js_recipient', p, bytes.length, to) < 0 ? null : a.string(to)));
}

export function identity(a) {
  return lend(a, [], 2 * IDENTITY, (p) => {
    a.tried('aprml_identity_new', failed, p, p + IDENTITY);
    return { identity: a.string(p), recipient: a.string(p + IDENTITY) };
  });
}
