// Snick in a thread of its own. Answers a message `{ method, args }` with `{ result }` or `{ problem }`, where a problem
// has a message, a remedy, and whether the worker cannot continue. Sends `{ progress }` while it reads files.

import init, { Files, GivenInputs, Session } from "./snick.js";

const loaded = init({ module_or_path: new URL("./snick_bg.wasm", import.meta.url) }).catch(({ message }) => {
  throw { message: `the page cannot start: ${message}`, help: "Load the page again, in a current browser.", isFatal: true };
});

/** Files are read in parts of at most this many bytes, so that only snick holds a whole file in memory. */
const PART = 8 * 2 ** 20;

/** What the page shows, once a model is open. */
let session = null;

const methods = {
  /** Opens the models among files, `[{ name, file }]`. */
  async open(files) {
    const opened = new Session(await read(files));
    session?.free();
    session = opened;
    return shown();
  },
  async compare(files) {
    session.compare(await read(files));
    return shown();
  },
  reshape(shapes) {
    session.reshape(shapes);
    return shown();
  },
  show(isCanonical) {
    session.show(isCanonical);
    return shown();
  },
  rewrites: () => session.rewrites(),
  why: (target) => session.why(target),
  /** The arrays of a file, and the inputs that they fit. */
  async arrays(file) {
    const files = await read([file]);
    try {
      return JSON.parse(session.arrays_json(files, 0));
    } finally {
      files.free();
    }
  },
  /** Runs the model; `arrays` are `{ input, file, array }` with the index of a file. */
  async run(shapes, seed, files, arrays) {
    const inputs = new GivenInputs(BigInt(seed));
    try {
      inputs.reshape(shapes);
      inputs.add(await read(files));
      arrays.forEach(({ input, file, array }) => inputs.give(input, file, array));
      progress("Running");
      return JSON.parse(session.run(inputs));
    } finally {
      inputs.free();
    }
  },
  /** An output of the last run as `.npy`; all of them as `.npz` without an index. */
  output: (at) => session.output(at),
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

/** The data for the viewer, and the files that the models lack: `[{ model, files }]`. */
function shown() {
  progress("Preparing the picture");
  return { data: session.data(), missing: JSON.parse(session.missing_json()) };
}

function progress(what, part) {
  postMessage({ progress: { what, part } });
}

async function read(given) {
  const files = new Files(given.reduce((total, { file }) => total + file.size, 0));
  for (const { name, file } of given) {
    files.start(name, file.size);
    let reported = -PART;
    for await (const { part, at } of partsOf(name, file)) {
      if (at - reported >= PART) {
        progress(`Reading ${name}`, at / file.size);
        reported = at;
      }
      files.append(part);
    }
  }
  if (given.length > 0) progress("Inferring shapes");
  return files;
}

/**
 * The bytes of a file, in parts that are valid until the next one is asked for. All parts use one buffer where the browser
 * can do that: Chromium keeps the memory of all buffers that it made for a file, even if they are unreachable.
 */
async function* partsOf(name, file) {
  const reader = readerInto(file) ?? file.stream().getReader();
  let buffer = new ArrayBuffer(PART);
  for (let at = 0; ; ) {
    const { done, value: part } = await reader.read(new Uint8Array(buffer)).catch(({ message }) => {
      throw { message: `cannot read ${name}: ${message}`, help: "Choose the file again; it may have changed or gone." };
    });
    if (done) return;
    yield { part, at };
    at += part.byteLength;
    buffer = part.buffer;
  }
}

/** A reader that fills a given buffer, in browsers that have it for files. */
function readerInto(file) {
  try {
    return file.stream().getReader({ mode: "byob" });
  } catch {
    return null;
  }
}

function problemOf(error) {
  const { message, help, inputs, isFatal } = error;
  if (typeof help === "string") return { message, help, inputs, isFatal: isFatal === true };
  return {
    message: `snick stopped: ${message ?? error}`,
    help: "The model may need more memory than a browser gives a page: the command line can use all. If it is small, this is a defect of snick; please report it with the model.",
    isFatal: true,
  };
}

/** The buffers of a result, which are moved to the page instead of copied. */
function buffers(result) {
  const bytes = Array.isArray(result) ? result.map((file) => file.bytes) : [result];
  return bytes.filter((part) => part instanceof Uint8Array).map((part) => part.buffer);
}

onmessage = async ({ data: { method, args } }) => {
  try {
    await loaded;
    const result = await methods[method](...args);
    postMessage({ result }, buffers(result));
  } catch (error) {
    postMessage({ problem: problemOf(error) });
  }
};
