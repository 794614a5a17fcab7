// page.mjs MODULE MODEL OUT BIN: tests of web/ in Chromium. MODULE is the folder of aprml.wasm, MODEL the
// shipped model, OUT a folder for pictures and saved files, BIN that of the tools. Prints "ok NAME" or "failed NAME: WHY" for
// each test, then figures as "# TEXT". BROWSER: the program (default: chromium).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync,
	writeSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser } from './browser.mjs';
import { gguf, parts } from './gguf.mjs';
import { serve, trap } from './server.mjs';

const [moduleFolder, model, out, bin] = process.argv.slice(2).map((a) => resolve(a));
const web = join(dirname(fileURLToPath(import.meta.url)), '../../web');
mkdirSync(out, { recursive: true });

const site = await serve([web, moduleFolder, out], { spoil: (headers) => {
	headers['Cache-Control'] = 'no-store'; // so that each module is asked for
	return null;
} });
const store = await serve([dirname(model), out], { cors: true }); // another origin
const plain = await serve([dirname(model)], { cors: true, ranges: false });
let spoil = () => null;
const unsteady = await serve([dirname(model), out], { cors: true, spoil: (headers, n) => {
	headers['Cache-Control'] = 'no-store'; // so that the browser does not answer
	return spoil(headers, n);
} });
const elsewhere = await trap();
const browser = new Browser(process.env.BROWSER ?? 'chromium', out);
setTimeout(() => {
	console.log('failed time: the tests did not end after 9 minutes');
	browser.process.kill('SIGKILL');
	process.exit(1);
}, 540_000).unref();

const page = await browser.page(elsewhere.port, [site.origin, store.origin, plain.origin, unsteady.origin]);
const home = `${site.origin}/index.html`;
const modules = () => site.asked.map((a) => /(\w+-?\w*)\.wasm$/.exec(a)?.[1]).filter(Boolean);
const fresh = async () => {
	site.asked.length = 0;
	await page.go(home);
	await page.wait('document.body.classList.contains("ready")');
};
const open = async (...files) => {
	await fresh();
	await page.choose('#files', ...files);
	await page.wait('!document.querySelector("#model").hidden');
};
const tab = (id) => page.click(`#tab-${id}`);
const shot = (name) => page.screenshot(join(out, `${name}.png`));
const made = (name) => join(out, name);
const tool = (name, ...args) => execFileSync(join(bin, name), args, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
const piped = (name, input, ...args) => execFileSync(join(bin, name), args, { input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] });
const error = () => page.wait('!document.querySelector("#error").hidden && document.querySelector("#error").innerText', 30);

// Signed, sealed and published models; an identity of age that nothing but a test has.
const RECIPIENT = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj';
writeFileSync(made('identity.txt'), 'AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n');
writeFileSync(made('other.txt'), execFileSync('age-keygen', { stdio: ['ignore', 'pipe', 'ignore'] }));
tool('apr-keygen', '-W', '-o', made('key'));
piped('apr-pack', tool('apr-sign', '--name', 'Tester', made('key'), model), '-t', 'gguf', '-o', made('signed.gguf'));
writeFileSync(made('sealed-natively.apr'), piped('apr-pack', tool('apr-encrypt', '-r', RECIPIENT, made('known.gguf'))));
writeFileSync(made('published.gguf'), gguf({ tensors: [], keys: tool('apr-open', '-i', made('identity.txt'), '--publish').toString()
	.trim().split('\n').map((line) => line.split('=str:')) }));

// What a saved file holds
// What a saved file holds, once the browser has moved it to its place.
async function saved(name) {
	const path = made(name), end = Date.now() + 20_000;
	while (!existsSync(path) || existsSync(`${path}.crdownload`)) {
		assert.ok(Date.now() < end, `${name} was not saved`);
		await new Promise((done) => setTimeout(done, 50));
	}
	return readFileSync(path);
}

// Without it, the browser downloads what is saved.
const noPicker = () => page.eval('delete globalThis.showSaveFilePicker; delete Window.prototype.showSaveFilePicker; "showSaveFilePicker" in globalThis');
const choices = (values) => page.eval(`for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value`);

const tests = {
	async 'header of a chosen file'() {
		await fresh();
		await shot('start');
		await page.choose('#files', model);
		await page.wait('!document.querySelector("#model").hidden');
		const text = await page.text('#facts');
		for (const part of ['2,295,552', 'llama', 'BF16 23, F32 7', '4.4 MiB']) assert.ok(text.includes(part), `${part} in ${text}`);
		assert.equal(await page.eval('document.activeElement.id'), 'name');
		await shot('header');
	},

	async 'a dropped file'() {
		await fresh();
		await page.drop('#drop', model);
		await page.wait('!document.querySelector("#model").hidden');
		assert.equal(await page.text('#name'), basename(model));
	},

	async 'a dropped folder'() {
		execFileSync('sh', ['-c', '"$0" hf "$1" | "$2" -t safetensors -o "$3/"', join(bin, 'apr-adapt'), model, join(bin, 'apr-pack'), made('folder')], { stdio: 'ignore' });
		await fresh();
		await page.drop('#drop', made('folder'));
		await page.wait('!document.querySelector("#model").hidden');
		assert.equal(await page.text('#name'), 'folder');
		assert.match(await page.text('#facts'), /2,295,552/);
		await tab('tensors');
		assert.match(await page.text('#window'), /model\.embed_tokens\.weight/);
	},

	async 'metadata and its search'() {
		await open(model);
		await tab('metadata');
		const all = await page.eval('document.querySelectorAll("#keys tr").length');
		await page.fill('#find-key', 'block_count');
		assert.equal(await page.eval('document.querySelectorAll("#keys tr").length'), 1);
		assert.match(await page.text('#keys'), /llama\.block_count\s+u32\s+3/);
		await page.key('Escape');
		assert.equal(await page.eval('document.querySelectorAll("#keys tr").length'), all);
		await shot('metadata');
	},

	async 'thousands of tensors scroll'() {
		await open(made('many.gguf'));
		await tab('tensors');
		assert.equal(await page.text('#tensors-shown'), '5,000 of 5,000 tensors');
		assert.ok(await page.eval('document.querySelectorAll("#window [role=row]").length') < 100);
		const slow = await page.eval(`(async () => {
			const box = document.querySelector('#rows');
			let slowest = 0;
			for (let i = 0; i <= 40; i++) {
				const began = performance.now();
				box.scrollTop = i * box.scrollHeight / 40;
				await new Promise((done) => { box.onscroll(); done(); });
				slowest = Math.max(slowest, performance.now() - began);
			}
			return slowest;
		})()`);
		console.log(`# slowest of 41 scrolls over 5000 rows: ${slow.toFixed(1)} ms`);
		assert.match(await page.text('#window'), /t4999/);
		await page.fill('#find-tensor', 't123');
		assert.equal(await page.text('#tensors-shown'), '11 of 5,000 tensors');
	},

	async 'histogram of a tensor, by keys alone'() {
		await open(model);
		await page.key('Tab'); // from the name: Close, the tabs
		await page.key('Tab');
		await page.key('ArrowRight');
		await page.key('ArrowRight');
		assert.equal(await page.eval('document.activeElement.id'), 'tab-tensors');
		await page.key('Tab');
		await page.key('Tab');
		assert.equal(await page.eval('document.activeElement.id'), 'rows');
		await page.key('ArrowDown');
		await page.key('Enter');
		await page.wait('!document.querySelector("#histogram").hidden');
		const name = await page.text('#tensor-name');
		assert.equal(name, await page.text('#row-1 span'));
		assert.ok(await page.eval('document.querySelectorAll("#bars rect").length') > 20);
		await shot('histogram');
		await page.key('Escape');
		await page.wait('document.activeElement.id === "rows"');
	},

	async 'the values of a known tensor'() {
		await open(made('known.gguf'));
		await tab('tensors');
		await page.click('#row-0');
		await page.wait('!document.querySelector("#histogram").hidden');
		assert.match(await page.text('#numbers'), /Minimum\s+-1\s+Maximum\s+3\s+Mean\s+1\s+Standard deviation\s+1\.581\s+Zeros\s+1\s+NaN or infinite\s+0/);
	},

	async 'the values of a compressed tensor'() {
		const seen = [];
		for (const name of ['ramp.gguf', 'ramp.apr']) {
			await open(made(name));
			await tab('tensors');
			await page.click('#row-0');
			await page.wait('!document.querySelector("#histogram").hidden');
			seen.push(await page.text('#numbers'));
		}
		assert.match(seen[0], /Minimum/);
		assert.equal(seen[1], seen[0]);
	},

	async 'a file above 4 GiB is read by ranges'() {
		const path = made('large.gguf'), values = 3 * 2 ** 30;
		const { head, data } = parts({ keys: [['general.architecture', 'llama']],
			tensors: [['a', [values], []], ['z', [4], [-1, 0, 2, 3], 4 * values]] });
		writeFileSync(path, head);
		truncateSync(path, head.length + 4 * values + data.length);
		const fd = openSync(path, 'r+');
		writeSync(fd, data, 0, data.length, head.length + 4 * values);
		closeSync(fd);
		await open(path);
		assert.match(await page.text('#facts'), /12\.0 GiB/);
		await tab('tensors');
		await page.click('#row-1');
		await page.wait('!document.querySelector("#histogram").hidden');
		assert.match(await page.text('#numbers'), /Minimum\s+-1\s+Maximum\s+3/);
		await page.click('#row-0');
		await page.wait('document.querySelector("#tensor-name").innerText === "a"');
		assert.match(await page.text('#bars-text'), /^A sample: 4,194,304 of 3,221,225,472/);
		await tab('run');
		await page.fill('#prompt', 'x');
		await page.click('#ask-go');
		assert.match(await error(), /12\.0 GiB/);
		rmSync(path);
	},

	async 'an error is the message of the library'() {
		await fresh();
		await page.choose('#files', made('cut.gguf'));
		await page.wait('!document.querySelector("#error").hidden');
		assert.match(await page.text('#error'), /\(E0\d\d\)$/);
		assert.equal(await page.eval('document.querySelector("#error").getAttribute("role")'), 'alert');
		assert.deepEqual(modules(), ['aprml-look']);
		await shot('error');
	},

	async 'an address is read by ranges and kept'() {
		const url = `${store.origin}/big.gguf`;
		const view = async () => {
			await page.go(`${home}#${encodeURIComponent(url)}`);
			await page.wait('!document.querySelector("#model").hidden');
			assert.match(await page.text('#facts'), /From\s+http/);
		};
		store.asked.length = 0;
		await view();
		const read = store.asked.filter((a) => a.startsWith('GET'));
		assert.ok(read.length > 0 && read.every((a) => /bytes=\d+-\d+$/.test(a)), read.join('\n'));
		assert.ok(read.length < 5, `${read.length} MiB of 100 were read`);
		store.asked.length = 0;
		await view();
		assert.deepEqual(store.asked, ['GET /big.gguf bytes=0-0']);
		await fresh();
		assert.match(await page.eval('document.querySelector("#forget").textContent'), /MiB/);
		await page.click('#forget');
		await page.wait('document.querySelector("#forget").hidden');
	},

	async 'the form opens an address'() {
		await fresh();
		await page.fill('#address', `${store.origin}/${basename(model)}`);
		await page.key('Enter');
		await page.wait('!document.querySelector("#model")?.hidden && document.querySelector("#name").innerText');
		assert.match(await page.text('#facts'), /2,295,552/);
	},

	async 'a server without ranges'() {
		await page.go(`${home}#${encodeURIComponent(`${plain.origin}/${basename(model)}`)}`);
		assert.match(await page.wait('document.querySelector("#error").innerText'), /ranges?/);
	},

	async 'a model is checked'() {
		const { score } = JSON.parse(tool('apr-check', '--json', made('known.gguf')).toString().trim().split('\n').at(-1));
		await open(made('known.gguf'));
		await tab('check');
		await page.click('#check-go');
		await page.wait('!document.querySelector("#report").hidden', 60);
		assert.equal(await page.text('#score'), `${score} of 100`);
		assert.match(await page.text('#findings'), /MODEL-MISSING/);
		assert.deepEqual(modules(), ['aprml-look', 'aprml-core']);
		await shot('check');
	},

	async 'a signature holds, and a changed byte breaks it'() {
		const key = readFileSync(made('key.pub'), 'utf8');
		await open(made('signed.gguf'));
		await tab('signature');
		await page.choose('#public-file', made('key.pub'));
		await page.wait(`document.querySelector('#public-key').value === ${JSON.stringify(key)}`);
		await page.click('#verify .main');
		await page.wait('!document.querySelector("#signed").hidden', 60);
		for (const part of [/key ([0-9A-F]{16})/.exec(key)[1], 'Tester']) assert.ok((await page.text('#signer')).includes(part), part);
		await shot('signature');
		const bytes = readFileSync(made('signed.gguf'));
		bytes[bytes.length - 1000] ^= 1;
		writeFileSync(made('changed.gguf'), bytes);
		await open(made('changed.gguf'));
		await tab('signature');
		await page.fill('#public-key', key);
		await page.click('#verify .main');
		assert.match(await error(), /E006/);
		assert.ok(await page.eval('document.querySelector("#signed").hidden'));
	},

	async '100 MB are quantized and downloaded'() {
		await page.downloads(out);
		await open(made('big.gguf'));
		assert.equal(await noPicker(), false);
		await tab('save');
		await choices({ type: 'q4_0', container: 'gguf' });
		await shot('save');
		await page.click('#make .main');
		const text = await page.wait('document.querySelector("#saved").innerText', 120);
		console.log(`# ${statSync(made('big.gguf')).size} bytes F16: ${text}`);
		const bytes = await saved('big-Q4_0.gguf');
		assert.ok(bytes.equals(piped('apr-pack', tool('apr-quant', 'q4_0', made('big.gguf')), '-t', 'gguf')), 'the bytes of apr-quant');
	},

	async 'signed, sealed, and saved where the user chose'() {
		await open(model);
		// The dialog of the browser cannot be driven; its answer is a file of the private file system.
		await page.eval(`globalThis.showSaveFilePicker = async ({ suggestedName }) =>
			(await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`);
		await tab('save');
		await choices({ type: 'q8_0', container: 'apr2', recipients: RECIPIENT });
		await page.choose('#secret-file', made('key'));
		await page.click('#make .main');
		const text = await page.wait('document.querySelector("#saved").innerText', 60);
		const name = text.split(':')[0];
		assert.equal(name, 'shakespeare-Q8_0.apr');
		const base64 = await page.eval(`navigator.storage.getDirectory().then((d) => d.getFileHandle('${name}'))
			.then((h) => h.getFile()).then((f) => new Promise((done) => {
				const r = new FileReader();
				r.onload = () => done(r.result.split(',')[1]);
				r.readAsDataURL(f);
			}))`);
		writeFileSync(made('sealed.apr'), Buffer.from(base64, 'base64'));
		const plain = tool('apr-decrypt', '-i', made('identity.txt'), made('sealed.apr'));
		piped('apr-verify', plain, made('key.pub'));
		assert.ok(piped('apr-sum', plain).toString().includes('tensor'));
	},

	async 'a sealed model opens with its key'() {
		await open(made('sealed-natively.apr'));
		assert.match(await page.text('#facts'), /Sealed\s+yes/);
		await tab('tensors');
		await page.click('#row-0');
		assert.match(await error(), /seal|E005/);
		await shot('sealed');
		await page.choose('#identity-file', made('other.txt'));
		await page.click('#unlock');
		await page.wait('/E005|no key|opens/.test(document.querySelector("#error").innerText) && !/a\\.weight/.test(document.querySelector("#error").innerText)', 30);
		await page.choose('#identity-file', made('identity.txt'));
		await page.click('#unlock');
		await page.wait('document.querySelector("#sealed").hidden && document.querySelector("#busy").hidden', 30);
		await tab('tensors');
		await page.click('#row-0');
		await page.wait('!document.querySelector("#histogram").hidden');
		assert.match(await page.text('#numbers'), /Maximum\s+3/);
	},

	async 'messages are sealed and opened'() {
		await page.downloads(out);
		await open(made('published.gguf'));
		await page.click('#messages summary');
		await page.click('#model-recipient');
		assert.match(await page.text('#whose'), /not verified/);
		await page.fill('#message', 'Is it “safe”? 🙂');
		await page.click('#seal-message .main');
		await saved('message.sealed');
		assert.equal(tool('apr-open', '-i', made('identity.txt'), made('message.sealed')).toString(), 'Is it “safe”? 🙂');
		writeFileSync(made('natively.sealed'), piped('apr-seal', 'It is.\n\u202eevil', '-r', await page.eval('document.querySelector("#recipient").value')));
		await page.choose('#message-file', made('natively.sealed'));
		await page.choose('#message-key', made('identity.txt'));
		await page.click('#open-message .main');
		await page.wait('!document.querySelector("#words").hidden');
		assert.equal(await page.text('#words'), 'It is.\n‹U+202E›evil');
		await shot('messages');
		await page.click('#new-identity');
		const text = (await saved('identity.key')).toString(), to = await page.text('#new-recipient');
		assert.ok(text.includes(to));
		writeFileSync(made('for-new.sealed'), piped('apr-seal', 'yes', '-r', to));
		assert.equal(tool('apr-open', '-i', made('identity.key'), made('for-new.sealed')).toString(), 'yes');
	},

	async 'the shipped model speaks, and stops'() {
		await open(model);
		await tab('run');
		await page.fill('#prompt', 'ROMEO:');
		await page.fill('#tokens', '40');
		await page.click('#ask-go');
		await page.wait('document.querySelector("#speed").innerText', 120);
		assert.equal(await page.text('#said-prompt'), 'ROMEO:');
		const text = await page.eval('document.querySelector("#said-text").textContent');
		assert.equal(text, tool('apr-run', '-p', 'ROMEO:', '-n', '40', model).toString().replace(/\n$/, ''));
		console.log(`# the shipped model: ${await page.text('#speed')}`);
		assert.deepEqual(modules(), ['aprml-look', 'aprml-run']);
		await shot('run');
		await page.fill('#tokens', '2000');
		await page.key('Enter', 2); // with Ctrl; the field of the number has the focus
		await page.wait('document.querySelector("#said-text").textContent.length > 20', 60);
		await page.key('Escape');
		assert.match(await page.wait('document.querySelector("#speed").innerText', 60), /stopped/);
	},

	async 'long work can be stopped'() {
		await open(made('big.gguf'));
		await tab('check');
		await page.click('#check-go');
		await page.wait('!document.querySelector("#busy").hidden');
		await page.click('#cancel');
		assert.equal(await error(), 'stopped');
		await tab('tensors');
		await page.click('#row-0');
		await page.wait('!document.querySelector("#histogram").hidden', 30);
	},

	async 'hostile names and texts stay text'() {
		const html = '<img src=x onerror="globalThis.evil=1">';
		writeFileSync(made(`evil.gguf`), gguf({
			keys: [['general.architecture', 'llama'], ['general.name', `${html}\u202egpj\u0007`], [`${html}.k`, 'a\u2066b\u200bc'],
				['long', html.repeat(20000)], ['list', Array(3).fill(html)]],
			tensors: [[`${html}<script>evil=1</script>\u202e`, [4], [1, NaN, -Infinity, 2]], ['n'.repeat(60), [4], [NaN, NaN, NaN, NaN]]] }));
		await open(made('evil.gguf'));
		assert.match(await page.text('#facts'), /<img src=x onerror="globalThis\.evil=1">‹U\+202E›gpj‹U\+0007›/);
		await tab('metadata');
		assert.match(await page.text('#keys'), /a‹U\+2066›b‹U\+200B›c/);
		await page.click('#keys summary');
		assert.ok((await page.text('#keys')).length < 20000);
		await shot('hostile');
		await tab('tensors');
		await page.click('#row-0');
		await page.wait('!document.querySelector("#histogram").hidden');
		assert.match(await page.text('#tensor-name'), /<script>evil=1<\/script>‹U\+202E›/);
		assert.match(await page.text('#numbers'), /Minimum\s+1\s+Maximum\s+2\s+Mean\s+1\.5[^]*NaN or infinite\s+2/);
		await page.click('#row-1');
		await page.wait('document.querySelector("#tensor-name").innerText.startsWith("nnn")');
		assert.match(await page.text('#numbers'), /Minimum\s+–[^]*NaN or infinite\s+4/);
		assert.equal(await page.eval('[globalThis.evil, document.querySelectorAll("main img, main script").length].join()'), ',0');
		// Even code of the page could not turn text into elements.
		assert.match(await page.eval('try { document.body.innerHTML = "<b>x</b>"; "set" } catch (e) { e.name }'), /TypeError/);
	},

	async 'long tables show their beginning'() {
		const n = 50_000;
		writeFileSync(made('rows.gguf'), gguf({ keys: [['general.architecture', 'llama'], ...Array.from({ length: 5000 }, (_, i) => [`k${i}`, `${i}`])],
			tensors: Array.from({ length: n }, (_, i) => [`t${i}`, [1], [i]]) }));
		const began = Date.now();
		await open(made('rows.gguf'));
		console.log(`# ${n} tensors and 5000 keys: opened in ${Date.now() - began} ms`);
		await tab('metadata');
		assert.equal(await page.text('#keys-shown'), '500 of 5,001 keys');
		await tab('tensors');
		assert.equal(await page.text('#tensors-shown'), '50,000 of 50,000 tensors');
		await page.fill('#find-tensor', 't49999');
		assert.equal(await page.text('#tensors-shown'), '1 of 50,000 tensors');
	},

	async 'a server that is not steady'() {
		const url = `${home}#${encodeURIComponent(`${unsteady.origin}/${basename(model)}`)}`;
		const first = unsteady.asked.length;
		for (const [name, change, message] of [
			['another date', (h, n) => { if (n > first + 1) h['Last-Modified'] = 'Tue, 02 Jan 2024 00:00:00 GMT'; }, /has changed/],
			['another size', (h) => { if (!/bytes 0-0/.test(h['Content-Range'])) h['Content-Range'] = h['Content-Range'].replace(/\d+$/, '9999999'); }, /has changed/],
			['other bytes', (h) => { h['Content-Range'] = h['Content-Range'].replace(/bytes \d+/, 'bytes 1'); }, /other bytes/],
			['too few bytes', (h) => (/bytes 0-0/.test(h['Content-Range']) ? null : { bytes: Buffer.from('GGUF') }), /other bytes/],
			['no ranges any more', (h) => (/bytes 0-0/.test(h['Content-Range']) ? null : { status: 200 }), /not with a range/],
			['gone', (h) => (/bytes 0-0/.test(h['Content-Range']) ? null : { status: 404 }), /answers 404/]]) {
			spoil = change;
			await page.go(url);
			const said = await error();
			assert.match(said, message, `${name}: ${said}`);
			spoil = () => null;
		}
	},

	async 'nothing goes elsewhere'() {
		await open(model);
		const get = '(url) => fetch(url, { mode: "no-cors" }).then((r) => r.type, (e) => e.name)';
		assert.equal(await page.eval(`(${get})('${store.origin}/')`), 'TypeError', 'another origin, from the page');
		const worker = browser.worker();
		assert.ok(worker, 'no worker');
		assert.equal(await page.eval(`(${get})('${store.origin}/')`, worker), 'TypeError', 'another origin, from the worker');
		assert.equal(await page.eval(`(${get})('${site.origin}/index.html')`, worker), 'basic');
		assert.deepEqual(elsewhere.asked, []);
		// The trap catches what a page without a policy asks for.
		await page.leave();
		await page.eval(`(${get})('http://elsewhere.example/')`);
		assert.deepEqual(elsewhere.asked, ['http://elsewhere.example/']);
		elsewhere.asked.length = 0;
	},

	async 'on a phone and in the dark'() {
		await page.size(360, 740, true);
		await page.scheme('dark');
		await open(model);
		const dark = await page.eval('getComputedStyle(document.body).backgroundColor');
		for (const id of ['summary', 'metadata', 'tensors', 'check', 'signature', 'save', 'run']) {
			await tab(id);
			assert.ok(await page.eval('document.documentElement.scrollWidth <= innerWidth'), `${id} is wider than a phone`);
			await shot(`phone-${id}`);
		}
		await page.scheme('light');
		assert.notEqual(await page.eval('getComputedStyle(document.body).backgroundColor'), dark);
		await page.size(1100, 800);
	},

	async 'every control has a name'() {
		await open(model);
		const bare = await page.eval(`[...document.querySelectorAll('button, input, select, textarea, [role=grid], progress')]
			.filter((e) => !(e.innerText.trim() || e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label')))
			.map((e) => e.outerHTML)`);
		assert.deepEqual(bare, []);
	},
};

const only = process.env.TEST ?? '';
let failed = 0;
for (const [name, run] of Object.entries(tests)) {
	if (!name.includes(only)) continue;
	const began = Date.now();
	browser.logged.length = 0;
	try {
		await run();
		const wrong = browser.logged.filter((l) => l.startsWith('exception'));
		assert.deepEqual(wrong, []);
		console.log(`ok ${name}`);
	} catch (e) {
		failed++;
		console.log(`failed ${name}: ${e.message.split('\n').join('\n\t')}`);
		for (const l of browser.logged.filter((l) => /^(console|exception)/.test(l))) console.log(`\t${l}`);
		await page.screenshot(join(out, 'failed.png')).catch(() => {});
	}
	if (process.env.TIMES) console.log(`# ${name}: ${Date.now() - began} ms`);
}
await browser.close();
for (const server of [site, store, plain, unsteady, elsewhere]) server.close();
process.exit(failed > 0 ? 1 : 0);
