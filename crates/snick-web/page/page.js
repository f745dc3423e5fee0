// The page: opens models in a worker, shows them in the viewer, and passes the requests of buttons to the worker.

import { chosen, dropped, loaded } from "./given.js";
import { fileName, isArrays, isModel, isWeights, join, textModels, unused, waitingText } from "./joining.js";
import { forget, keep, keepPosition, kept, opening } from "./kept.js";
import { register, startNewVersion } from "./offline.js";
import { restore } from "./position.js";
import { RunInputs, showOutputs } from "./run.js";
import { inputs, ShapeRow, showErrors } from "./shapes.js";
import { mount } from "./viewer/viewer.js";
import { addToMessage, client, dialog, download, hideMessage, showMessage, showProblem, stop, work } from "./work.js";

const EXAMPLE = ["example/focus_cnn.xml", "example/focus_cnn.bin"];

const $ = (id) => document.getElementById(id);

/** The open models: files of the first and second model, shapes of inputs, shapes in the file, and the displayed form. */
let shown = null;
/** The files that the open models lack: `[{ model, files }]`. */
let missing = [];
/** Files that wait for their model. */
let waiting = [];
let viewer = null;
/** The inputs of the next run, while their dialog is open. */
let runInputs = null;

/** Sends a request to the worker. A new worker first gets the shown models. */
async function ask(method, ...args) {
  if (client.isNew && shown && method !== "open") await reopened(shown);
  return client.call(method, ...args);
}

/** Opens models as they are shown. */
async function reopened({ files, other, shapes, isCanonical }) {
  let answer = await client.call("open", files);
  if (other) answer = await client.call("compare", other);
  if (shapes.some(Boolean)) answer = await client.call("reshape", shapes);
  return isCanonical ? client.call("show", true) : answer;
}

/** Opens the models among files, joins other files to the models that lack them, and takes arrays as inputs of a run. */
async function give(given) {
  let arrays = [];
  await work("Opening", async (signal) => {
    const files = await given;
    signal.throwIfAborted();
    if (files.some(isModel)) return open(files.filter((file) => !isArrays(file)));
    arrays = files.filter(isArrays);
    const others = files.filter((file) => !isArrays(file));
    if (others.length > 0) await addFiles(others);
  });
  if (arrays.length > 0) await giveArrays(arrays);
}

async function open(files) {
  $("work").textContent = `Opening ${files.map(({ name }) => name).join(", ")}`;
  const answer = await ask("open", files);
  waiting = [...waiting, ...unused(files)];
  shown = { files, other: null, shapes: [], ofFile: [], isCanonical: false };
  show(answer);
  shown.ofFile = inputs(viewer.model).map(({ shape }) => shape);
  await joinFiles(waiting, false);
  await keepShown();
  $("viewer").focus();
}

/** Adds files without a model to the models that wait for them. */
async function addFiles(files) {
  if (await joinFiles(files, true)) return keepShown();
  // The worker says why other files are not models.
  if (!files.some(isWeights)) await client.call("open", files);
  waiting = [...waiting, ...files];
  describeWaiting();
}

/** Opens the shown models again with the files that they lack. Returns whether there were any. */
async function joinFiles(files, isOnly) {
  const { joined, rest } = join([...missing, ...textModels([...(shown?.files ?? []), ...(shown?.other ?? [])])], files, isOnly);
  if (joined.length === 0) return false;
  const isIn = (model, list) => list?.some(({ name }) => name === model);
  const of = (list) => [...list, ...joined.filter(({ model }) => isIn(model, list)).map(({ given }) => given)];
  const next = { ...shown, files: of(shown.files), other: shown.other && of(shown.other) };
  const position = viewer.position();
  const answer = await reopened(next);
  shown = next;
  waiting = [...waiting.filter((file) => !files.includes(file)), ...rest];
  show(answer, position);
  return true;
}

function describeWaiting() {
  const text = waitingText(missing, waiting);
  $("waiting").textContent = text;
  $("waiting").hidden = text === "";
}

async function compare(given) {
  await work("Comparing", async (signal) => {
    const other = await given;
    signal.throwIfAborted();
    const answer = await ask("compare", other);
    shown.other = other;
    show(answer, viewer.position());
    await keepShown();
  });
}

/**
 * Shows an answer of the worker in the viewer, at a position if one is given, and a text about it, which is by default
 * the notes on the models.
 */
function show({ data: text, missing: lacking }, position, about) {
  const data = JSON.parse(text);
  const before = viewer;
  viewer?.unmount();
  for (const [id, isHidden] of [["start", true], ["bar", false], ["viewer", false]]) $(id).hidden = isHidden;
  viewer = mount($("viewer"), data);
  document.title = `${data.model.title || "Model"} – snick`;
  missing = lacking;
  describeWaiting();
  pressed();
  const notes = [...data.model.notes, ...(data.diff?.other.model.notes ?? [])];
  const message = about ?? notes.join("\n");
  if (message) showMessage(message, "", false);
  const gone = position ? restore(viewer, position, before) : "";
  if (gone) addToMessage(gone);
}

async function setForm(isCanonical) {
  if (shown.isCanonical === isCanonical) return;
  await work(isCanonical ? "Canonicalising" : "Showing", async () => {
    const answer = await ask("show", isCanonical);
    const lines = isCanonical ? (await ask("rewrites")).trimEnd().split("\n").slice(-2) : [];
    shown.isCanonical = isCanonical;
    show(answer, viewer.position(), lines.join("\n"));
    keepShownPosition();
  });
}

function pressed() {
  for (const [name, isPressed] of [["read", !shown.isCanonical], ["canonical", shown.isCanonical]]) {
    document.querySelector(`[data-do=${name}]`).setAttribute("aria-pressed", isPressed);
  }
}

/** Asks for the shapes of inputs until they are valid or the person cancels. */
async function askShapes() {
  const rows = inputs(viewer.model).map((input, at) => new ShapeRow("shape", at, input, shown.shapes[at] || input.shape, shown.ofFile[at]));
  $("shape-inputs").replaceChildren(...rows.map((row) => row.element));
  if (rows.length === 0) $("shape-inputs").textContent = "The model has no inputs.";
  for (let problem = null; ; ) {
    const asked = dialog("shapes");
    showErrors(rows, $("shapes-error"), problem);
    const answer = await asked;
    if (!answer) return;
    if (answer === "reset") rows.forEach((row) => (row.field.value = row.ofFile));
    problem = null;
    const isDone = await work("Inferring shapes", () => setShapes(rows.map(({ shape }) => shape)), (failed) => (problem = failed));
    if (isDone || !problem) return;
  }
}

async function setShapes(shapes) {
  const answer = await ask("reshape", shapes);
  shown.shapes = shapes;
  show(answer, viewer.position());
  keepShownPosition();
}

/** Asks for the inputs of a run, runs the model, and shows the outputs. */
async function run(inputsOfRun = new RunInputs(viewer.model, shown.ofFile)) {
  runInputs = inputsOfRun;
  for (let problem = null; ; ) {
    const asked = dialog("run");
    runInputs.fail(problem);
    if (!(await asked)) break;
    let answer = null;
    problem = null;
    await work("Running", async () => (answer = await ask("run", ...runInputs.request)), (failed) => (problem = failed));
    if (answer) {
      showOutputs(answer, runInputs.seed, saveOutput);
      $("outputs-error").textContent = "";
      if ((await dialog("outputs")) !== "again") break;
    } else if (!problem) break;
  }
  runInputs = null;
}

/** Adds files of arrays to the inputs of a run, and opens their dialog if necessary. */
async function giveArrays(files) {
  if (!shown) return showProblem({ message: `${fileName(files[0].name)} is an input of a run`, help: "Open a model first." });
  const isOpen = runInputs !== null;
  const into = runInputs ?? new RunInputs(viewer.model, shown.ofFile);
  const isRead = await work("Reading arrays", async () => {
    for (const file of files) into.add(file, await ask("arrays", file));
  }, (problem) => (isOpen ? into.fail(problem) : showProblem(problem)));
  if (isRead && !isOpen) await run(into);
}

async function saveOutput(at) {
  const name = at === undefined ? "outputs.npz" : `${$("outputs-table").querySelectorAll("tbody th")[at].textContent.replace(/[^\w.-]+/g, "_")}.npy`;
  await work("Saving", async () => {
    if (client.isNew) throw { message: "the outputs are gone", help: "Run the model again." };
    download(name, await client.call("output", at));
  }, ({ message, help }) => ($("outputs-error").textContent = `${message}. ${help ?? ""}`));
}

async function answer(title, what, method, ...args) {
  await work(what, async () => {
    const text = await ask(method, ...args);
    $("answer-title").textContent = title;
    $("text").textContent = text;
    $("answer").showModal();
  });
}

async function save(extension) {
  await work("Saving", async () => {
    for (const { name, bytes } of await ask("save", extension)) download(name, bytes);
  });
}

/** Keeps the open models for the next visit. Models of an embedding page are not kept. */
async function keepShown() {
  if (isEmbedded) return;
  const problem = await keep(shown);
  if (problem) addToMessage(problem);
  keepShownPosition();
}

function keepShownPosition() {
  if (shown && !isEmbedded) keepPosition({ shapes: shown.shapes, isCanonical: shown.isCanonical, position: viewer.position() });
}

/** Shows the models of the last visit. */
async function reopen() {
  const last = await kept();
  if (!last) return;
  if (last.hasFailed) return showMessage(last.hasFailed, "", false);
  const opened = opening();
  await work(`Opening ${last.files.map(({ name }) => name).join(", ")} again`, async () => {
    const first = { ...last, shapes: [], isCanonical: false, ofFile: [] };
    let answer = await reopened(first);
    shown = first;
    show(answer);
    shown.ofFile = inputs(viewer.model).map(({ shape }) => shape);
    if (!last.position) return;
    if (last.shapes.some(Boolean)) answer = await ask("reshape", last.shapes);
    if (last.isCanonical) answer = await ask("show", true);
    Object.assign(shown, { shapes: last.shapes, isCanonical: last.isCanonical });
    show(answer, last.position);
  });
  opened();
}

async function forgetShown() {
  await work("Forgetting", async () => {
    await forget();
    client.forget();
    viewer.unmount();
    [shown, viewer, missing, waiting] = [null, null, [], []];
    describeWaiting();
    for (const [id, isHidden] of [["start", false], ["bar", true], ["viewer", true]]) $(id).hidden = isHidden;
    document.title = "snick";
  });
  document.querySelector("#start [data-do=open]").focus();
}

function choose(then) {
  const input = $("files");
  input.value = "";
  input.onchange = () => input.files.length > 0 && then(chosen(input.files));
  input.click();
}

const actions = {
  open: () => choose(give),
  compare: () => choose(compare),
  example: () => give(loaded(EXAMPLE)),
  read: () => setForm(false),
  canonical: () => setForm(true),
  shapes: askShapes,
  async why() {
    if (!(await dialog("why"))) return;
    const target = $("target").value.trim();
    await answer(target || "Unknown sizes", "Explaining", "why", target);
  },
  run: () => run(),
  arrays: () => choose(giveArrays),
  outputs: () => saveOutput(),
  async save() {
    const extension = await dialog("save");
    if (extension) await save(extension);
  },
  forget: forgetShown,
};

function listen() {
  for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", actions[button.dataset.do]);
  $("stop").addEventListener("click", stop);
  $("dismiss").addEventListener("click", hideMessage);
  addEventListener("pagehide", keepShownPosition);
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => {
    if (hasFiles(event)) $("drop").hidden = (depth += 1) === 0;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event)) $("drop").hidden = (depth = Math.max(depth - 1, 0)) === 0;
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    $("drop").hidden = true;
    give(dropped(event.dataTransfer));
  });
}

const addresses = new URLSearchParams(location.search).getAll("open");
const isEmbedded = addresses.length > 0;
$("viewer").tabIndex = -1;
listen();
await startNewVersion();
if (isEmbedded) give(loaded(addresses));
else await reopen();
$("loading").hidden = true;
register($("update"));
