// Records what JavaScript finds: `node record.js` in this folder. Each row: expression, text, found; null where it is no expression.
const fs = require("fs");
const patterns = [
 ["^\\d+$", ["12", "١٢", "1a"]], ["^\\w+$", ["ab_1", "é", "ä1"]], ["^\\s$", ["\u00a0", "\ufeff", " ", "\u2028", "\u0085", "\x1c"]], ["^\\S$", ["\u00a0", "a", "\u0085"]],
 ["\\bé", ["é", "aé"]], ["a.b", ["a\nb", "a\rb", "a\u2028b", "axb", "a\u0085b"]], ["a[^]b", ["a\nb", "ab"]], ["a[]b", ["ab", "a]b"]], ["^[^]]$", ["x]", "]"]],
 ["x$", ["x\n", "x"]], ["^[\\s\\d]+$", ["1\u00a02", "a"]], ["(?<y>\\d{4})-\\k<y>", ["2024-2024", "2024-2025"]], ["\\k<y>", ["k<y>"]], ["a{,2}", ["a{,2}", "aa"]], ["a{1,2}b", ["aab", "ab", "b"]],
 ["{a}", ["{a}"]], ["}]", ["}]"]], ["[[a]", ["[", "a"]], ["[[:alpha:]]", [":]", "a]", "z"]], ["[a&&b]", ["&", "b"]], ["[\\w-.]", ["-", ".", "a"]], ["[\\b]", ["\b"]], ["\\cA", ["\x01"]], ["\\x41\\u0042", ["AB"]],
 ["\\0", ["\0"]], ["\\/\\-\\_\\\"", ["/-_\""]], ["\\e", ["e"]], ["(?:foo){e<=1}", ["foo{e<=1}", "fo"]], ["(?=a)a(?!b)", ["ac", "ab"]], ["(?<=a)b(?<!c)", ["ab", "cb"]], ["a??b", ["b", "ab"]], ["a*?b", ["aab"]], ["(a|b)+\\1", ["abb", "ab"]],
 ["^(?:[A-Z]{2,3}-)?\\d{3,}$", ["AB-123", "123", "A-1"]], ["colou?r|flavou?r", ["color", "flavour"]], ["\\D\\W\\B", ["--", "a1"]], ["[^\\S]", [" ", "a"]], ["[\\D]", ["1", "a"]], ["\\t\\n\\v\\f\\r", ["\t\n\v\f\r"]], ["\\$\\{x\\}", ["${x}"]],
 ["[#|~]", ["|", "~", "#"]], ["a#b c", ["a#b c"]], ["[-a]", ["-", "a"]], ["[a-]", ["-"]], ["[\\]]", ["]"]], ["a|", ["", "b"]], ["()", [""]], ["[.]", [".", "a"]], ["[$^]", ["$", "^"]], ["\u{1F600}", ["\u{1F600}"]], ["[\\d-x]", ["-", "5", "x"]],
];
const wrong = ["(?i)a", "(?P<n>a)", "(?#x)", "(?>a)", "a++", "a*+", "a{2}+", "*a", "+", "|*", "(*)", "a**", "x{1}{2}", "(a", "a)", "[a", "(?<1>a)", "(?<=", "^*", "(?R)", "\\"];
const rows = patterns.flatMap(([pattern, texts]) => texts.map((text) => [pattern, text, new RegExp(pattern).test(text)]));
for (const pattern of wrong) {
  try {
    new RegExp(pattern);
    throw pattern;
  } catch (error) {
    if (error === pattern) throw new Error(pattern);
    rows.push([pattern, "", null]);
  }
}
const ascii = (text) => text.replace(/[\u0000-\u001f\u007f-\uffff]/g, (it) => "\\u" + it.charCodeAt(0).toString(16).padStart(4, "0"));
fs.writeFileSync("expected.json", "[\n" + rows.map((row) => "  " + ascii(JSON.stringify(row))).join(",\n") + "\n]\n");
