import { type z } from 'zod';

/** A variable with the comment that `.env.example` has above it. */
interface Described {
  readonly name: string;
  readonly example: string;
  readonly meaning: string;
}

interface Section {
  readonly title: string;
  readonly variables: readonly Described[];
}

const HEAD = `# Configuration

This page is generated from \`.env.example\` and the schema by \`npm run openapi\`. All processes read the same variables, once, at their start. A process
that cannot start with them names every problem at once. An empty value counts as not set.
`;

/**
 * The reference of all environment variables: names, defaults and what is required come from the schema, sections and meanings from
 * \`.env.example\`. A variable of other programs (the simulator, Node) has no schema; its default is the example's value.
 */
export function configurationReference(
  exampleFile: string,
  schemas: Readonly<Record<string, z.ZodType>>,
): string {
  return [HEAD, ...sectionsOf(exampleFile).map((section) => table(section, schemas))].join('\n');
}

function sectionsOf(exampleFile: string): Section[] {
  const parts = exampleFile.split(/^# --- (.+?) -+$/m).slice(1);
  return parts.flatMap((title, index) => (index % 2 === 0 ? [section(title, parts[index + 1] ?? '')] : []));
}

/** The comment lines above a variable belong to it. */
function section(title: string, text: string): Section {
  const variables: Described[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const [, said] = /^# ?(.*)$/.exec(line) ?? [];
    const [, name, example] = /^([A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
    if (said !== undefined) comment.push(said);
    if (name === undefined) continue;
    variables.push({ name, example: example ?? '', meaning: comment.join(' ') });
    comment = [];
  }
  return { title, variables };
}

function table({ title, variables }: Section, schemas: Readonly<Record<string, z.ZodType>>): string {
  const rows = variables.map(
    (variable) =>
      `| \`${variable.name}\` | ${defaultOf(variable, schemas[variable.name])} | ${cell(variable.meaning)} |`,
  );
  return [
    `## ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    '',
    '| Variable | Default | Meaning |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function defaultOf({ example }: Described, schema: z.ZodType | undefined): string {
  if (!schema) return example ? `\`${example}\`` : '–';
  const unset = schema.safeParse(undefined);
  if (!unset.success) return '**required**';
  if (unset.data === undefined || (Array.isArray(unset.data) && unset.data.length === 0)) return '–';
  const shown = schema.safeParse(example);
  const isShown = shown.success && JSON.stringify(shown.data) === JSON.stringify(unset.data);
  const text = isShown ? example : typeof unset.data === 'string' ? unset.data : JSON.stringify(unset.data);
  return text === '' ? '–' : `\`${text}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
