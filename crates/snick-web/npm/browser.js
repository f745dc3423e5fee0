// Loads the engine from the place of this file.
import load from './snick.js';

await load();

export * from './snick.js';
