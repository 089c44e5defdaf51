const word = 'Mira';

export default function named(output, { vars }) {
  return output.includes(vars.name ?? word);
}
