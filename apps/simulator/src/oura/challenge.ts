import { randomToken, type VendorClock } from '../core/index.js';
import { CHALLENGE_TIMEOUT_MS } from './oura-facts.js';

export type ChallengeOutcome = { verified: true } | { verified: false; reason: string };

/** The unsigned GET that Oura sends while the POST that creates the subscription is still open. */
export async function challengeCallback(
  clock: VendorClock,
  callbackUrl: string,
  verificationToken: string,
): Promise<ChallengeOutcome> {
  const challenge = randomToken(16);
  const url = new URL(callbackUrl);
  url.searchParams.set('verification_token', verificationToken);
  url.searchParams.set('challenge', challenge);

  const controller = new AbortController();
  const cancelTimeout = clock.after(CHALLENGE_TIMEOUT_MS, () => controller.abort());
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: controller.signal });
    if (answer.status !== 200) return refused(`it answered ${answer.status}`);
    const isEcho = echoes(await answer.text(), challenge);
    return isEcho ? { verified: true } : refused('it did not answer {"challenge": "<the challenge>"}');
  } catch {
    return refused(controller.signal.aborted ? 'it took longer than 10 seconds' : 'it cannot be reached');
  } finally {
    cancelTimeout();
  }
}

function echoes(body: string, challenge: string): boolean {
  try {
    return (JSON.parse(body) as { challenge?: unknown } | null)?.challenge === challenge;
  } catch {
    return false;
  }
}

function refused(reason: string): ChallengeOutcome {
  return { verified: false, reason };
}
