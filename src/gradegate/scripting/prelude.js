// What a snippet is started by: called with its text in a context of its own, and without one for what came of it.
// Everything that the snippet could change for itself is taken before it runs. What it gives is data: {type, text} with
// JSON in `text`, and the lines it logged.
(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const Make = Function;
  const Text = String;
  const Later = Promise;
  const isError = (value) => value instanceof Error;
  const MOST = 50;
  const LONGEST = 500;
  const lines = Object.setPrototypeOf([], null); // as all that is written out at the end: nothing added to prototypes is heeded

  const shown = (value) => {
    try {
      const text = typeof value === "string" ? value : isError(value) ? Text(value) : stringify(value);
      return (text === undefined ? Text(value) : text).slice(0, LONGEST);
    } catch {
      return "(what cannot be shown)";
    }
  };
  const log = (...values) => {
    if (lines.length < MOST) lines[lines.length] = values.slice(0, 20).map(shown).join(" ").slice(0, LONGEST);
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log, trace: log };
  delete globalThis.Atomics; // could wait without taking time
  // The engine asks for these when a snippet is interrupted, and then no limit holds.
  const fixed = { writable: false, configurable: false };
  Object.defineProperty(Error.prototype, "toString", fixed);
  Object.defineProperty(InternalError.prototype, "name", { value: "InternalError", ...fixed });

  const described = (value) => {
    const type = value === null ? "null" : typeof value;
    if (type === "number") return { __proto__: null, type, text: Text(value) };
    if (type === "bigint" || type === "symbol" || type === "function" || type === "undefined") return { __proto__: null, type };
    const text = stringify(value);
    return text === undefined ? { __proto__: null, type: "undefined" } : { __proto__: null, type, text };
  };
  const thrown = (error) => {
    let name = "";
    let message = "";
    let stack = "";
    try {
      name = isError(error) ? Text(error.name) : "";
      message = isError(error) ? Text(error.message) : shown(error);
      stack = isError(error) ? Text(error.stack) : "";
    } catch {
      message = "an error that cannot be shown";
    }
    const cut = { name: name.slice(0, 100), text: message.slice(0, LONGEST), stack: stack.slice(0, 2000) };
    return { __proto__: null, type: "thrown", ...cut };
  };

  let state = { __proto__: null, type: "pending" };
  const settle = (value) => {
    try {
      state = described(value);
    } catch (error) {
      state = { __proto__: null, ...thrown(error), type: "unreadable" };
    }
  };
  const fail = (error) => {
    state = thrown(error);
  };
  const exported = (body, name) => {
    const module = { exports: {} };
    new Make("module", "exports", body)(module, module.exports);
    const all = module.exports;
    const own = (key) => Object.prototype.hasOwnProperty.call(all, key) && typeof all[key] === "function";
    if (name) {
      const found = all !== null && all !== undefined && own(name) ? all[name] : undefined;
      if (!found) throw new TypeError("it does not export a function `" + name + "`");
      return found;
    }
    if (typeof all === "function") return all;
    if (all && typeof all.default === "function") return all.default;
    if (all && all.default && typeof all.default.default === "function") return all.default.default;
    throw new TypeError("it exports no function: write `module.exports = (output, context) => ...`");
  };
  const start = (body, parameters, name, given) => {
    try {
      const run = parameters === null ? exported(body, name) : new Make(...parse(parameters), body);
      const value = run(...parse(given));
      const waits = value !== null && typeof value === "object" && typeof value.then === "function";
      if (waits) Later.resolve(value).then(settle, fail);
      else settle(value);
    } catch (error) {
      fail(error);
    }
  };
  const end = () => stringify({ __proto__: null, ...state, lines });
  return (body, parameters, name, given) => (body === undefined ? end() : start(body, parameters, name, given));
})();
