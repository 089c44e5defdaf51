// The row passes when half of its named scores are there, whatever a single assertion says.
module.exports = (namedScores, context) => {
  const values = Object.values(namedScores);
  const score = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { pass: score >= 0.5, score, reason: `mean ${score}` };
};
