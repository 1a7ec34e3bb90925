// npm run token -- --athlete ID [--admin]: a development token, alone on the last line.
import './launcher/node-version.mjs';
import { readArguments } from './launcher/arguments.mjs';
import { given } from './launcher/environment.mjs';
import { Failure } from './launcher/failure.mjs';
import { localFolder } from './launcher/paths.mjs';
import { run } from './launcher/run.mjs';
import { readSecrets } from './launcher/secrets.mjs';
import { makeToken } from './launcher/tokens.mjs';

const USAGE = 'npm run token -- --athlete ID [--admin]';
const OPTIONS = { athlete: { type: 'string' }, admin: { type: 'boolean' } };

await run(({ args }) => {
  const { values } = readArguments(args, OPTIONS, USAGE);
  if (!values.athlete) throw new Failure(`Whose token? Usage: ${USAGE}`);
  const secret = given.JWT_SECRET ?? readSecrets(localFolder)?.JWT_SECRET;
  if (!secret) throw new Failure('No secret to sign with: run `npm start` once, or set JWT_SECRET.');
  const signed = { secret, issuer: given.JWT_ISSUER, audience: given.JWT_AUDIENCE };
  console.log(makeToken({ subject: values.athlete, isAdmin: values.admin, ...signed }));
});
