// The worker of drivers of kind sdk, for Node: a process that calls the functions of one package.
//
// It hears and says one JSON value a line. The lines run over copies of the pipes that it was started
// with, so that whatever the package prints or reads is not taken for one of them.

import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const heard = fs.openSync('/dev/fd/0', 'r');
const spoken = fs.openSync('/dev/fd/1', 'w');
for (const [file, place, flags] of [[0, '/dev/null', 'r'], [1, '/dev/fd/2', 'w']]) {
  fs.closeSync(file);
  if (fs.openSync(place, flags) !== file) process.exit(70);
}

const LONGEST_MESSAGE = 300;

class Unresolved extends Error {}

const calls = new Map();
const clients = new Map();
let wanted;
let loading;

const asked = {
  load(message) {
    wanted = message;
    say({ id: message.id, said: 'loaded', ...installed() });
  },
  async find({ id, function: ref, client }) {
    calls.set(id, { found: await find(ref, client) });
    say({ id, said: 'found' });
  },
  call: (message) => call(message),
  cancel({ id }) {
    const call = calls.get(id);
    if (call?.begun) call.canceled = true;
    else calls.delete(id);
    call?.iterator?.return?.();
  },
};

const lines = createInterface({ input: new net.Socket({ fd: heard }) });
lines.on('close', () => process.exit(0));
lines.on('line', async (line) => {
  const message = JSON.parse(line);
  try {
    await asked[message.ask](message);
  } catch (fault) {
    calls.delete(message.id);
    say({ id: message.id, said: 'failed', ...named(fault) });
  }
});

function say(word) {
  write(JSON.stringify(word));
}

function write(text) {
  let bytes = Buffer.from(`${text}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(fs.writeSync(spoken, bytes));
}

// Says a value of the package's, unless it is none that can be said. Tells whether it was.
function sayValue(id, said, value) {
  let text;
  try {
    text = JSON.stringify({ id, said, value: value ?? null }, plain);
  } catch (fault) {
    say({ id, said: 'unfit', why: oneLine(fault.message) });
    return false;
  }
  const fits = Buffer.byteLength(text) <= wanted.most;
  fits ? write(text) : say({ id, said: 'too_large' });
  return fits;
}

// What JSON would leave out without a word is refused.
function plain(_, value) {
  if (value instanceof Map || value instanceof Set) throw new TypeError('it holds a Map or a Set');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`it holds ${value}`);
  return value;
}

function named(fault) {
  if (!(fault instanceof Error)) return { types: ['thrown'], message: oneLine(String(fault)) };
  const types = [fault.constructor.name, fault.name];
  for (let kind = fault.constructor; kind?.name; kind = Object.getPrototypeOf(kind)) types.push(kind.name);
  return { types: [...new Set(types)], message: oneLine(fault.message) };
}

function oneLine(text) {
  return String(text).replace(/\s+/g, ' ').trim().slice(0, LONGEST_MESSAGE);
}

// Whether the package is there, and its version, before any of its code runs.
function installed() {
  if (!wanted.path) {
    const about = described(path.resolve('node_modules', wanted.package));
    return { there: about !== undefined, version: about?.version };
  }
  if (!fs.existsSync(wanted.path)) return { there: false };
  for (let folder = path.resolve(wanted.path); ; folder = path.dirname(folder)) {
    const about = described(folder);
    if (about || folder === process.cwd() || folder === path.dirname(folder)) {
      return { there: true, version: about?.version };
    }
  }
}

function described(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function load() {
  const require = createRequire(path.join(process.cwd(), 'package.json'));
  const target = wanted.path ? main(path.resolve(wanted.path)) : specifier();
  if (wanted.style === 'cjs') return require(target);
  return import(wanted.path ? pathToFileURL(target) : target);
}

function specifier() {
  const { package: name, entrypoint } = wanted;
  if (!entrypoint) return name;
  return entrypoint.startsWith('./') ? `${name}/${entrypoint.slice(2)}` : entrypoint;
}

// The file that a folder with a package begins with.
function main(place) {
  if (!fs.statSync(place).isDirectory()) return place;
  const about = described(place);
  return path.join(place, exported(about?.exports) ?? about?.main ?? 'index.js');
}

function exported(entry) {
  if (typeof entry !== 'object' || entry === null) return entry;
  const condition = ['.', 'import', 'node', 'default', 'require'].find((name) => name in entry);
  return condition && exported(entry[condition]);
}

// Walks from the package to a function, making a client where the way leads through a class.
async function find(ref, options) {
  loading ??= load();
  const whole = await loading;
  let [holder, value] = [undefined, whole];
  for (const [at, name] of ref.split('.').entries()) {
    if (at > 0 && isClass(value) && !isStatic(value, name)) value = client(value, options);
    holder = value;
    value = at === 0 ? member(whole, name) : value[name];
    if (value === undefined || value === null) throw unresolved(ref, `there is no \`${name}\``);
  }
  if (typeof value !== 'function') throw unresolved(ref, 'it is no function');
  return { holder, value };
}

function unresolved(ref, why) {
  return new Unresolved(`\`${ref}\` is not in the package: ${why}`);
}

// A name of a module, or of what it exports by default. `Client` is also the class that is the
// default, whatever it is called.
function member(whole, name) {
  if (whole[name] !== undefined) return whole[name];
  const other = whole.default ?? whole;
  if (other[name] !== undefined && !(name in Function.prototype)) return other[name];
  return isClass(other) && (other.name === name || name === 'Client') ? other : undefined;
}

function isClass(value) {
  if (typeof value !== 'function' || !value.prototype) return false;
  const written = Function.prototype.toString.call(value).startsWith('class');
  return written || Object.getOwnPropertyNames(value.prototype).length > 1;
}

function isStatic(value, name) {
  return value[name] !== undefined && !(name in Function.prototype);
}

function client(Class, options) {
  const text = JSON.stringify(options);
  let kept = clients.get(Class);
  if (kept?.text !== text) {
    kept = { text, made: new Class(...positions(options)) };
    clients.set(Class, kept);
  }
  return kept.made;
}

function positions({ list, object }) {
  return list ?? [object];
}

// A function that reads the trace reads that of its own call.
function traced(trace) {
  for (const name of ['TRACEPARENT', 'TRACESTATE']) {
    if (name in trace) process.env[name] = trace[name];
    else delete process.env[name];
  }
}

async function call({ id, args, callback, trace }) {
  const call = calls.get(id);
  if (!call) return say({ id, said: 'canceled' });
  const { holder, value } = call.found;
  const given = positions(args);
  call.begun = true;
  say({ id, said: 'begun' });
  traced(trace);
  if (callback) given.push((item) => void sayValue(id, 'part', item));
  const outcome = await (isClass(value) ? new value(...given) : value.apply(holder, given));
  call.iterator = iterator(outcome);
  if (call.iterator) await iterate(id, call);
  else sayValue(id, 'done', outcome);
  calls.delete(id);
}

function iterator(outcome) {
  if (typeof outcome?.[Symbol.asyncIterator] === 'function') return outcome[Symbol.asyncIterator]();
  return typeof outcome?.next === 'function' ? outcome[Symbol.iterator]?.() : undefined;
}

async function iterate(id, call) {
  while (!call.canceled) {
    const { done, value } = await call.iterator.next();
    if (done) return say({ id, said: 'ended' });
    // Others get their turn, and a wish to stop is heard.
    await new Promise((resume) => setImmediate(resume));
    if (!call.canceled && !sayValue(id, 'part', value)) return call.iterator.return?.();
  }
  await call.iterator.return?.();
  say({ id, said: 'canceled' });
}
