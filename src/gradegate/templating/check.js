// What looks a function's body over, in a context of its own. It only parses: a body that is also right outside of a
// function has no `return` of its own.
(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const Make = Function;
  const Text = String;
  const run = eval;
  const LONGEST = 500;
  return (body, parameters) => {
    try {
      new Make(...parse(parameters), body);
    } catch (error) {
      return stringify({ __proto__: null, type: "thrown", text: Text(error.message).slice(0, LONGEST), stack: Text(error.stack) });
    }
    try {
      run("if (false) {\n" + body + "\n}");
    } catch {
      return stringify({ __proto__: null, type: "returns" });
    }
    return stringify({ __proto__: null, type: "returns nothing" });
  };
})();
