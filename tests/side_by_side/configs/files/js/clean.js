module.exports = (output) => output.replace(/^```\w*\n/, '').replace(/\n```$/, '').trim();
