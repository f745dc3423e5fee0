// Snick in a thread of its own. Answers a message `{ method, args }` with `{ result }` or `{ problem }`, where a problem
// has a message, a remedy, and whether the worker cannot continue.

import init, { Files, Session } from "./snick.js";

const loaded = init({ module_or_path: new URL("./snick_bg.wasm", import.meta.url) }).catch(({ message }) => {
  throw { message: `the page cannot start: ${message}`, help: "Load the page again, in a current browser.", isFatal: true };
});

/** What the page shows, once a model is open. */
let session = null;

const methods = {
  /** Opens the models among files, `[{ name, file }]`. Returns the data for the viewer. */
  async open(files) {
    const opened = new Session(await read(files));
    session?.free();
    session = opened;
    return session.data();
  },
  async compare(files) {
    session.compare(await read(files));
    return session.data();
  },
  reshape(spec) {
    session.reshape(spec);
    return session.data();
  },
  show(isCanonical) {
    session.show(isCanonical);
    return session.data();
  },
  rewrites: () => session.rewrites(),
  why: (target) => session.why(target),
  run: () => session.run(),
  infer_json: () => session.infer_json(),
  canon_json: () => session.canon_json(),
  /** Files to save, `[{ name, bytes }]`. */
  save(extension) {
    const files = session.save(extension);
    const saved = Array.from({ length: files.length }, (_, at) => ({ name: files.name(at), bytes: files.take(at) }));
    files.free();
    return saved;
  },
};

async function read(given) {
  const files = new Files(given.reduce((total, { file }) => total + file.size, 0));
  for (const { name, file } of given) {
    let bytes;
    try {
      bytes = new Uint8Array(await file.arrayBuffer());
    } catch (error) {
      throw { message: `cannot read ${name}: ${error.message}`, help: "Choose the file again; it may have changed or gone." };
    }
    files.add(name, bytes);
  }
  return files;
}

function problemOf(error) {
  if (typeof error.help === "string") return { message: error.message, help: error.help, isFatal: error.isFatal === true };
  return {
    message: `snick stopped: ${error.message ?? error}`,
    help: "The model may need more memory than a browser gives a page: the command line can use all. If it is small, this is a defect of snick; please report it with the model.",
    isFatal: true,
  };
}

onmessage = async ({ data: { method, args } }) => {
  try {
    await loaded;
    postMessage({ result: await methods[method](...args) });
  } catch (error) {
    postMessage({ problem: problemOf(error) });
  }
};
