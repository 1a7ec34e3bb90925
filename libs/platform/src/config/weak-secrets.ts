// Secrets that the operator generates. Secrets that a vendor issues are not checked.
const MADE_BY_US = ['JWT_SECRET', 'INGEST_API_KEYS'];

const FEWEST_BYTES = 6;
const GRAM = 4;
// Smallest allowed share of distinct groups of four characters. In 99 of 100 cases, 32 random hex digits contain no group twice.
const FEWEST_GRAMS = 0.6;
// Largest allowed share of characters whose code differs by at most 1 from the code of the character before. 32 random hex digits reach 0.7
// once in 10^11 draws. A limit of 0.5 would refuse one good secret in 450,000.
const MOST_STEPS = 0.7;
// Placeholder words from documentation and examples.
const EXAMPLE = /change[-_ ]?me|example|password|for[-_ ]tests?\b|replace[-_ ]?(me|this|with)|your[-_ ]/i;

/** Returns a sentence for each variable whose secret can be guessed. The sentence never contains the value. `ofVendors` names more variables. */
export function weakSecrets(set: Readonly<Record<string, string>>, ofVendors: readonly string[]): string[] {
  const texts = [...MADE_BY_US, ...ofVendors].flatMap((name) =>
    parts(set[name]).map((text) => ({ name, text })),
  );
  const keys = parts(set.ENCRYPTION_KEYS).map((part) => ({
    name: 'ENCRYPTION_KEYS',
    text: Buffer.from(part.replace(/^\d+:/, ''), 'base64').toString('latin1'),
  }));
  const weak = [...texts, ...keys].filter(({ text }) => isWeak(text)).map(({ name }) => name);
  return [...new Set(weak)].map(
    (name) =>
      `${name}: can be guessed (too few different characters, a pattern, or an example): make a random one`,
  );
}

/** Detects secrets that a person typed instead of generating them. It does not detect a phrase of real words. */
export function isWeak(secret: string): boolean {
  const bytes = [...Buffer.from(secret, 'latin1')];
  if (new Set(bytes).size < FEWEST_BYTES || EXAMPLE.test(secret)) return true;
  const grams = bytes.slice(GRAM - 1).map((_, at) => secret.slice(at, at + GRAM));
  if (new Set(grams).size < grams.length * FEWEST_GRAMS) return true;
  const steps = bytes.slice(1).filter((byte, at) => Math.abs(byte - (bytes[at] ?? 0)) <= 1);
  return steps.length > bytes.length * MOST_STEPS;
}

const parts = (text = '') =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
