// The files given to the page, as `[{ name, file }]`: chosen, dropped, or loaded from the location of the page.

/** A folder with more files is unlikely to belong to a model. */
const MOST_FILES = 500;

export function chosen(list) {
  return [...list].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
}

/** Dropped files and folders. Must be called during the event, because the browser forgets them afterwards. */
export function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return Promise.resolve(chosen(transfer.files));
  return walk(entries, []);
}

async function walk(entries, found) {
  for (const entry of entries) {
    if (found.length >= MOST_FILES) {
      throw { message: `the folder has more than ${MOST_FILES} files`, help: "Drop the files of the model, or the folder that has them alone." };
    }
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ name: entry.fullPath.slice(1), file });
    } else {
      await walk(await children(entry.createReader()), found);
    }
  }
  return found;
}

/** Reads all entries of a folder. A reader returns them in parts; an empty part is the end. */
async function children(reader) {
  const all = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return all;
    all.push(...part);
  }
}

/** Loads files by address. The policy of the page only allows files next to it. */
export function loaded(addresses) {
  const load = async (address) => {
    const name = decodeURIComponent(new URL(address, document.baseURI).pathname.split("/").at(-1));
    const response = await fetch(address).catch(() => null);
    if (!response?.ok) {
      const why = response ? `the server answers ${response.status}` : "it is not there, or on another site";
      throw { message: `cannot load ${address}: ${why}`, help: "Models are loaded from the site of the page; open others from your computer." };
    }
    return { name, file: new File([await response.blob()], name) };
  };
  return Promise.all(addresses.map(load));
}
