import { claimThrowAway } from './run-folder.mjs';
import { startServers } from './servers.mjs';

/** Servers of this run alone, gone with it. Not durable unless asked: tests care for speed. */
export async function startThrowAwayServers(children, { isDurable = false } = {}) {
  const folder = await claimThrowAway(children);
  return startServers({ children, folder, isDurable, isThrowAway: true });
}
