// Calls of the launcher to Pacekeeper's API and to the simulator's control routes.
import { Failure } from './terminal.mjs';

/** Returns the JSON answer of Pacekeeper's API. Throws if the API does not answer, or refuses the call. */
export function call({ api, token }, method, path, body) {
  return answerOf(`${method} ${path}`, `${api}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && JSON_BODY) },
    body: body && JSON.stringify(body),
  });
}

/** Sends an order to the simulator, below `/__sim/`. */
export function control(simulator, path, body) {
  return answerOf(`simulator ${path}`, `${simulator}/__sim/${path}`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify(body),
  });
}

const JSON_BODY = { 'content-type': 'application/json' };

async function answerOf(name, url, options) {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Failure(`${name}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
