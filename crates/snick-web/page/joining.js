// Models and the files of their weights, which may be given one after the other.

/** Whether a file is a model. */
export function isModel({ name }) {
  return /\.(xml|onnx|snick|json)$/i.test(name);
}

/** Whether a file contains arrays, which are inputs of a run. */
export function isArrays({ name }) {
  return /\.np[yz]$/i.test(name);
}

/** Whether a file may contain the weights of a model. */
export function isWeights({ name }) {
  return /(\.(bin|data|weights|pb)|_data)$/i.test(name);
}

export function fileName(path) {
  return path.split("/").at(-1);
}

function folder(path) {
  return path.slice(0, path.length - fileName(path).length);
}

function isSame(a, b) {
  return fileName(a).toLowerCase() === fileName(b).toLowerCase();
}

/**
 * Finds the models that lack the given files. `missing` is `[{ model, files }]`. Returns the files that were found,
 * `[{ model, given }]` under the names that the models expect, and the files that remain. With `isOnly`, a single `.bin`
 * belongs to the only model that lacks one, whatever its name is.
 */
export function join(missing, files, isOnly) {
  const wanted = missing.flatMap(({ model, files: names }) => names.map((name) => ({ model, name })));
  const joined = [];
  const rest = files.filter((given) => {
    const found = wanted.find(({ name }) => isSame(name, given.name)) ?? onlyWeights(wanted, files, isOnly);
    if (!found) return true;
    joined.push({ model: found.model, given: { ...given, name: folder(found.model) + found.name } });
    return false;
  });
  return { joined, rest };
}

function onlyWeights(wanted, files, isOnly) {
  const bins = wanted.filter(isBin);
  return isOnly && bins.length === 1 && files.length === 1 && isBin(files[0]) ? bins[0] : undefined;
}

function isBin({ name }) {
  return /\.bin$/i.test(name);
}

/** The models in text form without weights. They do not say whether they need weights. */
export function textModels(files) {
  const models = files.filter(({ name }) => /\.snick$/i.test(name)).map(({ name }) => ({ model: name, files: [`${fileName(name)}.bin`, fileName(name).replace(/snick$/i, "bin")] }));
  return models.filter((model) => !files.some((file) => model.files.some((name) => isSame(name, file.name))));
}

/** The weights among files that belong to no model among them. */
export function unused(files) {
  const stem = (name) => fileName(name).replace(/(\.snick)?\.[^.]*$/, "").toLowerCase();
  const models = files.filter(isModel);
  const weights = files.filter(isBin);
  if (models.some(({ name }) => /\.onnx$/i.test(name)) || (models.length === 1 && weights.length === 1)) return [];
  return weights.filter(({ name }) => !models.some((model) => stem(model.name) === stem(name)));
}

/** Says which models wait for files, and which files wait for a model. */
export function waitingText(missing, files) {
  const models = missing.map(({ model, files: names }) => `${fileName(model)} waits for ${list(names)}`);
  const shown = models.length > 0 ? [`${list(models)}, and ${models.length > 1 ? "are" : "is"} shown without weights.`] : [];
  const names = files.map(({ name }) => fileName(name));
  if (names.length > 0) shown.push(`${list(names)} ${names.length > 1 ? "wait for their models" : "waits for its model"}.`);
  return shown.join(" ");
}

/** Maximum number of names in a sentence. */
const MOST_NAMES = 5;

function list(names) {
  const more = names.length - MOST_NAMES;
  const shown = more > 0 ? [...names.slice(0, MOST_NAMES), `${more} more`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown.join("");
}
