import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const FOLDERS = ['apps', 'libs', 'bench', 'bin', 'examples', 'migrations', 'test'];
const SOURCE = /\.(tsx?|mjs|css|sql|lua)$/;
const COMMENT = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/|--)\s?(.*?)(?:\*\/)?$/;
/** A sentence that begins with these words has no subject. */
const RIDDLE = /^(What|Who|Whoever|Whose|Whatever|Of|One that|Those who|Nobody|Somebody|Anybody|Everybody)\b/;

interface Comment {
  readonly place: string;
  readonly text: string;
}

describe('comments', () => {
  it('no sentence of a comment begins with What, Who, Of or another word that hides the subject', () => {
    const riddles = FOLDERS.flatMap(filesBelow)
      .flatMap(commentsOf)
      .flatMap(({ place, text }) => sentencesOf(text).map((sentence) => ({ place, sentence })))
      .filter(({ sentence }) => RIDDLE.test(sentence))
      .map(({ place, sentence }) => `${place} ${sentence}`);
    expect(riddles).toEqual([]);
  });
});

describe('exported types', () => {
  it('no two libs export a type or class of the same name', () => {
    const libsOf = new Map<string, Set<string>>();
    for (const file of filesBelow('libs').filter(isOfTheProduct))
      for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
        /^export (?:abstract )?(?:class|interface|type) (\w+)/gm,
      ))
        libsOf.set(name, (libsOf.get(name) ?? new Set()).add(file.split(path.sep)[1] ?? ''));
    expect([...libsOf].filter(([, libs]) => libs.size > 1).map(([name, libs]) => [name, ...libs])).toEqual(
      [],
    );
  });
});

/** The training world is left out. It has its own copies of the vendors' wire types, because it shares no code with the product. */
function isOfTheProduct(file: string): boolean {
  return file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.includes('training-world');
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** Adjacent comment lines are one text. */
function commentsOf(file: string): Comment[] {
  const comments: Comment[] = [];
  let lines: string[] = [];
  let begunAt = 0;
  const end = () => {
    if (lines.length > 0) comments.push({ place: `${file}:${begunAt}`, text: lines.join('\n') });
    lines = [];
  };
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const [, text] = COMMENT.exec(line) ?? [];
    if (text === undefined || line.trimStart().startsWith('/*')) end();
    if (text === undefined) continue;
    if (lines.length === 0) begunAt = index + 1;
    lines.push(text.trim());
  }
  end();
  return comments;
}

/** A sentence ends after `.`, `!`, `?`, `:` or `;`, at an empty line and before a list item. */
function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.!?:;])\s+|\n\s*\n|\n(?=-\s)/)
    .map((sentence) => sentence.replace(/^[-\s]+/, ''))
    .filter(Boolean);
}
