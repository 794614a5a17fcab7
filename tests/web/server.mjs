// server.mjs: static servers for the tests of the page, with range requests, and a proxy that nothing
// may reach.
import { createServer } from 'node:http';
import { createReadStream, statSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm',
	'.svg': 'image/svg+xml' };

function listen(server) {
	return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
}

// Serves the first of the folders that has the file. Returns {port, asked, close}; asked lists the
// requests as "GET /path bytes=0-9". cors: other origins may read; ranges false: none are given.
// spoil(headers, n) changes the headers of answer n, and may return other bytes or another status.
export async function serve(folders, { cors = false, ranges = true, spoil = () => null } = {}) {
	const asked = [];
	const server = createServer((request, answer) => {
		const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
		const range = /^bytes=(\d+)-(\d*)$/.exec(ranges ? request.headers.range ?? '' : '');
		const file = folders.map((f) => join(f, path.endsWith('/') ? `${path}index.html` : path))
			.find((f) => statSync(f, { throwIfNoEntry: false })?.isFile());
		const headers = { 'Content-Type': TYPES[extname(file ?? '')] ?? 'application/octet-stream',
			'Last-Modified': 'Mon, 01 Jan 2024 00:00:00 GMT' };
		if (cors) Object.assign(headers, { 'Access-Control-Allow-Origin': '*',
			'Access-Control-Expose-Headers': 'Content-Range, Content-Length' });
		asked.push([request.method, path, request.headers.range].filter(Boolean).join(' '));
		if (!file) {
			answer.writeHead(404, headers).end();
			return;
		}
		const size = statSync(file).size;
		const first = range ? Number(range[1]) : 0;
		const last = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
		if (range && first >= size) {
			answer.writeHead(416, { ...headers, 'Content-Range': `bytes */${size}` }).end();
			return;
		}
		headers['Content-Length'] = last - first + 1;
		if (ranges) headers['Accept-Ranges'] = 'bytes';
		if (range) headers['Content-Range'] = `bytes ${first}-${last}/${size}`;
		const other = spoil(headers, asked.length);
		if (other?.bytes) headers['Content-Length'] = other.bytes.length;
		answer.writeHead(other?.status ?? (range ? 206 : 200), headers);
		if (other?.bytes) answer.end(other.bytes);
		else if (request.method === 'HEAD' || size === 0) answer.end();
		else createReadStream(file, { start: first, end: last }).pipe(answer);
	});
	const port = await listen(server);
	return { port, asked, origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

// A proxy that answers 502 and lists what was asked of it.
export async function trap() {
	const asked = [];
	const server = createServer((request, answer) => {
		asked.push(request.url);
		answer.writeHead(502).end();
	});
	server.on('connect', (request, socket) => {
		asked.push(request.url);
		socket.end('HTTP/1.1 502 no\r\n\r\n');
	});
	return { port: await listen(server), asked, close: () => server.close() };
}
