// An assertion in a file of its own: the answer thanks, and blames nobody.
module.exports = (output, context) => {
  const text = output.toLowerCase();
  const thanks = text.includes('thank');
  return {
    pass: thanks && !text.includes('your fault'),
    score: thanks ? 1 : 0,
    reason: thanks ? 'thanks' : `no thanks to ${context.vars.name}`,
  };
};
