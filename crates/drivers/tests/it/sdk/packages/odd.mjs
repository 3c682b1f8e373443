// A package whose functions do everything that functions do, good and bad.

import fs from 'node:fs';

export const version = '1.2.0';
const token = `${Math.random()}`;
let closed = 0;
let made = 0;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

console.log('loaded, and says so');

export const who = () => token;
export const add = ({ a, b }) => a + b;
export const join = (...words) => words.join(' ');
export const nothing = () => undefined;
export const nested = ({ n }) => ({ data: [{ url: `u${n}` }] });
export const tools = { deep: { twice: ({ n }) => n * 2 } };
export const noisy = () => {
  console.log('{"id":0,"said":"done","value":1}');
  process.stdout.write('no newline');
  fs.writeSync(1, '{"said":"found"}\n');
  fs.readFileSync(0);
  return 'heard';
};

export async function slow({ ms }) {
  await wait(ms);
  return { token };
}
export async function* count({ n, ms = 0 }) {
  try {
    for (let at = 0; at < n; at++) {
      await wait(ms);
      yield { at };
    }
  } finally {
    closed += 1;
  }
}
export function* lines() {
  yield 'one';
  yield 'two';
}
export const closings = () => closed;
export const backwards = async (words, part) => {
  for (const word of words) part(word);
};

class Refused extends TypeError {}

export const fail = ({ how }) => {
  if (how === 'refused') throw new Refused('no\nmore  than one line');
  if (how === 'thrown') throw 'a word';
  throw new RangeError('out of range');
};
export const exit = () => process.exit(3);
const mark = () => {
  try {
    fs.appendFileSync('notes/log', 'begun\n');
  } catch {}
};
export const hang = () => {
  mark();
  for (;;);
};
export const dangle = () => {
  mark();
  return new Promise(() => {});
};
export const bomb = () => {
  const all = [];
  for (;;) all.push(Array(1e5).fill({ x: all.length }));
};
export const flood = ({ bytes }) => 'x'.repeat(bytes);
export const drip = function* () {
  for (;;) yield 'x'.repeat(1e6);
};
export const odd = () => ({ big: 1n });
export const nan = () => ({ n: NaN });
export const deep = () => {
  let value = 1;
  for (let level = 0; level < 400; level++) value = [value];
  return value;
};
export const broken = () => ({ n: -Infinity });
export const lie = () => {
  for (let file = 3; file < 64; file++) {
    try {
      fs.writeSync(file, 'nonsense\n');
    } catch {}
  }
  return 'honest';
};
export const note = async ({ text, ms = 0 }) => {
  fs.appendFileSync('notes/log', `${text}\n`);
  await wait(ms);
  return { noted: text };
};
export const variable = ({ name }) => process.env[name] ?? null;

export class Client {
  constructor(options) {
    if (options?.key === 'expired') throw new LoginOver('log in again');
    this.options = options;
    this.number = made += 1;
    this.messages = { create: ({ text }) => `${this.options.key} says ${text} (${this.number})` };
  }
  static make() {
    return 'made without one';
  }
}

class LoginOver extends Error {}
