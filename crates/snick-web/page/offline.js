// The service worker, with which the page also opens without a network.

/** Registers the service worker, and shows the element when a new version of the page waits. */
export async function register(update) {
  // Browsers offer service workers on https and on this computer only.
  if (!navigator.serviceWorker) return;
  try {
    const registration = await navigator.serviceWorker.register("service_worker.js", { updateViaCache: "none" });
    const offer = () => (update.hidden = !(registration.waiting && navigator.serviceWorker.controller));
    offer();
    const watch = () => registration.installing?.addEventListener("statechange", offer);
    watch();
    registration.addEventListener("updatefound", watch);
  } catch {
    // Without a service worker, the page needs the network.
  }
}

/** Maximum time in milliseconds to wait for the start of a new version. */
const PATIENCE = 5000;

/**
 * Loads the page again if its files are of two versions, because a new version started in between. Otherwise loads the
 * page again with the version that waits, unless other pages use the present one.
 */
export async function startNewVersion() {
  const active = navigator.serviceWorker?.controller;
  if (!active) return;
  // Also loads the page again if the new version starts later, so that versions do not mix. The page keeps its model.
  navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
  const isOver = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  if ((await ask(active, "version")) !== document.querySelector("meta[name=version]").content) {
    location.reload();
    return isOver;
  }
  const registration = await navigator.serviceWorker.getRegistration();
  if (!registration?.waiting || (await ask(active, "count pages")) > 1) return;
  registration.waiting.postMessage("start");
  await isOver;
}

function ask(worker, question) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    worker.postMessage(question, [port2]);
  });
}
