// npm run build: installs the packages and builds dist/.
import './launcher/node-version.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { run } from './launcher/run.mjs';

await run(async ({ children }) => {
  await ensurePackages(children);
  await ensureBuilt(children);
});
