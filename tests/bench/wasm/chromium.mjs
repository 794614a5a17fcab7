// chromium.mjs FOLDER MODEL PROMPT COUNT TIMES: feed.mjs in a worker of Chromium. FOLDER has the module and
// model.gguf is in that of MODEL. Microseconds are CPU time of the page's process, as the browser gives it. BROWSER: the
// program.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser } from '../../web/browser.mjs';
import { serve, trap } from '../../web/server.mjs';

const [folder, model, ...numbers] = process.argv.slice(2);
const [prompt, count, times] = numbers.map(Number);
const here = dirname(fileURLToPath(import.meta.url));
const site = await serve([here, join(here, '../../../web'), resolve(folder), dirname(resolve(model))]);
const elsewhere = await trap();
const place = mkdtempSync(join(tmpdir(), 'chromium.'));
const browser = new Browser(process.env.BROWSER ?? 'chromium', place);

// Microseconds of all pages.
async function cpu() {
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  return processInfo.filter((p) => p.type === 'renderer').reduce((sum, p) => sum + p.cpuTime, 0) * 1e6;
}

async function feed(page, first, n, atOnce) {
  const start = await cpu();
  await page.eval(`done(${JSON.stringify({ first, count: n, atOnce })})`);
  return (await cpu() - start) / n;
}

try {
  const page = await browser.page(elsewhere.port, [site.origin]);
  await page.go(`${site.origin}/icon.svg`);
  await page.eval(`worker = new Worker('/fed.js', { type: 'module' }); done = (job) => new Promise((good, bad) => {
    worker.onmessage = ({ data }) => data === null ? good() : bad(new Error(data));
    worker.onerror = (e) => bad(new Error(e.message));
    worker.postMessage(job); })`);
  await page.eval('done({})');
  for (let i = -1; i < times; i++) {
    const figures = [await feed(page, 0, prompt, prompt), await feed(page, prompt, count, 1)];
    if (i < 0) await new Promise((done) => setTimeout(done, 1000));
    else console.log(figures.map((f) => f.toFixed(1)).join(' '));
  }
} catch (e) {
  console.error(`chromium.mjs: ${e.message}`);
  process.exitCode = 1;
}
await browser.close();
site.close();
elsewhere.close();
rmSync(place, { recursive: true, force: true });
process.exit();
