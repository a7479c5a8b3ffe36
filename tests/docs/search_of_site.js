// Prints what the search of a built site finds: node search_of_site.js SITE QUERY...
// It calls the site's own script, which a browser runs as a worker.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";

const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, "assets/javascripts/workers");
let receive;
let answer;
globalThis.self = globalThis;
globalThis.addEventListener = (_, listener) => (receive = listener);
globalThis.postMessage = (message) => (answer = message);
const name = fs.readdirSync(workers).find((each) => /^search\..*\.js$/.test(each));
await import(path.join(workers, name));

async function ask(type, data) {
  answer = undefined;
  receive({ data: { type, data } });
  while (answer === undefined) await new Promise((done) => setTimeout(done, 1));
  return answer.data;
}

await ask(0, { ...JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf-8")), options: {} });
const found = {};
for (const query of queries) found[query] = (await ask(2, query)).items.map(([first]) => first.location);
console.log(JSON.stringify(found));
