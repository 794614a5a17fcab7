// page.js: what is seen: models are opened and looked at. forms.js has what is done with them, worker.js
// does the work.
import { size, count, cut, number, visible } from './text.js';
import { bars } from './bars.js';
import { $, contents, facts, make, put, show } from './dom.js';
import { forms } from './forms.js';
import { ask, fail, long, start } from './link.js';
import { Rows } from './rows.js';

// ---- opening ----

let source = null, model = null;

// The keys that open sealed models, if the user gave any.
async function givenKeys() {
  return { identities: await contents($('identity-file')), passphrase: $('open-word').value };
}

async function open(from) {
  const opened = await long(`Opening ${from.address ?? from.name ?? cut(from.files.map((f) => f.name).join(', '), 200)}`, async (each) => {
    from.keys = await givenKeys();
    return ask('open', { source: from }, each);
  });
  if (!opened) return leave();
  source = from;
  model = opened;
  document.title = `${visible(model.name)}: apr`;
  put('name', model.name);
  document.body.classList.add('opened');
  show($('model'), true);
  const isSealed = model.sealed !== null;
  show($('sealed'), isSealed);
  if (isSealed) $('keys-box').open = true;
  if (isSealed && (from.keys.identities || from.keys.passphrase)) fail(new Error(model.sealed));
  show($('unlock'), isSealed);
  show($('histogram'), false);
  form.fill(model);
  header();
  $('find-key').value = $('find-tensor').value = '';
  keys();
  tensorsShown(rows.fill(model.tensors));
  select(tabs[0].id);
  $('name').focus();
}

const MOST = 10000; // files of a folder

// A model folder: its files, and those of folders in it, with their names from there on.
async function folder(top) {
  const found = { name: top.name, files: [], names: [] };
  const visit = async (place, start) => {
    const reader = place.createReader();
    for (let some; (some = await new Promise((done, failed) => reader.readEntries(done, failed))).length > 0;)
      for (const entry of some) {
        if (found.files.length === MOST) throw new Error(`${top.name} has more than ${count(MOST, 'file')}`);
        if (entry.isDirectory) await visit(entry, `${start}${entry.name}/`);
        else {
          found.files.push(await new Promise((done, failed) => entry.file(done, failed)));
          found.names.push(start + entry.name);
        }
      }
  };
  await visit(top, '');
  if (found.files.length === 0) throw new Error(`${top.name} has no files`);
  return found;
}

$('files').onchange = () => {
  const files = [...$('files').files];
  $('files').value = '';
  if (files.length > 0) open({ files });
};

const carriesFiles = (e) => [...e.dataTransfer.types].includes('Files');
addEventListener('dragover', (e) => {
  if (!carriesFiles(e)) return;
  e.preventDefault();
  document.body.classList.add('over');
});
addEventListener('dragleave', (e) => {
  if (!e.relatedTarget) document.body.classList.remove('over');
});
addEventListener('drop', async (e) => {
  if (!carriesFiles(e)) return;
  e.preventDefault();
  document.body.classList.remove('over');
  const { files } = e.dataTransfer, entries = [...e.dataTransfer.items].map((i) => i.webkitGetAsEntry?.());
  try {
    open(entries.length === 1 && entries[0]?.isDirectory ? await folder(entries[0]) : { files: [...files] });
  } catch (problem) {
    fail(problem);
  }
});

// The policy belongs to one address, so the page is loaded anew.
$('open').onsubmit = (e) => {
  e.preventDefault();
  location.hash = encodeURIComponent($('address').value);
  location.reload();
};

// The worker has closed the model.
function leave() {
  source = model = null;
  show($('model'), false);
  show($('unlock'), false);
  document.body.classList.remove('opened');
  document.title = 'apr';
}

$('close').onclick = () => {
  ask('close').catch(fail);
  leave();
  show($('error'), false);
  $('identity-file').value = $('open-word').value = '';
  $('files').focus();
};

$('unlock').onclick = () => open(source);

// ---- views ----

let tabs = [];

// A view that the module has no function for is not there.
function views(can) {
  const all = [...document.querySelectorAll('[role=tabpanel]')];
  const has = (panel) => !panel.dataset.needs || can.includes(panel.dataset.needs);
  for (const panel of all) show(panel, false);
  tabs = all.filter(has);
  $('tabs').replaceChildren(...tabs.map((panel) => {
    const tab = make('button', { type: 'button', id: `tab-${panel.id}`, onclick: () => select(panel.id) }, panel.dataset.tab);
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', panel.id);
    panel.setAttribute('aria-labelledby', tab.id);
    return tab;
  }));
}

function select(id) {
  for (const panel of tabs) {
    const tab = $(`tab-${panel.id}`), on = panel.id === id;
    show(panel, on);
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
  }
  if (id === 'tensors') rows.draw();
}

$('tabs').onkeydown = (e) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length }[e.key];
  if (!step) return;
  e.preventDefault();
  const at = tabs.findIndex((panel) => !panel.hidden), last = tabs.length - 1;
  const to = Math.abs(step) > 1 ? (step < 0 ? 0 : last) : (at + step + tabs.length) % tabs.length;
  select(tabs[to].id);
  $(`tab-${tabs[to].id}`).focus();
};

function value(key) {
  return model.keys.find((k) => k.key === key)?.value;
}

function header() {
  const types = new Map();
  for (const t of model.tensors) types.set(t.type, (types.get(t.type) ?? 0) + 1);
  const values = model.tensors.reduce((sum, t) => sum + t.values, 0);
  const bytes = model.tensors.reduce((sum, t) => sum + t.bytes, 0);
  facts($('facts'), [
    ['Name', value('general.name')?.slice(0, 300)],
    ['Architecture', value('general.architecture')?.slice(0, 300)],
    ['Sealed', model.sealed === null ? undefined : 'yes: opened without a key'],
    ['Parameters', values.toLocaleString('en')],
    ['Tensors', model.tensors.length.toLocaleString('en')],
    ['Types', cut([...types].sort((a, b) => b[1] - a[1]).slice(0, 50).map(([t, n]) => `${t} ${n}`).join(', '), 500)],
    ['Bits per weight', values > 0 ? number(8 * bytes / values) : undefined],
    ['Size', `${size(model.size)} (${model.size.toLocaleString('en')} bytes)`],
    ['From', source.address ?? undefined],
  ].filter(([, v]) => v !== undefined));
}

// Long tables show their beginning; a search finds the rest.
const KEYS = 500;

function keys() {
  const words = $('find-key').value.toLowerCase();
  const some = model.keys.filter((k) => `${k.key} ${k.type} ${k.value}`.toLowerCase().includes(words)).slice(0, KEYS);
  $('keys').replaceChildren(...some.map((k) => make('tr', {},
    make('th', { scope: 'row' }, cut(k.key, 500)),
    make('td', {}, k.count === null ? k.type : `${k.type} × ${k.count.toLocaleString('en')}`),
    make('td', {}, k.value.length <= 160 ? k.value
      : make('details', {}, make('summary', {}, `${k.value.slice(0, 120)}…`), make('pre', { textContent: visible(k.value, { lines: true }) }))))));
  $('keys-shown').textContent = `${some.length.toLocaleString('en')} of ${count(model.keyCount, 'key')}`;
}

const rows = new Rows($('rows'), $('window'), histogram);
function tensorsShown(n) {
  put('tensors-shown', `${n.toLocaleString('en')} of ${count(model.tensors.length, 'tensor')}`);
}

// A search field calls fn as the user types, and is emptied by Escape.
function search(field, fn) {
  field.oninput = fn;
  field.onkeydown = (e) => {
    if (e.key !== 'Escape' || !field.value) return;
    field.value = '';
    fn();
  };
}
search($('find-key'), keys);
search($('find-tensor'), () => {
  const words = $('find-tensor').value.toLowerCase();
  const some = model.tensors.filter((t) => `${t.name} ${t.type}`.toLowerCase().includes(words));
  tensorsShown(rows.fill(some));
});

// ---- histogram ----

async function histogram(tensor) {
  const h = await long(`Reading ${cut(tensor.name, 200)}`, () => ask('histogram', { tensor: model.tensors.indexOf(tensor) }));
  if (!h) return;
  const text = `${number(h.min)} to ${number(h.max)}`;
  put('tensor-name', cut(tensor.name, 500));
  $('bars').replaceChildren(h.n > h.odd ? bars(h, visible(`Histogram of ${cut(tensor.name, 200)}: ${text}`)) : '');
  $('bars-text').textContent = h.n < tensor.values
    ? `A sample: ${h.n.toLocaleString('en')} of ${tensor.values.toLocaleString('en')} values, from all parts of the tensor.`
    : `All ${count(h.n, 'value')}.`;
  facts($('numbers'), [['Minimum', number(h.min)], ['Maximum', number(h.max)], ['Mean', number(h.mean)],
    ['Standard deviation', number(h.deviation)], ['Zeros', h.zeros.toLocaleString('en')],
    ['NaN or infinite', h.odd.toLocaleString('en')]]);
  show($('histogram'), true);
  $('histogram').scrollIntoView({ block: 'nearest' });
  $('tensor-name').focus({ preventScroll: true });
}

function leaveHistogram() {
  show($('histogram'), false);
  $('rows').focus();
}
$('histogram-close').onclick = leaveHistogram;
$('histogram').onkeydown = (e) => {
  if (e.key === 'Escape') leaveHistogram();
};

// ---- start ----

const form = forms({ model: () => model });
const { address } = globalThis.given; // of policy.js, without which nothing runs

async function keptBytes(bytes) {
  show($('forget'), bytes > 0);
  put('forget', `Remove ${size(bytes)} kept from addresses`);
}
$('forget').onclick = async () => keptBytes(await ask('forget'));

// A new worker opens the model again.
start(() => {
  if (source) ask('open', { source }).catch(fail);
});
ask('start').then(({ kept, can }) => {
  keptBytes(kept);
  views(can);
  show($('messages'), can.includes('message'));
  document.body.classList.add('ready');
  if (!address) return;
  $('address').value = address.href;
  open({ address: address.href });
}, fail);
