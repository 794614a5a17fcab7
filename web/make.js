// make.js: a model is written in another type or container, signed or sealed: aprml_make.h,
// aprml_trust.h.
//
//	make(aprml, model, file, {to, type, compress, sign, seal, passphrase})
//
// file: {write(at, bytes)} gets the bytes, most of them in order, and returns their number. sign: {bytes,
// passphrase}, the content of a secret key. seal: [{bytes}], recipients; passphrase: seals by it instead.
import { ring } from './trust.js';

const OUTPUT = { size: 28 };
const failed = (result) => result < 0, none = (pointer) => pointer === 0;

export function make(a, model, file, { to, type, compress, sign, seal = [], passphrase = '' }) {
  const name = 'output';
  let maker = 0, host = -1;
  a.name(name, { size: 0, read: () => 0, write: (at, bytes) => file.write(at, bytes) });

  function set(option, value) {
    if (value) a.withText(option, (o) => a.withText(value, (v) => a.tried('aprml_maker_set', failed, maker, o, v)));
  }
  function sealed(signer) {
    if (seal.length === 0 && !passphrase) return a.tried('aprml_maker_model', failed, maker, model.handle);
    return ring(a, seal, passphrase, (r) => {
      a.tried('aprml_maker_seal', failed, maker, r, signer);
      return a.tried('aprml_maker_model', failed, maker, model.handle);
    });
  }

  try {
    maker = a.borrow([OUTPUT.size], (o) => {
      host = a.withText(name, (n) => a.call('js_output', o, n));
      return a.tried('aprml_maker_open', none, o, 0);
    });
    set('to', to);
    set('type', type);
    set('compress', compress);
    if (!sign) sealed(0);
    else ring(a, [sign], '', (r) => {
      a.tried('aprml_maker_sign', failed, maker, r);
      sealed(r);
    });
  } finally {
    if (maker) a.call('aprml_maker_close', maker);
    a.unname(name);
  }
}
