// npm run console: prints a fresh link that signs an operator in to the console of the running `npm start`, alone on the last line.
import './launcher/node-version.mjs';
import path from 'node:path';
import { consoleLink } from './launcher/console-link.mjs';
import { localFolder, readJson } from './launcher/files.mjs';
import { runnerOf } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';
import { Failure, readArguments } from './launcher/terminal.mjs';

const USAGE = 'npm run console [-- --local DIR]';
const OPTIONS = { local: { type: 'string', default: localFolder } };

await run(async ({ args }) => {
  const { values } = readArguments(args, OPTIONS, USAGE);
  const folder = path.resolve(values.local);
  const description = runnerOf(folder) && readJson(path.join(folder, 'run.json'));
  if (!description) throw new Failure('Pacekeeper is not running here: run `npm start` first.');
  if (!description.console)
    throw new Failure('The console is not built here: stop `npm start`, run `npm run build`, start again.');
  console.log(await consoleLink(description));
});
