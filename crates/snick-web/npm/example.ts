// Prints the shape of every layer of a model: `node example.js model.xml model.bin`.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Files, Session } from 'snick-web';

const paths = process.argv.slice(2);
const contents = await Promise.all(paths.map((path) => readFile(path)));
const files = new Files(contents.reduce((sum, content) => sum + content.length, 0));
paths.forEach((path, at) => files.add(basename(path), contents[at]!));

const session = new Session(files);
interface Output { element_type: string; shape: string; symbolic?: string }
interface Layer { name: string; outputs: Output[] }
const { nodes }: { nodes: Layer[] } = JSON.parse(session.infer_json());
for (const { name, outputs } of nodes) {
  const shapes = outputs.map(({ element_type, shape, symbolic }) => element_type + (symbolic ?? shape));
  console.log(`${name}: ${shapes.join(", ")}`);
}
