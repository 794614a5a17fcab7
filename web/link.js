// link.js: the worker, its jobs, and what the page shows of them.
import { $, put, show } from './dom.js';

// A worker inherits the policy of the page only if its address is a blob.
const script = new Blob([`import ${JSON.stringify(new URL('worker.js', import.meta.url).href)};`], { type: 'text/javascript' });
const policy = globalThis.trustedTypes?.createPolicy('worker', { createScriptURL: (url) => url });
const waiting = new Map(); // jobs by their numbers
let worker, next = 0, afresh = () => {};

function begin() {
  const address = URL.createObjectURL(script);
  worker = new Worker(policy ? policy.createScriptURL(address) : address, { type: 'module' });
  worker.onmessage = ({ data: { id, value, error, step } }) => {
    const job = waiting.get(id);
    if (!job) return;
    if (step) return job.each(step);
    waiting.delete(id);
    if (!error) return job.done(value);
    job.failed(Object.assign(new Error(error.message), error));
    if (error.ended) again('the module was started again');
  };
  worker.onerror = (e) => {
    e.preventDefault();
    fail(new Error(`the worker does not start${e.message ? `: ${e.message}` : ''}`));
  };
}

// Ends the worker in the middle of its work, and starts another.
function again(why) {
  worker.terminate();
  for (const job of waiting.values()) job.failed(new Error(why));
  waiting.clear();
  begin();
  afresh();
}

// Runs a job of worker.js. each gets its steps.
export function ask(job, given = {}, each = () => {}) {
  const id = next++;
  return new Promise((done, failed) => {
    waiting.set(id, { done, failed, each });
    worker.postMessage({ id, job, ...given });
  });
}

// fn is called whenever a worker has been replaced: nothing is open in it.
export function start(fn) {
  afresh = fn;
  begin();
}

export function fail(error) {
  put('error', error.number ? `${error.message} (E${String(error.number).padStart(3, '0')})` : error.message);
  show($('error'), true);
}

// Runs work that may take long: its result, or undefined if it failed.
let working = 0;
export async function long(text, work) {
  show($('error'), false);
  put('doing', text);
  $('progress').removeAttribute('value');
  working++;
  const late = setTimeout(() => show($('busy'), true), 200);
  try {
    return await work(({ done, all }) => {
      if (all > 0) $('progress').value = done / all;
    });
  } catch (e) {
    fail(e);
    return undefined;
  } finally {
    clearTimeout(late);
    if (--working === 0) show($('busy'), false);
  }
}

$('cancel').onclick = () => again('stopped');
