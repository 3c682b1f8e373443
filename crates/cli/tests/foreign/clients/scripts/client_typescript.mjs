// The client of the TypeScript SDK: of its second line, of its first, or of its first as it was when
// 2025-06-18 was the newest version.

import { createInterface } from "node:readline/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const server = JSON.parse(process.argv[2]);
// The packages lie elsewhere, and an import looks beside the script.
const packages = createRequire(server.packages + "/");
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);
const FIRST = ["client/index.js", "client/streamableHttp.js", "client/stdio.js", "types.js"];
const modules = {
  june: FIRST.map((file) => `sdk-of-june/${file}`),
  first: FIRST.map((file) => `@modelcontextprotocol/sdk/${file}`),
  second: ["client", "client/stdio"].map((name) => `@modelcontextprotocol/${name}`),
}[server.line];
const loaded = Object.assign({}, ...(await Promise.all(modules.map(load))));
const { Client, StreamableHTTPClientTransport, StdioClientTransport } = loaded;

const heard = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (name, value) => console.log(JSON.stringify({ [name]: value }));

let hears;
const changed = new Promise((resolve, reject) => {
  hears = resolve;
  setTimeout(reject, 60_000, new Error("nobody told of another list"));
});
// A client that is shown everything waits for none.
changed.catch(() => {});
const mode = server.era === "modern" ? { pin: "2026-07-28" } : server.era;
const listChanged = { tools: { autoRefresh: false, onChanged: () => hears() } };
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode }, listChanged });
const [command, ...args] = server.command ?? [];
const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url))
  : new StdioClientTransport({ command, args, env: server.env });
// Over standard input and output the first line tells the version to nobody who does not ask so.
transport.setProtocolVersion ??= (version) => (transport.protocolVersion = version);
// Of changes it tells whoever has a handler.
const { ToolListChangedNotificationSchema: change } = loaded;
if (server.line !== "second") client.setNotificationHandler(change, () => hears());
await client.connect(transport);
tell("version", client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion);

const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
const schema = server.line === "second" ? [] : [undefined];
const call = (name, input, options) =>
  client.callTool({ name, arguments: input }, ...schema, options);
const progress = [];
const onprogress = ({ progress: done, total, message }) =>
  progress.push([done, total ?? null, message]);
const monday = { name: "monday" };
const add = { line: "Oiled." };

async function lookAddAndCount() {
  tell("tools", (await names()).filter((name) => name.startsWith("note")));
  tell("read", await call("note_read", monday));
  tell("asked", await call("note_add", add));
  await heard.next();
  tell("added", await call("note_add", add));
  tell("again", await call("note_add", add));
  tell("counted", await call("note_count", {}, { onprogress }));
  tell("progress", progress);
}

async function findLoadAndCall() {
  const added = { name: "note_add", arguments: add };
  tell("tools", await names());
  tell("refused", await call("note_read", monday));
  tell("found", await call("tool_search", { query: "read a note", limit: 1 }));
  tell("loaded", await call("tool_load", { names: ["note_add", "note_count", "note_read"] }));
  await changed;
  tell("changed", await names());
  tell("read", await call("note_read", monday));
  tell("read by ours", await call("call_read", { name: "note_read", arguments: monday }));
  tell("too much", await call("call_read", added));
  tell("asked", await call("call_write", added));
  await heard.next();
  tell("added", await call("call_write", added));
  tell("counted", await call("call_read", { name: "note_count" }, { onprogress }));
  tell("progress", progress);
}

await (server.shown === "few" ? findLoadAndCall() : lookAddAndCount());
await client.close();
process.exit(0);
