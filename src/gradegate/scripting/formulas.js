// What an expression of `derivedMetrics` is run with: the functions of mathjs that it may call, with mathjs' own rules for
// rounding, remainders and for what counts as equal. `scores` is the argument of the function that this begins.
const { hasOwn } = Object;
const constants = {
  pi: Math.PI, e: Math.E, tau: 2 * Math.PI, phi: (1 + Math.sqrt(5)) / 2, PI: Math.PI, E: Math.E,
  Infinity, NaN, true: true, false: false,
};
const of = (name) => {
  if (hasOwn(scores, name)) return scores[name];
  if (hasOwn(constants, name)) return constants[name];
  throw "there is no value of the metric `" + name + "`";
};
const isNear = (a, b) =>
  a === b || (Number.isFinite(a - b) && Math.abs(a - b) <= Math.max(1e-12 * Math.max(Math.abs(a), Math.abs(b)), 1e-15));
const shift = (value, places) => {
  const [digits, exponent] = value.toExponential().split("e");
  return Number(digits + "e" + (Number(exponent) + places));
};
const away = (value) => Math.sign(value) * Math.round(Math.abs(value));
const nearly = (rule) => (value) => (isNear(value, away(value)) ? away(value) : rule(value));
const placed = (rule) => (value, places = 0) => {
  if (!Number.isInteger(places) || places < 0 || places > 15) throw "places behind the point are a number from 0 to 15";
  return Number.isFinite(value) ? shift(rule(shift(Number(value), places)), -places) : value;
};
const whole = (...values) => {
  for (const value of values) if (!Number.isInteger(value)) throw "`&` and `|` join whole numbers alone";
};
const spread = (values) => {
  const average = F.mean(...values);
  return values.length < 2 ? 0 : F.sum(...values.map((value) => (value - average) ** 2)) / (values.length - 1);
};
const relations = {
  "==": (a, b) => isNear(a, b), "!=": (a, b) => !isNear(a, b),
  "<": (a, b) => a < b && !isNear(a, b), ">": (a, b) => a > b && !isNear(a, b),
  "<=": (a, b) => a <= b || isNear(a, b), ">=": (a, b) => a >= b || isNear(a, b),
};
const F = {
  abs: Math.abs, cbrt: Math.cbrt, exp: Math.exp, expm1: Math.expm1, hypot: Math.hypot, log10: Math.log10, log1p: Math.log1p,
  log2: Math.log2, max: Math.max, min: Math.min, pow: Math.pow, sign: Math.sign, sqrt: Math.sqrt,
  log: (value, base) => (base === undefined ? Math.log(value) : Math.log(value) / Math.log(base)),
  square: (value) => value * value, cube: (value) => value ** 3,
  nthRoot: (value, root = 2) => (value < 0 && root % 2 ? -Math.pow(-value, 1 / root) : Math.pow(value, 1 / root)),
  round: placed(away), floor: placed(nearly(Math.floor)), ceil: placed(nearly(Math.ceil)), fix: placed(nearly(Math.trunc)),
  mod: (a, b) => (b ? a - b * F.floor(a / b) : Number(a)),
  sum: (...values) => values.reduce((a, b) => a + b, 0), prod: (...values) => values.reduce((a, b) => a * b, 1),
  mean: (...values) => F.sum(...values) / values.length,
  median: (...values) => {
    const sorted = values.map(Number).sort((a, b) => a - b);
    return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
  },
  variance: (...values) => spread(values), std: (...values) => Math.sqrt(spread(values)),
  add: (...values) => F.sum(...values), subtract: (a, b) => a - b, multiply: (...values) => F.prod(...values),
  divide: (a, b) => a / b, unaryMinus: (value) => -value, isNaN: Number.isNaN,
  bitAnd: (a, b) => (whole(a, b), a & b), bitOr: (a, b) => (whole(a, b), a | b),
  compared: (values, signs) => signs.every((sign, place) => relations[sign](Number(values[place]), Number(values[place + 1]))),
};
