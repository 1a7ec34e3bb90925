// npm run reset: deletes .local/ and all data in it.
import './launcher/node-version.mjs';
import { localFolder } from './launcher/files.mjs';
import { removeRunFolder, runnerOf, throwAways } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';
import { Failure } from './launcher/terminal.mjs';

await run(async () => {
  const runner = runnerOf(localFolder);
  if (runner)
    throw new Failure(
      `Pacekeeper is running here, as process ${runner.pid}: stop it first (Ctrl-C there, or kill ${runner.pid}).`,
    );
  const folders = throwAways();
  const busy = folders.map(runnerOf).find(Boolean);
  if (busy)
    throw new Failure(
      `Tests or benchmarks are running here, as process ${busy.pid}: wait until they have ended.`,
    );
  for (const folder of [...folders, localFolder]) await removeRunFolder(folder);
});
