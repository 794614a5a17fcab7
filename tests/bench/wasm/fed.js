// fed.js: the worker of chromium.mjs. Holds a module and a model, and feeds tokens as feed.mjs does.
import { load } from './aprml.js';
import { local } from './ranges.js';
import { Run } from './run.js';

let run, words;

async function begin() {
  const aprml = await load(new URL('aprml.wasm', import.meta.url));
  const bytes = await (await fetch('model.gguf')).blob();
  run = new Run(aprml, aprml.open(local(new File([bytes], 'model.gguf')), 'model.gguf'));
  words = run.feed([0]).length; // logits
}

function feed({ first, count, atOnce }) {
  if (first === 0) run.clear();
  for (let i = 0; i < count; i += atOnce)
    run.feed(Array.from({ length: atOnce }, (_, k) => (first + i + k) * 7 % words));
}

self.onmessage = async ({ data }) => {
  try {
    await (run ? feed(data) : begin());
    postMessage(null);
  } catch (e) {
    postMessage(String(e));
  }
};
