import { randomToken, type VendorClock, withDeadline } from '../core/index.js';
import { CHALLENGE_TIMEOUT_MS } from './oura-facts.js';

type ChallengeOutcome = { verified: true } | { verified: false; reason: string };

/** Verifies a callback with an unsigned GET, as Oura does. */
export async function challengeCallback(
  clock: VendorClock,
  callbackUrl: string,
  verificationToken: string,
): Promise<ChallengeOutcome> {
  const challenge = randomToken(16);
  const url = new URL(callbackUrl);
  url.searchParams.set('verification_token', verificationToken);
  url.searchParams.set('challenge', challenge);

  return withDeadline(clock, CHALLENGE_TIMEOUT_MS, async (signal) => {
    try {
      const answer = await fetch(url, { redirect: 'manual', signal });
      if (answer.status !== 200) return refused(`it answered ${answer.status}`);
      const isEcho = echoes(await answer.text(), challenge);
      return isEcho ? { verified: true } : refused('it did not answer {"challenge": "<the challenge>"}');
    } catch {
      return refused(signal.aborted ? 'it took longer than 10 seconds' : 'it cannot be reached');
    }
  });
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
