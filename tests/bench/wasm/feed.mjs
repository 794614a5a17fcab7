// feed.mjs MODULE MODEL PROMPT COUNT TIMES: feed.c in WebAssembly, under node. The run that is not measured also
// gives the compiler time for its best code.
import { load } from '../../../web/aprml.js';
import { Run } from '../../../web/run.js';

const [module, path, ...numbers] = process.argv.slice(2);
const [prompt, count, times] = numbers.map(Number);

const aprml = await load(module);
const model = aprml.open(path);
const run = new Run(aprml, model);
const words = run.feed([0]).length; // logits

// Microseconds a token.
function fed(first, n, atOnce) {
  const start = process.cpuUsage();
  for (let i = 0; i < n; i += atOnce)
    run.feed(Array.from({ length: atOnce }, (_, k) => (first + i + k) * 7 % words));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / n;
}

for (let i = -1; i < times; i++) {
  run.clear();
  const figures = [fed(0, prompt, prompt), fed(prompt, count, 1)];
  if (i < 0) await new Promise((done) => setTimeout(done, 1000));
  else console.log(figures.map((f) => f.toFixed(1)).join(' '));
}
run.close();
model.close();
