// gguf.mjs: GGUF files for tests, also such as no program would write: gguf({keys, tensors}), or, of the
// same, parts(…): {head, data}.
//
// keys: [NAME, VALUE], a string, or an array of strings. tensors: [NAME, DIMS, VALUES, PLACE], in F32;
// without PLACE, each is behind the last.

const STRING = 8, ARRAY = 9, F32 = 0, ALIGN = 32;

function u32(n) {
	const b = Buffer.alloc(4);
	b.writeUInt32LE(n);
	return b;
}

function u64(n) {
	const b = Buffer.alloc(8);
	b.writeBigUInt64LE(BigInt(n));
	return b;
}

function string(text) {
	const b = Buffer.from(text);
	return Buffer.concat([u64(b.length), b]);
}

function value(v) {
	return Array.isArray(v) ? [u32(ARRAY), u32(STRING), u64(v.length), ...v.map(string)] : [u32(STRING), string(v)];
}

export function parts({ keys, tensors }) {
	const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(keys.length)], data = [];
	let at = 0;
	for (const [name, v] of keys) head.push(string(name), ...value(v));
	for (const [name, dims, values, place = at] of tensors) {
		const bytes = Buffer.alloc(Math.ceil(4 * values.length / ALIGN) * ALIGN);
		values.forEach((x, i) => bytes.writeFloatLE(x, 4 * i));
		head.push(string(name), u32(dims.length), ...dims.map(u64), u32(F32), u64(place));
		data.push(bytes);
		at += bytes.length;
	}
	const front = Buffer.concat(head);
	return { head: Buffer.concat([front, Buffer.alloc((ALIGN - front.length % ALIGN) % ALIGN)]), data: Buffer.concat(data) };
}

export function gguf(model) {
	const { head, data } = parts(model);
	return Buffer.concat([head, data]);
}
