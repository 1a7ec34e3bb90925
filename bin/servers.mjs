// A tool for developers: `node bin/servers.mjs -- <command…>` runs the command with the URLs of throw-away servers in its environment.
import './launcher/node-version.mjs';
import { run } from './launcher/run.mjs';
import { startThrowAwayServers } from './launcher/servers.mjs';
import { Failure } from './launcher/terminal.mjs';

await run(async ({ args, children }) => {
  const [file, ...rest] = args[0] === '--' ? args.slice(1) : args;
  if (!file) throw new Failure('The command is missing. Usage: node bin/servers.mjs -- <command…>');
  const urls = await startThrowAwayServers(children);
  const { code } = await children.run(file, file, rest, {
    stdio: 'inherit',
    env: { ...process.env, ...urls },
  });
  return code;
});
