// npm run reset: wipes .local/ and all data in it.
import './launcher/node-version.mjs';
import { Failure } from './launcher/failure.mjs';
import { localFolder } from './launcher/paths.mjs';
import { removeRunFolder, runnerOf, throwAways } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';

await run(async () => {
  const runner = runnerOf(localFolder);
  if (runner)
    throw new Failure(
      `Pacekeeper is running here, as process ${runner.pid}: stop it first (Ctrl-C there, or kill ${runner.pid}).`,
    );
  const folders = throwAways();
  const busy = folders.map(runnerOf).find(Boolean);
  if (busy)
    throw new Failure(`Tests or benchmarks are running here, as process ${busy.pid}: let them end first.`);
  for (const folder of [...folders, localFolder]) await removeRunFolder(folder);
});
