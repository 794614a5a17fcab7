// Has ONNX Runtime predict each row of the models of this folder (make.py), one at a time. Not needed for make check.
//
//     python3 make.py MODELS && cd WHERE_ONNXRUNTIME_NODE_IS && node record.mjs FOLDER MODELS
import { createRequire } from "module";
import fs from "fs";
const ort = createRequire(process.cwd() + "/")("onnxruntime-node");

const [folder, models] = process.argv.slice(2);
const number = (v) => (/^nan$/i.test(v) ? NaN : Number(v));
const make = {
	FLOAT: (v, d) => new ort.Tensor("float32", Float32Array.from(v, number), d),
	DOUBLE: (v, d) => new ort.Tensor("float64", Float64Array.from(v, number), d),
	INT64: (v, d) => new ort.Tensor("int64", BigInt64Array.from(v, (x) => BigInt(x)), d),
	STRING: (v, d) => new ort.Tensor("string", v, d),
};
const widths = JSON.parse(fs.readFileSync(models + "/inputs.json"));

for (const [name, inputs] of Object.entries(widths)) {
	const session = await ort.InferenceSession.create(`${models}/${name}.onnx`, { logSeverityLevel: 3 });
	const text = fs.existsSync(`${folder}/${name}.txt`);
	let rows = fs.readFileSync(`${folder}/${name}.${text ? "txt" : "csv"}`, "utf8").split("\n").slice(0, -1);
	if (!text && inputs.length > 1)
		rows = rows.slice(1);
	let out = "";
	for (const row of rows) {
		const values = text ? [row] : row.split(",");
		const feeds = {};
		let at = 0;
		for (const [n, type, rank, width] of inputs) {
			feeds[n] = make[type](values.slice(at, at + width), rank == 1 ? [width] : [1, width]);
			at += width;
		}
		const answer = await session.run(feeds);
		const list = [];
		for (const o of session.outputNames)
			for (const v of answer[o].data)
				list.push(String(v));
		out += list.join(",") + "\n";
	}
	fs.writeFileSync(`${folder}/${name}.out`, out);
}
