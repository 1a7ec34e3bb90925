// The link that signs an operator in to the console once. The code stands in the fragment, which a browser sends to nobody; the page posts it.
import { Failure } from './terminal.mjs';

/** The link for the system of this run.json. Without tokens, the plain address; undefined if there is no console. */
export async function consoleLink({ api, console: address, tokens }) {
  if (!address || !tokens.admin) return address;
  const answer = await fetch(`${api}/v1/session/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.admin}` },
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Failure(`No link to the console: ${answer.status} ${await answer.text()}`);
  const { code } = await answer.json();
  return `${address}#code=${code}`;
}
