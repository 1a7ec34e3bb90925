import { type CallbackEnd, type ConfirmEnd, type Provider } from '#connections';
import { VENDORS, type Vendor } from '#vendors';

export interface CallbackAnswer {
  readonly status: number;
  /** The `result` that the app gets. */
  readonly result: 'connected' | 'denied' | 'missing_scope' | 'already_connected' | 'failed';
  /** The error that a program gets, if there is one. */
  readonly code?: string;
  readonly missing?: string;
  /** For the person: what happened, and what to do. */
  readonly tone: 'good' | 'neutral' | 'bad';
  readonly heading: string;
  readonly text: string;
  readonly advice: string;
}

const TRY_AGAIN = 'Go back to the app and connect again.';

/** Every outcome except a consent that waits for its confirmation. */
type End = Exclude<CallbackEnd, { kind: 'confirm' }> | ConfirmEnd;

export function answerOf(provider: Provider, end: End): CallbackAnswer {
  const { title, oauth }: Vendor = VENDORS[provider];
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
        code: 'CONSENT_DENIED',
        tone: 'neutral',
        heading: `${title} was not connected`,
        text: 'You chose not to allow it, so nothing was stored.',
        advice: 'If you change your mind, connect again from the app.',
      };
    case 'missing_scope': {
      const missing = end.missing.map((choice) => choice.map((scope) => `“${scope}”`).join(' or '));
      const labels = oauth.scopeLabels ?? {};
      const boxes = end.missing.map(([scope = '']) => (labels[scope] ? `“${labels[scope]}”` : scope));
      return {
        status: 403,
        result: 'missing_scope',
        code: 'MISSING_SCOPE',
        missing: end.missing.map(([scope]) => scope).join(','),
        tone: 'bad',
        heading: `${title} needs more permission`,
        text: `Not granted: ${missing.join(', and ')}. Without that nothing can be imported, so nothing was stored.`,
        advice: `${TRY_AGAIN} Leave ${boxes.join(' and ')} ticked on ${title}’s page.`,
      };
    }
    case 'consents_missing':
      return {
        status: 409,
        result: 'failed',
        code: 'VENDOR_CONSENTS_MISSING',
        tone: 'bad',
        heading: `${title} needs your consents first`,
        text: `Your ${title} account has not accepted ${title}’s mandatory consents, so nothing was stored.`,
        advice: `Accept them in the settings of your ${title} account, then connect again from the app.`,
      };
    case 'taken':
      return {
        status: 409,
        result: 'already_connected',
        code: 'VENDOR_ACCOUNT_TAKEN',
        tone: 'bad',
        heading: `This ${title} account is connected already`,
        text: 'It belongs to another account of this app. Nothing was changed.',
        advice: `Sign in with that account and disconnect ${title} there, or choose another ${title} account.`,
      };
    case 'other_account':
      return {
        status: 409,
        result: 'already_connected',
        code: 'OTHER_ACCOUNT_CONNECTED',
        tone: 'bad',
        heading: `You have another ${title} account connected`,
        text: 'Two people’s activities are never mixed, so the connection you have was kept as it is.',
        advice: `To change over, disconnect ${title} in the app first, then connect this account.`,
      };
    case 'stale':
    case 'lapsed':
    case 'unknown':
      return {
        status: 400,
        result: 'failed',
        code: 'CONSENT_LAPSED',
        tone: 'bad',
        heading: 'This link does not work any more',
        text: 'It was used already, is older than ten minutes, or is not complete. If you have just connected, all is well.',
        advice: `Otherwise: ${TRY_AGAIN.charAt(0).toLowerCase()}${TRY_AGAIN.slice(1)}`,
      };
    case 'refused':
      return {
        status: 400,
        result: 'failed',
        code: 'CONSENT_REFUSED',
        tone: 'bad',
        heading: `${title} was not connected`,
        text: `${title} did not confirm it, or its code was too old. Nothing was stored.`,
        advice: TRY_AGAIN,
      };
    case 'app_refused':
      return {
        status: 502,
        result: 'failed',
        code: 'VENDOR_REFUSES_APP',
        tone: 'bad',
        heading: `${title} was not connected`,
        text: `${title} accepts no new connections from this app at the moment. This is not your mistake, and nothing was stored.`,
        advice: 'Please tell the people who run the app.',
      };
    case 'vendor_away':
      return {
        status: 502,
        result: 'failed',
        code: 'VENDOR_SILENT',
        tone: 'bad',
        heading: `${title} does not answer`,
        text: 'It may be busy or out of order for a moment. Nothing was stored.',
        advice: 'Wait a minute, then connect again from the app.',
      };
  }
}

/** Our own database is unavailable, so the consent's athlete is unknown. */
export const awayAnswer: CallbackAnswer = {
  status: 503,
  result: 'failed',
  code: 'DEPENDENCY_UNAVAILABLE',
  tone: 'bad',
  heading: 'That did not work just now',
  text: 'Something of ours is out of order for a moment.',
  advice: 'Wait a minute and load this page again, or connect again from the app.',
};

/** The person declined on our confirmation page, which shows the account's name. */
export function declinedAnswer(title: string): CallbackAnswer {
  return {
    status: 200,
    result: 'denied',
    tone: 'neutral',
    heading: `${title} was not connected`,
    text: 'You said no, so nothing was stored.',
    advice: `To connect it to your own account, begin in the app. ${title}’s settings list the apps you have allowed; you can remove this one there.`,
  };
}

/** The form came without its cookie, or from another page. */
export const strangeFormAnswer: CallbackAnswer = {
  status: 403,
  result: 'failed',
  code: 'FORBIDDEN',
  tone: 'bad',
  heading: 'Your browser was not recognised',
  text: 'The answer did not come from the page that asked, or your browser keeps no cookies. Nothing was stored.',
  advice: 'Allow cookies for this site, go back to the app and connect again.',
};

export function notOfferedAnswer(text: string): CallbackAnswer {
  return {
    status: 404,
    result: 'failed',
    code: 'NOT_FOUND',
    tone: 'bad',
    heading: 'This cannot be connected here',
    text: `${text}.`,
    advice: 'Go back to the app and choose another.',
  };
}
