// dom.js: the document. Text gets in as text alone, with characters that a reader would not see made
// visible.
import { visible } from './text.js';

export const $ = (id) => document.getElementById(id);
export const show = (element, on) => { element.hidden = !on; };

export function put(id, text, how) {
  $(id).textContent = visible(text, how);
}

// Makes an element: make('td', {className: 'x'}, 'text', element…).
export function make(tag, properties, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content.map((c) => (typeof c === 'string' ? visible(c) : c)));
  return element;
}

export function facts(list, pairs) {
  list.replaceChildren(...pairs.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, String(value)))));
}

// The bytes of the small file of a field, such as a key; null without one.
export async function contents(field, most = 65536) {
  const [file] = field.files;
  if (!file) return null;
  if (file.size > most) throw new Error(`${visible(file.name)}: too long, ${file.size} bytes`);
  return new Uint8Array(await file.arrayBuffer());
}

export function download(file, name) {
  const link = make('a', { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}
