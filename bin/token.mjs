// npm run token -- --athlete ID [--admin]: prints a development token, alone on the last line.
import './launcher/node-version.mjs';
import { localFolder } from './launcher/files.mjs';
import { run } from './launcher/run.mjs';
import { makeToken, readSecrets } from './launcher/secrets.mjs';
import { environment, Failure, readArguments } from './launcher/terminal.mjs';

const USAGE = 'npm run token -- --athlete ID [--admin]';
const OPTIONS = { athlete: { type: 'string' }, admin: { type: 'boolean' } };

await run(({ args }) => {
  const { values } = readArguments(args, OPTIONS, USAGE);
  if (!values.athlete) throw new Failure(`--athlete is missing. Usage: ${USAGE}`);
  const secret = environment.JWT_SECRET ?? readSecrets(localFolder)?.JWT_SECRET;
  if (!secret) throw new Failure('There is no secret to sign with: run `npm start` once, or set JWT_SECRET.');
  const signed = { secret, issuer: environment.JWT_ISSUER, audience: environment.JWT_AUDIENCE };
  console.log(makeToken({ subject: values.athlete, isAdmin: values.admin, ...signed }));
});
