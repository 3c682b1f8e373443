// The client of the TypeScript SDK, of its first or its second line.

import { createInterface } from "node:readline/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const server = JSON.parse(process.argv[2]);
// The packages lie elsewhere, and an import looks beside the script.
const packages = createRequire(server.packages + "/");
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);
const modules = {
  first: ["index.js", "streamableHttp.js", "stdio.js"].map((file) => `sdk/client/${file}`),
  second: ["client", "client/stdio"],
}[server.line];
const loaded = await Promise.all(modules.map((name) => load(`@modelcontextprotocol/${name}`)));
const { Client, StreamableHTTPClientTransport, StdioClientTransport } = Object.assign({}, ...loaded);

const heard = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (name, value) => console.log(JSON.stringify({ [name]: value }));

const mode = server.era === "modern" ? { pin: "2026-07-28" } : server.era;
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
const [command, ...args] = server.command ?? [];
const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url))
  : new StdioClientTransport({ command, args, env: server.env });
// Over standard input and output the first line tells the version to nobody who does not ask so.
transport.setProtocolVersion ??= (version) => (transport.protocolVersion = version);
await client.connect(transport);
tell("version", client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion);
const { tools } = await client.listTools();
tell("tools", tools.map((tool) => tool.name).filter((name) => name.startsWith("note")));
const schema = server.line === "first" ? [undefined] : [];
const call = (name, input, options) =>
  client.callTool({ name, arguments: input }, ...schema, options);
tell("read", await call("note.read", { name: "monday" }));
const add = { line: "Oiled." };
tell("asked", await call("note.add", add));
await heard.next();
tell("added", await call("note.add", add));
tell("again", await call("note.add", add));
const progress = [];
const onprogress = ({ progress: done, total, message }) =>
  progress.push([done, total ?? null, message]);
tell("counted", await call("note.count", {}, { onprogress }));
tell("progress", progress);
await client.close();
process.exit(0);
