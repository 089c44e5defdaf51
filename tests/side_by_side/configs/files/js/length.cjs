function short(output) {
  return output.length <= 40;
}

function long(output) {
  return output.length > 40;
}

module.exports = { short, long };
