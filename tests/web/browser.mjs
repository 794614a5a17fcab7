// browser.mjs: drives Chromium by the DevTools protocol over a pipe: messages of JSON, each ended by
// NUL, to descriptor 3 and from descriptor 4 of the browser.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEYS = { Enter: 13, Escape: 27, Tab: 9, ArrowDown: 40, ArrowUp: 38, ArrowRight: 39, ArrowLeft: 37, End: 35,
	Home: 36, ' ': 32 };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Browser {
	#next = 1;
	#waiting = new Map();
	#rest = Buffer.alloc(0);
	sessions = new Map(); // of pages and workers: id → {type, url}
	logged = [];

	// Uses the folder for the profile. What the browser itself asks of the network goes to a port that
	// nobody serves.
	constructor(program, folder) {
		this.process = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--mute-audio', '--disable-dev-shm-usage',
			'--remote-debugging-pipe', `--user-data-dir=${join(folder, 'profile')}`, '--no-first-run',
			'--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
			'--disable-default-apps', '--disable-client-side-phishing-detection', '--metrics-recording-only',
			'--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,DialMediaRouteProvider',
			'--force-color-profile=srgb', '--proxy-server=http://127.0.0.1:9', 'about:blank'],
			{ stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } });
		this.ended = new Promise((done) => this.process.on('exit', done));
		this.process.stderr.on('data', (text) => this.logged.push(String(text)));
		this.process.stdio[3].on('error', () => {});
		this.process.stdio[4].on('data', (bytes) => this.#receive(bytes));
	}

	#receive(bytes) {
		this.#rest = Buffer.concat([this.#rest, bytes]);
		for (let end; (end = this.#rest.indexOf(0)) >= 0;) {
			const message = JSON.parse(this.#rest.subarray(0, end));
			this.#rest = this.#rest.subarray(end + 1);
			if (message.id) {
				const { done, failed } = this.#waiting.get(message.id);
				this.#waiting.delete(message.id);
				if (message.error) failed(new Error(message.error.message));
				else done(message.result);
			} else {
				this.#event(message);
			}
		}
	}

	#event({ method, params }) {
		if (method === 'Target.attachedToTarget') {
			const { targetInfo, sessionId: id } = params;
			this.sessions.set(id, targetInfo);
			this.send('Runtime.enable', {}, id).catch(() => {});
			this.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true }, id)
				.catch(() => {});
		} else if (method === 'Target.detachedFromTarget') {
			this.sessions.delete(params.sessionId);
		} else if (method === 'Runtime.consoleAPICalled') {
			this.logged.push(`console: ${params.args.map((a) => a.value ?? a.description).join(' ')}`);
		} else if (method === 'Runtime.exceptionThrown') {
			this.logged.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
		}
	}

	send(method, params = {}, sessionId = undefined) {
		const id = this.#next++;
		return new Promise((done, failed) => {
			this.#waiting.set(id, { done, failed });
			this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		});
	}

	// A page of its own profile. All that it and its workers ask for goes to the proxy at this port,
	// except these origins.
	async page(proxy, origins) {
		const { browserContextId } = await this.send('Target.createBrowserContext', {
			proxyServer: `http://127.0.0.1:${proxy}`,
			proxyBypassList: ['<-loopback>', ...origins.map((o) => o.replace('http://', ''))].join(';') });
		const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
		const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
		const page = new Page(this, sessionId, browserContextId);
		for (const domain of ['Page', 'DOM', 'Runtime']) await page.send(`${domain}.enable`);
		await page.size(1100, 800);
		return page;
	}

	worker() {
		const all = [...this.sessions].filter(([, t]) => t.type === 'worker');
		return all.at(-1)?.[0];
	}

	async close() {
		await Promise.race([this.send('Browser.close').catch(() => {}), pause(2000)]);
		await Promise.race([this.ended, pause(3000)]);
		this.process.kill('SIGKILL');
	}
}

class Page {
	constructor(browser, session, context) {
		Object.assign(this, { browser, session, context });
	}

	send(method, params) {
		return this.browser.send(method, params, this.session);
	}

	// Opens an address. A change of the fragment alone does not load, so the page is left first.
	async go(url) {
		await this.leave();
		const { errorText } = await this.send('Page.navigate', { url });
		if (errorText) throw new Error(`${url}: ${errorText}`);
		await this.wait('document.readyState === "complete" && location.href !== "about:blank"');
	}

	async leave() {
		await this.send('Page.navigate', { url: 'about:blank' });
		await this.wait('location.href === "about:blank"');
	}

	// The value of an expression, which may be a promise.
	async eval(expression, session = this.session) {
		const { result, exceptionDetails } = await this.browser.send('Runtime.evaluate',
			{ expression, awaitPromise: true, returnByValue: true, userGesture: true }, session);
		if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
		return result.value;
	}

	// Waits until an expression is true, and returns its value.
	async wait(expression, seconds = 40) {
		const end = Date.now() + 1000 * seconds;
		for (;;) {
			const value = await this.eval(expression).catch(() => undefined);
			if (value) return value;
			if (Date.now() > end) {
				const shown = await this.eval('document.body?.innerText ?? ""').catch(() => '');
				throw new Error(`not after ${seconds} s: ${expression}\nthe page shows:\n${shown.slice(0, 2000)}`);
			}
			await pause(30);
		}
	}

	text(selector) {
		return this.eval(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`);
	}

	async click(selector) {
		const box = await this.wait(`(() => {
			const e = document.querySelector(${JSON.stringify(selector)});
			if (!e || e.disabled) return null;
			e.scrollIntoView({ block: 'nearest' });
			const r = e.getBoundingClientRect();
			return r.width && { x: r.x + r.width / 2, y: r.y + r.height / 2 };
		})()`);
		for (const type of ['mousePressed', 'mouseReleased'])
			await this.send('Input.dispatchMouseEvent', { type, ...box, button: 'left', clickCount: 1 });
	}

	async key(key, modifiers = 0) {
		const code = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: KEYS[key], modifiers };
		const text = key === 'Enter' ? '\r' : key === ' ' ? ' ' : undefined;
		await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...code });
		await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...code });
	}

	// Replaces what a field holds, as a user does.
	async fill(selector, text) {
		await this.eval(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.focus(); e.select(); })()`);
		if (text) await this.send('Input.insertText', { text });
		else await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key: 'Delete', windowsVirtualKeyCode: 46 });
	}

	async choose(selector, ...files) {
		const { root } = await this.send('DOM.getDocument');
		const { nodeId } = await this.send('DOM.querySelector', { nodeId: root.nodeId, selector });
		await this.send('DOM.setFileInputFiles', { nodeId, files });
	}

	// Drops files from outside on an element.
	async drop(selector, ...files) {
		const { x, y } = await this.eval(`(() => {
			const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
			return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`);
		const data = { items: [], files, dragOperationsMask: 1 };
		for (const type of ['dragEnter', 'dragOver', 'drop'])
			await this.send('Input.dispatchDragEvent', { type, x, y, data });
	}

	size(width, height, mobile = false) {
		return this.send('Emulation.setDeviceMetricsOverride', { width, height, mobile, deviceScaleFactor: mobile ? 2 : 1 });
	}

	scheme(value) {
		return this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
	}

	async screenshot(file) {
		const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
		writeFileSync(file, Buffer.from(data, 'base64'));
	}

	// Saved files go to this folder.
	downloads(folder) {
		return this.browser.send('Browser.setDownloadBehavior', { behavior: 'allow', browserContextId: this.context, downloadPath: folder });
	}
}
