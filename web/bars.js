// bars.js: a histogram as SVG, with the zero and the ends of the range below it.
import { number } from './text.js';

const WIDTH = 640, HEIGHT = 180, FOOT = 20;

function make(tag, attributes, ...content) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content);
  return element;
}

export function bars({ counts, min, max }, label) {
  const most = Math.max(...counts), wide = WIDTH / counts.length;
  const picture = make('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT + FOOT}`, role: 'img', 'aria-label': label });
  counts.forEach((n, i) => {
    if (n === 0) return;
    const high = Math.max(1, n / most * HEIGHT);
    picture.append(make('rect', { x: i * wide, y: HEIGHT - high, width: wide - 1, height: high },
      make('title', {}, n.toLocaleString('en'))));
  });
  picture.append(make('line', { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  const mark = (x, anchor, text) => picture.append(make('text', { x, y: HEIGHT + 15, 'text-anchor': anchor }, text));
  mark(0, 'start', number(min));
  if (max > min) mark(WIDTH, 'end', number(max));
  const zero = -min / (max - min);
  if (zero > 0.1 && zero < 0.9) {
    picture.append(make('line', { x1: zero * WIDTH, x2: zero * WIDTH, y1: HEIGHT, y2: HEIGHT + 5 }));
    mark(zero * WIDTH, 'middle', '0');
  }
  return picture;
}
