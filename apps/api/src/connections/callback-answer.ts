import { type ConnectOutcome } from '#connections';

export interface CallbackAnswer {
  readonly status: number;
  /** What the app is told. */
  readonly result: 'connected' | 'denied' | 'missing_scope' | 'already_connected' | 'failed';
  readonly missing?: string;
  /** What the person is told: what happened, and what to do. */
  readonly tone: 'good' | 'neutral' | 'bad';
  readonly heading: string;
  readonly text: string;
  readonly advice: string;
}

// Strava's words for what its boxes mean; the others' scopes explain themselves.
const MEANINGS: Readonly<Record<string, string>> = {
  read: 'View data about your public profile',
  'activity:read': 'View data about your activities',
  'activity:read_all': 'View data about your private activities',
};

const TRY_AGAIN = 'Go back to the app and connect again.';

export function answerOf({ title, end }: ConnectOutcome): CallbackAnswer {
  switch (end.kind) {
    case 'connected':
      return {
        status: 200,
        result: 'connected',
        tone: 'good',
        heading: `${title} is connected`,
        text: 'Your data is on its way. The first import may take a while.',
        advice: 'You can close this page.',
      };
    case 'denied':
      return {
        status: 403,
        result: 'denied',
        tone: 'neutral',
        heading: `${title} was not connected`,
        text: 'You chose not to allow it, so nothing was stored.',
        advice: 'If you change your mind, connect again from the app.',
      };
    case 'missing_scope': {
      const missing = end.missing.map((choice) => choice.map((scope) => `“${scope}”`).join(' or '));
      const boxes = end.missing.map(([scope = '']) => (MEANINGS[scope] ? `“${MEANINGS[scope]}”` : scope));
      return {
        status: 403,
        result: 'missing_scope',
        missing: end.missing.map(([scope]) => scope).join(','),
        tone: 'bad',
        heading: `${title} needs more permission`,
        text: `Not granted: ${missing.join(', and ')}. Without that nothing can be imported, so nothing was stored.`,
        advice: `${TRY_AGAIN} Leave ${boxes.join(' and ')} ticked on ${title}’s page.`,
      };
    }
    case 'taken':
      return {
        status: 409,
        result: 'already_connected',
        tone: 'bad',
        heading: `This ${title} account is connected already`,
        text: 'It belongs to another account of this app. Nothing was changed.',
        advice: `Sign in with that account and disconnect ${title} there, or choose another ${title} account.`,
      };
    case 'other_account':
      return {
        status: 409,
        result: 'already_connected',
        tone: 'bad',
        heading: `You have another ${title} account connected`,
        text: 'Two people’s activities are never mixed, so the connection you have was kept as it is.',
        advice: `To change over, disconnect ${title} in the app first, then connect this account.`,
      };
    case 'stale':
      return {
        status: 400,
        result: 'failed',
        tone: 'bad',
        heading: 'This link does not work any more',
        text: 'It was used already, is older than ten minutes, or is not complete. If you have just connected, all is well.',
        advice: `Otherwise: ${TRY_AGAIN.charAt(0).toLowerCase()}${TRY_AGAIN.slice(1)}`,
      };
    case 'refused':
      return {
        status: 400,
        result: 'failed',
        tone: 'bad',
        heading: `${title} was not connected`,
        text: `${title} did not confirm it. Nothing was stored.`,
        advice: TRY_AGAIN,
      };
    case 'app_refused':
      return {
        status: 502,
        result: 'failed',
        tone: 'bad',
        heading: `${title} was not connected`,
        text: `${title} lets this app connect nobody at the moment. That is not your doing, and nothing was stored.`,
        advice: 'Please tell whoever runs the app.',
      };
    case 'vendor_away':
      return {
        status: 502,
        result: 'failed',
        tone: 'bad',
        heading: `${title} does not answer`,
        text: 'It may be busy or out of order for a moment. Nothing was stored.',
        advice: 'Wait a minute, then connect again from the app.',
      };
  }
}

/** Our own database is away, so nobody can say whose consent this is. */
export const awayAnswer: CallbackAnswer = {
  status: 503,
  result: 'failed',
  tone: 'bad',
  heading: 'That did not work just now',
  text: 'Something of ours is out of order for a moment.',
  advice: 'Wait a minute and load this page again, or connect again from the app.',
};
