// The page's side of the worker: one request at a time, which can be stopped.

/** Timeout of a request in milliseconds. */
const MOST_TIME = 120_000;

const STOPPED = { message: "stopped", help: "", isStopped: true };
const TOO_LONG = {
  message: `this took longer than ${MOST_TIME / 1000} s, and was stopped`,
  help: "The command line has no such limit: snick report MODEL -o report.html",
};

export class Client {
  #worker = null;
  #end = null;
  #onProgress;

  /** Calls `onProgress` with what the worker does, and with the completed part of it if that is known. */
  constructor(onProgress) {
    this.#onProgress = onProgress;
  }

  /**
   * Sends a request to the worker. Rejects with `{ message, help }`. A crash or a stop loses the state of the worker;
   * `isNew` is true then.
   */
  call(method, ...args) {
    this.#worker ??= start();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const fail = (problem) => {
        this.forget();
        done(reject, problem);
      };
      const done = (settle, value) => {
        clearTimeout(timer);
        this.#end = null;
        settle(value);
      };
      const timer = setTimeout(fail, MOST_TIME, TOO_LONG);
      this.#end = fail;
      worker.onmessage = ({ data: { result, problem, progress } }) => {
        if (progress) this.#onProgress(progress);
        else if (problem?.isFatal) fail(problem);
        else if (problem) done(reject, problem);
        else done(resolve, result);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        fail({ message: `the page cannot start: ${event.message || "a file of it is missing"}`, help: "Load the page again." });
      };
      worker.postMessage({ method, args });
    });
  }

  /** Whether the worker has no state from earlier requests. */
  get isNew() {
    return this.#worker === null;
  }

  /** Stops the current request. */
  stop() {
    this.#end?.(STOPPED);
  }

  /** Ends the worker, which frees its memory. */
  forget() {
    this.#worker?.terminate();
    this.#worker = null;
  }
}

/** Starts the worker from a blob, so that it has the policy of the page and can only reach files of the page. */
function start() {
  const script = `import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`;
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(url, { type: "module" });
}
