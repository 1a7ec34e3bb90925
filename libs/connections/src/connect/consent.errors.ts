import { AppError } from '#platform';
import { type ConfirmOutcome, type MissingScope } from './connect-outcome.js';

// The errors of POST /confirm for an app. A person in a browser gets the same results as pages, from apps/api.

class ConsentUnknown extends AppError {
  override readonly code = 'CONSENT_UNKNOWN';
  override readonly kind = 'not_found';
  constructor() {
    super('This athlete has no such consent: confirm with the token of the athlete who began it');
  }
}

/** The consent was used, is too old, or is no longer accepted by the vendor. A retry cannot succeed; the athlete has to connect again. */
class ConsentLapsed extends AppError {
  override readonly code = 'CONSENT_LAPSED';
  override readonly kind = 'gone';
  constructor(title: string) {
    super(
      `This consent was used already or is too old: connect ${title} again (GET /v1/connections shows what is connected)`,
    );
  }
}

class ScopeMissing extends AppError {
  override readonly code = 'MISSING_SCOPE';
  override readonly kind = 'conflict';
  override readonly details: readonly string[];
  constructor(title: string, { missing }: MissingScope) {
    super(`${title} was not connected: a required permission was not granted`);
    this.details = missing.map((choice) => `scope: ${choice.join(' or ')} is missing`);
  }
}

class VendorConsentsMissing extends AppError {
  override readonly code = 'VENDOR_CONSENTS_MISSING';
  override readonly kind = 'conflict';
  constructor(title: string) {
    super(
      `${title} was not connected: its mandatory consents are not accepted. Accept them in the ${title} account, then connect again`,
    );
  }
}

class VendorAccountTaken extends AppError {
  override readonly code = 'VENDOR_ACCOUNT_TAKEN';
  override readonly kind = 'conflict';
  constructor(title: string) {
    super(`This ${title} account is connected to another athlete: disconnect it there first`);
  }
}

class OtherAccountConnected extends AppError {
  override readonly code = 'OTHER_ACCOUNT_CONNECTED';
  override readonly kind = 'conflict';
  constructor(title: string) {
    super(`The athlete has another ${title} account connected: disconnect that one first`);
  }
}

/** The vendor accepts no connection from this app. An operator has to act. */
class VendorRefusesApp extends AppError {
  override readonly code = 'VENDOR_REFUSES_APP';
  override readonly kind = 'bad_gateway';
  constructor(title: string) {
    super(`${title} accepts no new connections from this app at the moment: tell its operator`);
  }
}

class VendorSilent extends AppError {
  override readonly code = 'VENDOR_SILENT';
  override readonly kind = 'bad_gateway';
  constructor(title: string) {
    super(`${title} does not answer: connect again in a minute`);
  }
}

/** Returns undefined if the confirmation connected the account. */
export function consentError({ title, end }: ConfirmOutcome): AppError | undefined {
  switch (end.kind) {
    case 'connected':
      return undefined;
    case 'unknown':
      return new ConsentUnknown();
    case 'lapsed':
    case 'refused':
      return new ConsentLapsed(title);
    case 'missing_scope':
      return new ScopeMissing(title, end);
    case 'consents_missing':
      return new VendorConsentsMissing(title);
    case 'taken':
      return new VendorAccountTaken(title);
    case 'other_account':
      return new OtherAccountConnected(title);
    case 'app_refused':
      return new VendorRefusesApp(title);
    case 'vendor_away':
      return new VendorSilent(title);
  }
}
