// Mocks every document that is named on a line of standard input, all in this one process, and says
// on a line for each where. Prism's own command would be started once for each of them.
// A request that Prism refuses is told on a line of standard error.
const http = require("node:http");
const { createInterface } = require("node:readline");
const { createLogger } = require("@stoplight/prism-core");
const { getHttpOperationsFromSpec } = require("@stoplight/prism-http");
const { createServer } = require("@stoplight/prism-http-server");

const logger = createLogger("mocks", { level: "silent" });
const config = {
  mock: { dynamic: false, ignoreExamples: false, seed: "one" },
  validateRequest: true,
  validateResponse: true,
  checkSecurity: true,
  errors: true,
  isProxy: false,
};

// One document that Prism breaks over must not end the mocks of the others.
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

const end = http.ServerResponse.prototype.end;
http.ServerResponse.prototype.end = function (body, ...rest) {
  if (String(this.getHeader("content-type")).startsWith("application/problem+json")) {
    const { type, status, title, validation = [] } = JSON.parse(String(body));
    const path = this.req.url.split("?")[0];
    // A 500 is of a mock that has nothing to answer with, and 4xx of the document's own are no refusal.
    if (String(type).startsWith("https://stoplight.io/prism/errors#") && status !== 500) {
      const why = validation.map((one) => `${one.location.join(".")}: ${one.message}`);
      const words = [this.req.socket.localPort, this.req.method, path, status, title, ...why];
      process.stderr.write(`${words.join(" ").replaceAll("\n", " ")}\n`);
    }
  }
  return end.call(this, body, ...rest);
};

async function mocked(document) {
  const operations = await getHttpOperationsFromSpec(document);
  const server = createServer(operations, { components: { logger }, cors: true, config });
  return server.listen(0, "127.0.0.1");
}

async function serve() {
  for await (const document of createInterface({ input: process.stdin })) {
    const at = await mocked(document).catch((fault) => `! ${fault.message}`);
    process.stdout.write(`${at.replaceAll("\n", " ")}\n`);
  }
  process.exit();
}

serve();
