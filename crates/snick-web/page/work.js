// One task at a time, with what it does and for how long, a button to stop it, and a message for its problem.

import { Client } from "./client.js";

/** Delay in milliseconds before a task is shown. */
const PATIENCE = 250;

/** Delay in milliseconds before the time of a task is shown. */
const TIMED = 1000;

const $ = (id) => document.getElementById(id);

export const client = new Client(({ what, part }) => {
  $("work").textContent = what;
  if (part === undefined) $("progress").removeAttribute("value");
  else $("progress").value = part;
});

let current = null;

/** Runs a task and shows its problem. Returns whether it succeeded. The task gets a signal that aborts when it is stopped. */
export async function work(what, task, onProblem = showProblem) {
  if (current) return false;
  const focused = document.activeElement;
  const start = performance.now();
  const stopper = new AbortController();
  current = stopper;
  hideMessage();
  $("work").textContent = what;
  $("since").textContent = "";
  $("progress").removeAttribute("value");
  const seconds = () => Math.round((performance.now() - start) / 1000);
  const timer = setTimeout(() => ($("working").hidden = false), PATIENCE);
  const clock = setInterval(() => ($("since").textContent = `for ${seconds()} s`), TIMED);
  buttons().forEach((button) => (button.disabled = true));
  try {
    await task(stopper.signal);
    return true;
  } catch (problem) {
    if (stopper.signal.aborted) showStopped($("work").textContent, seconds());
    else onProblem(problem);
    return false;
  } finally {
    current = null;
    clearTimeout(timer);
    clearInterval(clock);
    $("working").hidden = true;
    buttons().forEach((button) => (button.disabled = false));
    if (document.activeElement === document.body) focused?.focus();
  }
}

/** Stops the current task. The worker ends, and the next request starts another one. */
export function stop() {
  current?.abort();
  client.stop();
}

function showStopped(what, seconds) {
  const help = $("viewer").hidden ? "Nothing was opened." : "The model stays on the page, and is read again when it is needed.";
  showMessage(`${what}: stopped after ${seconds} s.`, help, false);
}

function buttons() {
  return [...document.querySelectorAll("[data-do]")];
}

export function showProblem({ message, help }) {
  showMessage(message, help ?? "This is a defect of the page; please report it.", true);
}

export function showMessage(what, help, isProblem) {
  $("what").textContent = what;
  $("help").textContent = help;
  $("message").classList.toggle("problem", isProblem);
  $("message").hidden = false;
}

/** Adds a sentence to the message that is shown. */
export function addToMessage(text) {
  if ($("message").hidden) showMessage(text, "", false);
  else $("help").textContent = [$("help").textContent, text].filter(Boolean).join("\n");
}

export function hideMessage() {
  $("message").hidden = true;
}

/** Opens a dialog. Resolves with the value of the button that closed it; empty if cancelled. */
export function dialog(id) {
  const element = $(id);
  element.returnValue = "";
  element.showModal();
  return new Promise((resolve) => element.addEventListener("close", () => resolve(element.returnValue), { once: true }));
}

export function download(name, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  // The browser needs the address until the download has started.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
