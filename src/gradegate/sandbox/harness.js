// The other side of a worker for JavaScript: runs code of the repository, one request after another, until they end.
//
// As harness.py does: requests come on descriptor 3 and answers leave on descriptor 4, each as JSON behind its length in
// four bytes; what the code prints goes to the log. Files are loaded and called as promptfoo does (src/esm.ts).
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const Module = require("node:module");
const { inspect } = require("node:util");
const { fileURLToPath, pathToFileURL } = require("node:url");

// What a text that is evaluated finds, a file with ES modules does not.
for (const name of ["require", "module", "exports", "__filename", "__dirname"]) delete globalThis[name];

const REQUESTS = 3, ANSWERS = 4;
const MOST = 16 * 1024 * 1024; // bytes of an answer
const LINES = 12, LONGEST = 2000; // of a stack: its first lines, and characters
const OURS = /\[eval\d*\]|node:internal|\(node:/; // frames that say nothing of the user's code
const NO_FAULT = /MODULE|PACKAGE|REQUIRE|TYPESCRIPT|IMPORT/; // codes of errors of what cannot be loaded, whatever it is called with
const { parse, stringify } = JSON;

class Said extends Error {} // what went wrong, in words that need no stack

const modules = new Map(); // by path, as promises
const providers = new Map(); // by their options

function loaded(file) {
  if (!modules.has(file)) modules.set(file, imported(file));
  return modules.get(file);
}

async function imported(file) {
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    // CommonJS in a .js file of a package that says it has modules.
    if (!file.endsWith(".js") || !/ is not defined in ES module scope/.test(String(error?.message))) throw error;
    const made = new Module(file);
    made.filename = file;
    made.paths = Module._nodeModulePaths(path.dirname(file));
    made._compile(fs.readFileSync(file, "utf8"), file);
    return { default: made.exports };
  }
}

// --- what may be imported --------------------------------------------------------------------------------------------

/**
 * Let a judge import from the workspace only the files that its digest covers, and packages of folders `node_modules`.
 *
 * The digest covers what the commit has in these folders; what an `npm ci` puts there is not of the commit. A link in them
 * that leads back into the workspace leads to no package. The text of the function runs in a thread of hooks, too.
 */
function importsOf({ root, covered }) {
  const fs = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
  const path = process.getBuiltinModule?.("node:path") ?? require("node:path");
  const real = (file) => {
    try {
      return fs.realpathSync(file);
    } catch {
      return file;
    }
  };
  const files = new Set(covered.map(real));
  const packages = new Set();
  for (const file of [...covered, ...files])
    for (let folder = path.dirname(file); folder !== path.dirname(folder); folder = path.dirname(folder))
      packages.add(real(path.join(folder, "node_modules")) + path.sep);
  return (file) => {
    const found = real(file);
    if (!found.startsWith(root + path.sep) || files.has(found)) return;
    if ([...packages].some((folder) => found.startsWith(folder))) return;
    const rule =
      "From the workspace, a judge may import files that its file names by a path, and packages in a folder `node_modules` (docs/code.md)";
    throw Object.assign(new Error(`${file} is not imported. ${rule}`), { code: "MODULE_NOT_COVERED" });
  };
}

/** What an address of a module leads to, where that is a file. */
function checked(check, url) {
  if (String(url).startsWith("file:")) check(fileURLToPath(url));
}

let isGuarded = false;

function guard(request) {
  if (isGuarded || !request.covered) return;
  isGuarded = true;
  const check = importsOf(request);
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (...asked) {
    const found = resolve.apply(this, asked);
    if (path.isAbsolute(found)) check(found);
    return found;
  };
  if (Module.registerHooks) {
    Module.registerHooks({
      resolve(name, context, next) {
        const found = next(name, context);
        checked(check, found.url);
        return found;
      },
    });
  } else if (!Module.register) {
    throw new Said("a judge in JavaScript needs Node.js 18.19, 20.6 or later");
  } else {
    const hooks = `
      import { createRequire } from "node:module";
      import { fileURLToPath } from "node:url";
      let check;
      const require = createRequire("file:///");
      ${importsOf}
      ${checked}
      export const initialize = (request) => { check = importsOf(request); };
      export async function resolve(name, context, next) {
        const found = await next(name, context);
        checked(check, found.url);
        return found;
      }`;
    Module.register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { root: request.root, covered: request.covered } });
  }
}

// --- files and what they export --------------------------------------------------------------------------------------

/** What a file exports: the default of a module, or of CommonJS that was made of one. */
function exported(module) {
  return module?.default?.default || module?.default || module;
}

function functionsOf(...holders) {
  const names = holders.flatMap((it) => (it ? Object.keys(it).filter((name) => typeof it[name] === "function") : []));
  return [...new Set(names)].slice(0, 10).join(", ");
}

/** What is to be called; with `plain` it may be a value. */
async function wanted({ path: file, function: name, named, plain }) {
  const module = await loaded(file);
  const top = exported(module);
  const found = named ? top?.[name] ?? module[name] : [top, top?.default, top?.[name]].find((it) => typeof it === "function") ?? top;
  if (typeof found === "function" || (plain && found !== undefined)) return found;
  const others = functionsOf(top, module);
  throw new Said((named ? `there is no function \`${name}\` in it` : "it exports no function by default") + (others ? `; it has ${others}` : ""));
}

/** The provider that a file exports a class of, made once of its options. */
async function provider({ path: file, options }) {
  const key = stringify(options);
  if (!providers.has(key)) {
    const made = exported(await loaded(file));
    if (typeof made !== "function" || !made.prototype) throw new Said("it exports no class by default, of which a provider is made with `new`");
    providers.set(key, new made(options));
  }
  return providers.get(key);
}

const log = (...words) => console.error(...words);
const logger = { debug: log, info: log, warn: log, error: log };
const kept = new Map();
const cache = {
  get: async (key) => kept.get(key),
  set: async (key, value) => kept.set(key, value) && value,
  del: async (key) => kept.delete(key),
};

const KINDS = {
  untyped: async () => (process.features.typescript ? "" : process.versions.node),
  call: async (request, calling) => {
    const found = await wanted(request);
    calling();
    return typeof found === "function" ? found(...request.args) : found;
  },
  provide: async (request, calling) => {
    const made = await provider(request);
    if (typeof made?.[request.function] !== "function") throw new Said(`its provider has no method \`${request.function}\``);
    const [prompt, context] = request.args;
    calling();
    const told = context && { ...context, originalProvider: made, logger, getCache: () => cache };
    return made[request.function](...(told ? [prompt, told] : [prompt]));
  },
};

/** What makes a config is taken whole: JSON would leave out a function that promptfoo calls. */
function whole(key, value) {
  if (typeof value !== "function") return value;
  throw new Said(`it holds a function under \`${key}\`, which is no plain data: export it, and write file://NAME.js:FUNCTION there`);
}

async function answer(request) {
  let called = false, said = "it threw what cannot be shown", raised = false;
  try {
    guard(request);
    const value = await KINDS[request.kind](request, () => { called = true; });
    if (typeof value === "function" || typeof value === "symbol") throw new Said(`it returned a ${typeof value}, which is no plain data`);
    const content = Buffer.from(stringify({ value: value === undefined ? null : value }, request.plain ? whole : undefined));
    if (content.length <= MOST) return content;
    said = `what it returns has more than ${MOST >> 20} MiB`;
  } catch (error) {
    raised = called;
    try {
      const broken = error?.name === "ReferenceError" || (error?.name === "RangeError" && /call stack/.test(error.message));
      raised = called && !broken && !NO_FAULT.test(String(error?.code ?? ""));
      said = error instanceof Said ? error.message : described(error);
    } catch {} // what is asked of the error throws, too
  }
  return Buffer.from(stringify({ error: said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said, raised }));
}

function described(error) {
  const text = typeof error?.stack === "string" && error.stack ? error.stack : inspect(error, { depth: 1 });
  return text.split("\n").filter((line) => !OURS.test(line)).slice(0, LINES).join("\n");
}

function send(content) {
  const whole = Buffer.alloc(4 + content.length);
  whole.writeUInt32BE(content.length);
  content.copy(whole, 4);
  for (let done = 0; done < whole.length; ) done += fs.writeSync(ANSWERS, whole, done);
}

let parts = [], size = 0;
const requests = new net.Socket({ fd: REQUESTS, readable: true, writable: false });
requests.on("data", (part) => {
  parts.push(part);
  size += part.length;
  if (size < 4) return;
  if (parts[0].length < 4) parts = [Buffer.concat(parts)];
  const length = parts[0].readUInt32BE();
  if (size < 4 + length) return; // one request at a time: nothing comes behind it before it is answered
  const request = parse(Buffer.concat(parts).toString("utf8", 4));
  parts = [], size = 0;
  answer(request).then(send);
});
requests.on("close", () => process.exit(0));
