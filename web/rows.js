// rows.js: the table of tensors. Only the rows in sight are in the document, so thousands scroll
// smoothly. Arrow keys move; Enter or a click chooses.
import { cut, size, visible } from './text.js';

const HIGH = 28; // pixels of a row, as in style.css
const MORE = 8;  // rows above and below those in sight
const ROWS = 500000; // at most: browsers limit the height of an element

export class Rows {
  #box;
  #window;
  #choose;
  #all = [];
  #at = 0;
  #drawn = '';

  constructor(box, window, choose) {
    this.#box = box;
    this.#window = window;
    this.#choose = choose;
    box.onscroll = () => this.draw();
    box.onkeydown = (e) => this.#key(e);
    // By its place, as the row may be another element by now.
    window.onclick = (e) => {
      const i = Math.floor((e.clientY - window.getBoundingClientRect().top) / HIGH);
      if (!(i in this.#all)) return;
      this.#at = i;
      this.draw();
      choose(this.#all[i]);
    };
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // Returns the number of rows.
  fill(all) {
    this.#all = all.slice(0, ROWS);
    this.#drawn = '';
    this.#at = 0;
    this.#box.scrollTop = 0;
    this.#box.setAttribute('aria-rowcount', this.#all.length + 1);
    this.draw();
    return this.#all.length;
  }

  draw() {
    const seen = Math.ceil(this.#box.clientHeight / HIGH);
    const first = Math.max(0, Math.floor(this.#box.scrollTop / HIGH) - MORE);
    const last = Math.min(this.#all.length, first + seen + 2 * MORE);
    // Rows that stay keep their elements: a click whose element goes while the button is down is lost.
    const drawn = [first, last, this.#at].join();
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#window.style.height = `${this.#all.length * HIGH}px`;
    this.#window.replaceChildren(...this.#all.slice(first, last).map((t, i) => this.#row(t, first + i)));
    this.#box.setAttribute('aria-activedescendant', this.#all.length > 0 ? `row-${this.#at}` : '');
  }

  #row(t, i) {
    const row = document.createElement('div');
    row.id = `row-${i}`;
    row.dataset.i = i;
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', i + 2);
    row.setAttribute('aria-selected', i === this.#at);
    row.style.top = `${i * HIGH}px`;
    for (const text of [t.name, t.dims.join(' × ') || 'scalar', t.type, size(t.bytes)]) {
      const cell = document.createElement('span');
      cell.setAttribute('role', 'gridcell');
      cell.textContent = cell.title = visible(cut(text, 300));
      row.append(cell);
    }
    return row;
  }

  #key(e) {
    const page = Math.max(1, Math.floor(this.#box.clientHeight / HIGH) - 2), n = this.#all.length;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -n, End: n }[e.key];
    if (e.key === 'Enter' && n > 0) this.#choose(this.#all[this.#at]);
    if (!step || n === 0) return;
    e.preventDefault();
    this.#at = Math.min(n - 1, Math.max(0, this.#at + step));
    const top = this.#at * HIGH, room = this.#box.clientHeight - 2 * HIGH; // the head covers one row
    if (top < this.#box.scrollTop) this.#box.scrollTop = top;
    else if (top > this.#box.scrollTop + room) this.#box.scrollTop = top - room;
    this.draw();
  }
}
