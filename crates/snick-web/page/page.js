// The page: opens models in a worker, shows them in the viewer, and passes the requests of buttons to the worker.

import { Client } from "./client.js";
import { chosen, dropped, loaded } from "./given.js";
import { mount } from "./viewer/viewer.js";

const EXAMPLE = ["example/focus_cnn.xml", "example/focus_cnn.bin"];

/** Delay in milliseconds before a request is shown as busy. */
const PATIENCE = 250;

const $ = (id) => document.getElementById(id);
const client = new Client();

/** The open models: files of the first and second model, input shapes, and the displayed form. */
let shown = null;
let viewer = null;
let isBusy = false;

/** Runs one task at a time and shows errors. Returns whether it succeeded. */
async function work(what, task) {
  if (isBusy) return false;
  isBusy = true;
  const focused = document.activeElement;
  hideMessage();
  $("work").textContent = what;
  const timer = setTimeout(() => ($("working").hidden = false), PATIENCE);
  buttons().forEach((button) => (button.disabled = true));
  try {
    await task();
    return true;
  } catch (problem) {
    showMessage(problem.message, problem.help ?? "This is a defect of the page; please report it.", true);
    return false;
  } finally {
    isBusy = false;
    clearTimeout(timer);
    $("working").hidden = true;
    buttons().forEach((button) => (button.disabled = false));
    if (document.activeElement === document.body) focused?.focus();
  }
}

function buttons() {
  return [...document.querySelectorAll("[data-do]")];
}

function showMessage(what, help, isProblem) {
  $("what").textContent = what;
  $("help").textContent = help;
  $("message").classList.toggle("problem", isProblem);
  $("message").hidden = false;
}

function hideMessage() {
  $("message").hidden = true;
}

/** Sends a request to the worker. A new worker first gets the shown models. */
async function ask(method, ...args) {
  if (client.isNew && shown && method !== "open") {
    await client.call("open", shown.files);
    if (shown.other) await client.call("compare", shown.other);
    if (shown.spec) await client.call("reshape", shown.spec);
    if (shown.isCanonical) await client.call("show", true);
  }
  return client.call(method, ...args);
}

async function open(given) {
  await work("Opening", async () => {
    const files = await given;
    $("work").textContent = `Opening ${files.map(({ name }) => name).join(", ")}`;
    show(await ask("open", files));
    shown = { files, other: null, spec: "", isCanonical: false };
    pressed();
    $("spec").value = "";
    $("viewer").focus();
  });
}

async function compare(given) {
  await work("Comparing", async () => {
    const other = await given;
    show(await ask("compare", other));
    shown.other = other;
  });
}

/** Shows data in the viewer, and the notes on the models. */
function show(text) {
  const data = JSON.parse(text);
  viewer?.unmount();
  $("start").hidden = true;
  $("bar").hidden = false;
  $("viewer").hidden = false;
  viewer = mount($("viewer"), data);
  document.title = `${data.model.title || "Model"} – snick`;
  const notes = [...data.model.notes, ...(data.diff?.other.model.notes ?? [])];
  if (notes.length > 0) showMessage(notes.join("\n"), "", false);
}

async function setForm(isCanonical) {
  if (shown.isCanonical === isCanonical) return;
  await work(isCanonical ? "Canonicalising" : "Showing", async () => {
    show(await ask("show", isCanonical));
    shown.isCanonical = isCanonical;
    pressed();
    if (isCanonical) showMessage((await ask("rewrites")).trimEnd().split("\n").slice(-2).join("\n"), "", false);
  });
}

function pressed() {
  for (const [name, isPressed] of [["read", !shown.isCanonical], ["canonical", shown.isCanonical]]) {
    document.querySelector(`[data-do=${name}]`).setAttribute("aria-pressed", isPressed);
  }
}

/** Changes the input shapes of the open models; without shapes, reads the files again. */
async function setShapes(spec) {
  await work("Inferring", async () => {
    if (spec) show(await ask("reshape", spec));
    else show(await reopened());
    shown.spec = spec;
  });
}

async function reopened() {
  let data = await ask("open", shown.files);
  if (shown.other) data = await ask("compare", shown.other);
  return shown.isCanonical ? ask("show", true) : data;
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

function download(name, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  // The browser needs the address until the download has started.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Opens a dialog. Resolves with the value of the button that closed it; empty if cancelled. */
function dialog(id) {
  const element = $(id);
  element.returnValue = "";
  element.showModal();
  return new Promise((resolve) => element.addEventListener("close", () => resolve(element.returnValue), { once: true }));
}

function choose(then) {
  const input = $("files");
  input.value = "";
  input.onchange = () => input.files.length > 0 && then(chosen(input.files));
  input.click();
}

const actions = {
  open: () => choose(open),
  compare: () => choose(compare),
  example: () => open(loaded(EXAMPLE)),
  read: () => setForm(false),
  canonical: () => setForm(true),
  async shapes() {
    $("sample").textContent = sampleShape();
    const asked = await dialog("shapes");
    if (asked) await setShapes(asked === "set" ? $("spec").value.trim() : "");
  },
  async why() {
    if (!(await dialog("why"))) return;
    const target = $("target").value.trim();
    await answer(target || "Unknown sizes", "Explaining", "why", target);
  },
  run: () => answer("A run on random inputs", "Running", "run"),
  async save() {
    const extension = await dialog("save");
    if (extension) await save(extension);
  },
};

/** The current input shapes, as a template to edit. */
function sampleShape() {
  const { data, layers } = viewer.model;
  const [input] = data.inputs;
  const [output] = input ? layers[input.layer].outputs : [];
  return output?.dims ? `${input.name}[${output.dims.join(",")}]` : "image[N,3,H=32..64,64]";
}

function listen() {
  for (const button of buttons()) button.addEventListener("click", actions[button.dataset.do]);
  $("stop").addEventListener("click", () => client.stop());
  $("dismiss").addEventListener("click", hideMessage);
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
    open(dropped(event.dataTransfer));
  });
}

$("loading").hidden = true;
$("viewer").tabIndex = -1;
listen();
const addresses = new URLSearchParams(location.search).getAll("open");
if (addresses.length > 0) open(loaded(addresses));
