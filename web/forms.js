// forms.js: what is done with a model: checked, verified, written, run; and sealed messages.
//
//	const form = forms({ model });      // model(): what is open
//	form.fill(model)                    // another model was opened
import { $, contents, download, facts, make, put, show } from './dom.js';
import { ask, fail, long } from './link.js';
import { count, cut, fileName, number, size, visible } from './text.js';

const encoder = new TextEncoder();

// ---- check ----

$('check-go').onclick = async () => {
  show($('report'), false);
  const r = await long('Checking', (each) => ask('check', {}, each));
  if (!r) return;
  put('score', `${r.score} of 100`);
  put('verdict', `${r.word.toLowerCase()}; ${count(r.errors, 'error')}, ${count(r.warnings, 'warning')}`);
  $('findings').replaceChildren(...r.findings.slice(0, 1000).map((f) => make('tr', { className: f.level },
    make('th', { scope: 'row' }, f.level), make('td', {}, f.id),
    make('td', {}, cut([f.object, f.fact].filter(Boolean).join(': '), 1000),
      ...(f.fix ? [make('div', { className: 'fix' }, cut(f.fix, 1000))] : [])))));
  show($('findings-box'), r.findings.length > 0);
  show($('report'), true);
};

// ---- signature ----

let signer = ''; // of the open model, once its signature was verified

$('public-file').onchange = async () => {
  try {
    $('public-key').value = new TextDecoder().decode(await contents($('public-file')) ?? new Uint8Array());
  } catch (e) {
    fail(e);
  }
};

$('verify').onsubmit = async (e) => {
  e.preventDefault();
  show($('signed'), false);
  const key = encoder.encode(`${$('public-key').value.trim()}\n`);
  const v = await long('Verifying', (each) => ask('verify', { key }, each));
  if (!v) return;
  signer = v.key;
  facts($('signer'), [['Key', v.key], ['Root', v.root], ['Name', v.name], ['Version', v.version], ['Date', v.date],
    ['Comment', v.comment], ['Sealed', v.sealed ? 'the outer signature was verified' : '']].filter(([, text]) => text));
  show($('signed'), true);
};

// ---- save ----

const SUFFIXES = { gguf: 'gguf', apr2: 'apr', safetensors: 'safetensors' };

// The user says where first, as browsers ask for that soon after the click.
async function place(name) {
  if (!globalThis.showSaveFilePicker) return null;
  return globalThis.showSaveFilePicker({ suggestedName: name }).catch((e) => {
    if (!(e instanceof TypeError)) throw e;
    return globalThis.showSaveFilePicker(); // the browser refuses the name
  });
}

async function making(to, type) {
  const key = await contents($('secret-file')), recipients = $('recipients').value.trim();
  return { to, type, passphrase: $('seal-word').value,
    sign: key && { bytes: key, passphrase: $('secret-word').value },
    seal: recipients ? [{ bytes: encoder.encode(`${recipients}\n`) }] : [] };
}

function saving(model) {
  $('make').onsubmit = async (e) => {
    e.preventDefault();
    put('saved', '');
    const to = $('container').value, type = $('type').value;
    const stem = model().name.replace(/\.[^.]*$/, '').replace(/-(BF16|F16|F32)$/i, '');
    const name = fileName(`${stem}${type && `-${type.toUpperCase()}`}.${SUFFIXES[to]}`);
    let how, target;
    try {
      target = await place(name);
      how = await making(to, type);
    } catch (problem) {
      if (problem.name !== 'AbortError') fail(problem); // the user closed the dialog
      return;
    }
    const r = await long(`Writing ${name}`, (each) => ask('save', { name, how, target }, each));
    if (!r) return;
    if (r.file) download(r.file, name);
    put('saved', `${name}: ${size(r.size)} in ${number(r.seconds)} s`);
  };
}

// ---- run ----

$('ask').onsubmit = async (e) => {
  e.preventDefault();
  const text = $('prompt').value, lines = { lines: true };
  put('said-prompt', text, lines);
  put('said-text', '');
  put('speed', '');
  $('said').setAttribute('aria-busy', 'true');
  show($('said'), true);
  $('ask-go').disabled = true;
  $('ask-stop').disabled = false;
  const options = { count: Number($('tokens').value), temperature: Number($('temperature').value), seed: Number($('seed').value) };
  const r = await long('Reading the model', (each) => ask('run', { text, options }, (step) => {
    if (step.token === undefined) return each(step);
    show($('busy'), false);
    $('said-text').append(visible(step.token, lines));
  }));
  $('ask-go').disabled = false;
  $('ask-stop').disabled = true;
  $('said').setAttribute('aria-busy', 'false');
  if (r) put('speed', `${count(r.made, 'token')}${r.stopped ? ', stopped' : ''}; `
    + `${number(r.made / r.seconds)} tokens/s; ${count(r.prompt, 'token')} of text read in ${number(r.promptSeconds)} s`);
};
$('ask-stop').onclick = () => ask('stop');
$('run').onkeydown = (e) => {
  if (e.key === 'Escape') ask('stop');
  if (e.key === 'Enter' && e.ctrlKey && !$('ask-go').disabled) $('ask').requestSubmit();
};

// ---- messages ----

$('seal-message').onsubmit = async (e) => {
  e.preventDefault();
  put('sealed-to', '');
  const recipient = $('recipient').value.trim();
  const bytes = await long('Sealing', () => ask('seal', { recipient, text: $('message').value }));
  if (!bytes) return;
  download(new Blob([bytes], { type: 'application/octet-stream' }), 'message.sealed');
  put('sealed-to', `message.sealed: ${size(bytes.length)} for ${recipient}`);
};

$('open-message').onsubmit = async (e) => {
  e.preventDefault();
  show($('words'), false);
  put('asks', '');
  const r = await long('Opening', async () => ask('unseal', {
    keys: await contents($('message-key')), bytes: await contents($('message-file'), 5 << 20) }));
  if (!r) return;
  put('words', cut(new TextDecoder().decode(r.words), 1 << 20), { lines: true });
  show($('words'), true);
  put('asks', r.asks ? 'Whoever sent this asks for an answer: apr-open --reply-to writes the key for it.' : '');
};

$('new-identity').onclick = async () => {
  const pair = await long('New keys', () => ask('identity'));
  if (!pair) return;
  const text = `# public key: ${pair.recipient}\n${pair.identity}\n`;
  download(new Blob([text], { type: 'text/plain' }), 'identity.key');
  put('new-recipient', pair.recipient);
};

export function forms({ model }) {
  saving(model);
  $('model-recipient').onclick = () => {
    $('recipient').value = model().recipient;
    put('whose', signer ? `The key that ${cut(model().name, 200)} publishes, signed by ${signer}.`
      : `The key that ${cut(model().name, 200)} publishes. Its signature was not verified.`);
  };
  return {
    fill({ recipient }) {
      signer = '';
      for (const id of ['report', 'signed', 'said']) show($(id), false);
      for (const id of ['speed', 'saved', 'whose']) put(id, '');
      for (const id of ['secret-file', 'secret-word', 'seal-word']) $(id).value = '';
      show($('model-recipient'), recipient !== null);
    },
  };
}
