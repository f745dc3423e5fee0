// The models of the last visit, which the browser keeps on this computer until they are forgotten.

/** Maximum total bytes of files to keep. */
const MOST_BYTES = 200e6;

const FILES = "files";
const POSITION = "snick.position";
/** Set while kept models are opened. If it is still set on the next visit, the page has crashed. */
const OPENING = "snick.opening";

/** Keeps the files of models. Returns a sentence if they are not kept, or an empty text. */
export async function keep({ files, other }) {
  const bytes = [...files, ...(other ?? [])].reduce((total, { file }) => total + file.size, 0);
  try {
    if (bytes <= MOST_BYTES) await request("readwrite", (store) => store.put({ files, other }, FILES));
    else await forget();
  } catch (error) {
    return `The browser does not keep this model for the next visit: ${error.message}`;
  }
  if (bytes <= MOST_BYTES) return "";
  return `This model has ${Math.round(bytes / 1e6)} MB, so the browser does not keep it for the next visit. It keeps up to ${MOST_BYTES / 1e6} MB.`;
}

/** Keeps the shapes, the form and the position of a reader in the kept models. */
export function keepPosition(position) {
  try {
    localStorage.setItem(POSITION, JSON.stringify(position));
  } catch {
    // The browser keeps nothing: the models open without a position.
  }
}

/** Notes that kept models are being opened. Returns a function that notes that this is over. */
export function opening() {
  localStorage.setItem(OPENING, "");
  const done = () => localStorage.removeItem(OPENING);
  addEventListener("pagehide", done, { once: true });
  return done;
}

/**
 * The kept models, or null: `{ files, other, shapes, isCanonical, position }`, or `{ hasFailed }` with a sentence if they
 * have made the page crash.
 */
export async function kept() {
  try {
    if (localStorage.getItem(OPENING) !== null) {
      localStorage.removeItem(OPENING);
      await forget();
      return { hasFailed: "The page ended while it opened the model of the last visit, so it has forgotten this model." };
    }
    const models = await request("readonly", (store) => store.get(FILES));
    return models ? { ...models, ...JSON.parse(localStorage.getItem(POSITION) ?? "null") } : null;
  } catch {
    return null;
  }
}

export async function forget() {
  localStorage.removeItem(POSITION);
  await request("readwrite", (store) => store.delete(FILES));
}

async function request(mode, make) {
  const opening = indexedDB.open("snick", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("models");
  const database = await settled(opening);
  try {
    const transaction = database.transaction("models", mode);
    const made = make(transaction.objectStore("models"));
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const result = await settled(made);
    await done;
    return result;
  } finally {
    database.close();
  }
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another page uses it"));
  });
}
