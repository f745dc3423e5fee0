// Keeps all files of one version of the page, so that the page opens without a network. The build script puts the
// version and the list of files before this text.
/* global VERSION, FILES */

const CACHE = `snick-${VERSION}`;

/** The page takes all its files from one cache. */
addEventListener("install", (event) => event.waitUntil(install()));

async function install() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
  // The server may get a new version while this one is loaded.
  const page = await (await cache.match("index.html")).text();
  if (!page.includes(`"${VERSION}"`)) throw new Error(`index.html is not of version ${VERSION}`);
}

// A new version only starts when no page uses the old one, or when the only page asks for it before it loads anything.
addEventListener("activate", (event) => event.waitUntil(activate()));

async function activate() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("snick-") && name !== CACHE).map((name) => caches.delete(name)));
  await clients.claim();
}

addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(registration.scope)) event.respondWith(answer(event.request));
});

async function answer(request) {
  const cache = await caches.open(CACHE);
  const isPage = request.mode === "navigate" && new URL(request.url).pathname === new URL(registration.scope).pathname;
  const found = await cache.match(isPage ? "index.html" : request, { ignoreSearch: true });
  return found ?? fetch(request);
}

addEventListener("message", async ({ data, ports: [reply] }) => {
  if (data === "start") skipWaiting();
  if (data === "version") reply.postMessage(VERSION);
  if (data === "count pages") reply.postMessage((await clients.matchAll({ type: "window" })).length);
});
