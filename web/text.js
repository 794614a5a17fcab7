// text.js: numbers and foreign text for people.

// Characters that a reader does not see, or that change the order of others: controls, directions,
// what has no width, other ends of lines, tags, halves of characters.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

const RUNNING = '\n\t\u200c\u200d\ufe0f'; // of these, what running text has: also joiners, in some scripts

// Text of a model with these characters as ‹U+202E›. lines: it is running text.
export function visible(text, { lines = false } = {}) {
  return String(text).replace(HIDDEN, (c) => {
    if (lines && RUNNING.includes(c)) return c;
    return c === '\n' ? '⏎' : `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;
  });
}

// At most most characters of a text, then "…".
export function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

// A name for a file, whatever a model calls itself.
export function fileName(text) {
  return visible(text).replace(/[/\\:*?"<>|‹›]/g, '_').replace(/^\.+/, '').slice(-120) || 'model';
}

// 1536 → "1.5 KiB"
export function size(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let i = 0;
  for (; bytes >= 1024 && i < units.length - 1; i++) bytes /= 1024;
  return `${i > 0 ? bytes.toFixed(1) : bytes} ${units[i]}`;
}

// count(1, "tensor") → "1 tensor"; count(2000, "tensor") → "2,000 tensors"
export function count(n, what) {
  return `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;
}

// Four digits; very large and small numbers with an exponent.
export function number(x) {
  if (!Number.isFinite(x)) return '–';
  if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) return x.toExponential(3);
  return String(Number(x.toPrecision(4)));
}
