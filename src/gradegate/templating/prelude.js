// What a snippet is started by: called with its text in a context of its own, and without one for what came of it.
// Everything that the snippet could change for itself is taken before it runs. What it gives is data: {type, text} with
// JSON in `text`, and the lines it logged; and, since it could have caught either itself, what it used that is not here, and
// the limit that it hit.
(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const Make = Function;
  const Text = String;
  const Later = Promise;
  const Wrong = TypeError;
  const { apply, getPrototypeOf } = Reflect;
  const { keys, setPrototypeOf } = Object;
  const { isArray } = Array;
  const { slice, toUpperCase, toLowerCase } = Text.prototype;
  const { test } = RegExp.prototype;
  const { getTime, toISOString } = Date.prototype;
  const [objects, arrays, dates] = [Object.prototype, Array.prototype, Date.prototype];
  const wrapped = [Number, Boolean, Text, BigInt, Symbol].map((kind) => kind.prototype);
  const engines = InternalError.prototype;
  const isError = (value) => value instanceof Error;
  const MOST = 50;
  const LONGEST = 500;
  const DEEPEST = 200;
  const TOO_DEEP = "Maximum call stack size exceeded";
  let lacking = "";
  let limit = "";
  const list = () => setPrototypeOf([], null); // as all that is written out at the end: nothing added to prototypes is heeded
  const lines = list();

  const cut = (text, most) => apply(slice, text, [0, most]);
  const shown = (value) => {
    try {
      const text = typeof value === "string" ? value : isError(value) ? Text(value) : stringify(value);
      return cut(text === undefined ? Text(value) : text, LONGEST);
    } catch {
      return "(what cannot be shown)";
    }
  };
  const log = (...values) => {
    if (lines.length >= MOST) return;
    let line = "";
    for (let at = 0; at < values.length && at < 20; at++) line += (at ? " " : "") + shown(values[at]);
    lines[lines.length] = cut(line, LONGEST);
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log, trace: log };
  // The first could wait without taking time; what these two watch is gone at once here, and in Node later.
  for (const name of ["Atomics", "WeakRef", "FinalizationRegistry", "InternalError"]) delete globalThis[name];

  // The engine asks for these when a snippet is interrupted, and then no limit holds.
  const fixed = { writable: false, configurable: false };
  Object.defineProperty(Error.prototype, "toString", fixed);
  Object.defineProperty(engines, "name", { value: "InternalError", ...fixed });
  // Of every error, also one that the snippet catches: the engine's own say that its memory or its time is used up.
  Error.prepareStackTrace = (error, calls) => {
    if (getPrototypeOf(error) === engines) limit = error.message;
    let stack = "";
    for (let at = 0; at < calls.length && at < 10; at++) {
      const call = calls[at];
      const place = call.getFileName() + ":" + call.getLineNumber() + ":" + call.getColumnNumber();
      stack += "    at " + (call.getFunctionName() || "<anonymous>") + " (" + place + ")\n";
    }
    return stack;
  };
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined, ...fixed });
  // Where the stack is used up nothing can be told. Most of all an answer does that, of which Node reads any depth.
  JSON.parse = (...given) => {
    try {
      return apply(parse, JSON, given);
    } catch (error) {
      if (isError(error) && error.message === TOO_DEEP) limit = "nested";
      throw error;
    }
  };

  // Without the data of languages these would come to something else than in Node.
  const language = (name, cure) => {
    lacking = lacking || "`" + name + "` needs language rules, which the engine does not have: " + cure;
    throw new Wrong(lacking);
  };
  for (const kind of [Number.prototype, BigInt.prototype, Array.prototype, getPrototypeOf(Uint8Array.prototype)]) {
    kind.toLocaleString = () => language("toLocaleString", "use `toFixed` or `String`");
  }
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    dates[name] = () => language(name, "use `toISOString`");
  }
  const cased = (name, change) =>
    function (locales) {
      return locales === undefined ? apply(change, this, []) : language(name, "name no language");
    };
  Text.prototype.toLocaleUpperCase = cased("toLocaleUpperCase", toUpperCase);
  Text.prototype.toLocaleLowerCase = cased("toLocaleLowerCase", toLowerCase);
  // Letters, digits and blanks of ASCII stand in the order of their signs, small before large where all else is equal.
  const plain = /^[a-z0-9 ]*$/i;
  Text.prototype.localeCompare = function (other, locales, options) {
    const one = Text(this);
    const two = Text(other);
    if (one === two) return 0;
    if (locales !== undefined || options !== undefined || !apply(test, plain, [one + two])) {
      language("localeCompare", "compare with `<`; without options it compares letters, digits and blanks of ASCII");
    }
    const small = apply(toLowerCase, one, []);
    const smaller = apply(toLowerCase, two, []);
    return (small === smaller ? one > two : small < smaller) ? -1 : 1;
  };

  // Graphemes are told by the properties of characters (https://unicode.org/reports/tr29/) in scripts that have no rules besides,
  // and without letters that are put together of parts; locales change nothing of them. Of words and sentences they do.
  const scripts =
    "Common Inherited Latin Greek Cyrillic Armenian Georgian Hebrew Arabic Ethiopic Tamil Thai Lao Han Hiragana Katakana Bopomofo Hangul";
  class Segmenter {
    #locale;
    constructor(locales, options) {
      this.#locale = locales ?? "en-US";
      const known = typeof this.#locale === "string" && /^[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?$/i.test(this.#locale);
      if (known && (options?.granularity ?? "grapheme") === "grapheme") return;
      language("Intl.Segmenter", "name one locale such as `en-US`, and the granularity `grapheme`");
    }
    resolvedOptions() {
      return { locale: this.#locale, granularity: "grapheme" };
    }
    segment(given) {
      const input = Text(given);
      const parts = "[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u1100-\\u11ff\\ua960-\\ua97c\\ud7b0-\\ud7fb]";
      const plain = RegExp("^(?:(?!" + parts + ")[" + scripts.replace(/ ?(\w+)/g, "\\p{Script=$1}") + "])*$", "u");
      if (!plain.test(input)) language("Intl.Segmenter", "of scripts it knows " + scripts);
      const extend = "\\p{Grapheme_Extend}\\p{Emoji_Modifier}";
      const emoji = "\\p{Extended_Pictographic}(?:[" + extend + "]*\\u200d\\p{Extended_Pictographic})*";
      const control = "(?![\\p{Grapheme_Extend}\\u200d])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]";
      const after = "[" + extend + "\\p{Mc}\\u0e33\\u0eb3\\u200d]*";
      const cluster = RegExp("\\r\\n|" + control + "|(?:\\p{RI}\\p{RI}|" + emoji + "|[^])" + after, "gu");
      const all = [...input.matchAll(cluster)].map(({ 0: segment, index }) => ({ segment, index, input }));
      const containing = (at = 0) => all.find(({ segment, index }) => index <= Math.trunc(at) && at < index + segment.length);
      return { containing, [Symbol.iterator]: () => all.values() };
    }
  }
  const instead = "use `toFixed`, `toISOString` or `<`";
  const get = (own, name) => own[name] ?? (typeof name === "symbol" || name === "prototype" ? undefined : language("Intl." + name, instead));
  globalThis.Intl = new Proxy({ Segmenter }, { get });

  // A value as its own plain data: no toJSON of the snippet's is asked, and nothing that is inherited counts.
  const data = (value, depth) => {
    const type = typeof value;
    if (type === "function" || type === "symbol") return undefined;
    if (type === "bigint") throw new Wrong("a bigint is no plain data");
    if (type !== "object" || value === null) return value;
    if (depth > DEEPEST) throw new Wrong("it is nested more than " + DEEPEST + " deep, or refers to itself");
    const kind = getPrototypeOf(value);
    if (kind !== objects && kind !== arrays) {
      for (let at = 0; at < wrapped.length; at++) {
        if (kind === wrapped[at]) throw new Wrong("an object around a value, such as `new Number(1)`, is no plain data");
      }
      if (kind === dates) return dated(value);
    }
    if (isArray(value)) {
      const copy = list();
      for (let at = 0; at < value.length; at++) {
        const item = data(value[at], depth + 1);
        copy[at] = item === undefined ? null : item;
      }
      return copy;
    }
    const copy = { __proto__: null };
    const names = keys(value);
    for (let at = 0; at < names.length; at++) copy[names[at]] = data(value[names[at]], depth + 1);
    return copy;
  };
  const dated = (value) => {
    const time = apply(getTime, value, []);
    return time === time ? apply(toISOString, value, []) : null;
  };
  const described = (value) => {
    const type = value === null ? "null" : typeof value;
    if (type === "number") return { __proto__: null, type, text: Text(value) };
    if (type === "bigint" || type === "symbol" || type === "function" || type === "undefined") return { __proto__: null, type };
    return { __proto__: null, type, text: stringify(data(value, 0)) };
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
    return { __proto__: null, type: "thrown", name: cut(name, 100), text: cut(message, LONGEST), stack: cut(stack, 2000) };
  };

  let called = false; // all before that is the code's own doing, whatever it is given
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
      const values = parse(given);
      called = true;
      const value = run(...values);
      const waits = value !== null && typeof value === "object" && typeof value.then === "function";
      if (waits) Later.resolve(value).then(settle, fail);
      else settle(value);
    } catch (error) {
      fail(error);
    }
  };
  const end = () => stringify({ __proto__: null, ...state, called, lines, lacking, limit });
  return (body, parameters, name, given) => (body === undefined ? end() : start(body, parameters, name, given));
})();
