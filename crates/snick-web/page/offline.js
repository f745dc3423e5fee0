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

/** Loads the page again with the version that waits, unless other pages use the present one. */
export async function startNewVersion() {
  const active = navigator.serviceWorker?.controller;
  const registration = active ? await navigator.serviceWorker.getRegistration() : null;
  if (!registration?.waiting || (await countPages(active)) > 1) return;
  const isOver = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  // Loads the page again even if the new version starts later, because versions do not mix. The page keeps its model.
  navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
  registration.waiting.postMessage("start");
  await isOver;
}

function countPages(worker) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    worker.postMessage("count pages", [port2]);
  });
}
