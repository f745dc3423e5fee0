// Loads the engine from disk: `fetch` of Node.js reads no files.
import { readFile } from 'node:fs/promises';
import load from './snick.js';

await load({ module_or_path: await readFile(new URL('./snick_bg.wasm', import.meta.url)) });

export * from './snick.js';
