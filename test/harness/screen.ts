import { spawnSync } from 'node:child_process';

/** The screen's lines after a terminal of 80 columns has shown this output. Knows only the codes that the launcher writes. */
export function screenAfter(output: string): string[] {
  const lines: string[] = [''];
  let row = 0;
  let column = 0;
  const put = (text: string) => {
    lines[row] = lines[row]!.slice(0, column).padEnd(column) + text + lines[row]!.slice(column + text.length);
    column += text.length;
  };
  for (const [token, count, code] of output.matchAll(/\x1b\[(\d*)([A-Za-z])|[^]/g)) {
    if (token === '\r') column = 0;
    else if (token === '\n') {
      row += 1;
      lines[row] ??= '';
    } else if (code === undefined) put(token);
    else if (code === 'A') row = Math.max(0, row - Number(count || 1));
    else if (code === 'K' || code === 'J') {
      lines[row] = lines[row]!.slice(0, column);
      if (code === 'J') lines.length = row + 1;
    } else if (code !== 'm') throw new Error(`the screen does not know the code ${code}`);
  }
  return lines.map((line) => line.trimEnd());
}

/** Runs a module in a pseudo-terminal and returns all that it wrote to it. */
export function inTerminal(program: string, env: NodeJS.ProcessEnv = {}): string {
  const node = `${process.execPath} --input-type=module --eval "$PROGRAM"`;
  const { stdout, status } = spawnSync('script', ['-qec', node, '/dev/null'], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: undefined, TERM: 'xterm', ...env, PROGRAM: program },
  });
  if (status !== 0) throw new Error(`the program ended with ${status}:\n${stdout}`);
  return stdout;
}
