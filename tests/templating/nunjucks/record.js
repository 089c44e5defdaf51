// Records what Nunjucks gives for expressions.txt: `npm install nunjucks@3.2.4 && node record.js` in this folder.
const fs = require("fs");
const nunjucks = require("nunjucks");
const environment = nunjucks.configure({ autoescape: false });
environment.addFilter("load", JSON.parse);
const vars = () => JSON.parse(fs.readFileSync("variables.json", "utf8"));
const lines = fs.readFileSync("expressions.txt", "utf8").split("\n").filter((it) => it && !it.startsWith("# "));
const expected = lines.map((source) => {
  try {
    return [source, environment.renderString(source, vars())];
  } catch (error) {
    return [source, null];
  }
});
const rows = expected.map((row) => "  " + JSON.stringify(row)).join(",\n");
fs.writeFileSync("expected.json", "[\n" + rows + "\n]\n");
