import { Inject, Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  AppError,
  type Config,
  CONFIG,
  Database,
  Gather,
  inBatches,
  loadSql,
  type Person,
  type PersonRole,
  type SessionVerifier,
  type SignedIn,
  Unauthenticated,
} from '#platform';
import { Athletes } from '../athletes.js';
import { newSecret } from '../connect/oauth-flows.js';
import { SessionCookie } from './session-cookie.js';

const beginSession = loadSql(import.meta.url, '../sql/begin-session.sql');
const beginSessionByCode = loadSql(import.meta.url, '../sql/begin-session-by-code.sql');
const findSessions = loadSql(import.meta.url, '../sql/find-sessions.sql');
const purgeSessions = loadSql(import.meta.url, '../sql/purge-sessions.sql');

const LONGEST_SECONDS = 12 * 3_600;
// A session that ended on another replica is refused here within this time.
const KEPT_MS = 5_000;
const MOST_REMEMBERED = 10_000;
const PURGE_BATCH = 1_000;
// A deletion of the account may delete the athlete's row between the two statements of a sign-in. The next try finds a new row.
const MAX_TRIES = 2;
const SECRET = /^[\w-]{43}$/;

/** The one-time code is unknown, used or too old. */
class SignInCodeInvalid extends AppError {
  override readonly code = 'SIGN_IN_CODE_INVALID';
  override readonly kind = 'unauthenticated';
  constructor() {
    super(
      'The sign-in link was used already, has expired or is unknown: get a new one, or sign in with a token',
    );
  }
}

interface SessionRow {
  readonly athlete_id: string;
  readonly role: PersonRole;
  readonly account: string;
  readonly subject: string;
  readonly issuer: string;
  readonly expires_at: Date;
}

/** A new session. Only its cookie has the secret. */
export interface BegunSession {
  readonly secret: string;
  readonly person: SignedIn;
}

interface Remembered {
  readonly person: SignedIn;
  readonly untilMs: number;
}

/**
 * Sessions of browsers: the cookie has a random secret, and the database has its hash. A session lasts 12 hours and no longer than its token.
 * It keeps the role of that token, also if the identity provider changes the role during these hours. The ages are judged by the database's
 * clock.
 */
@Injectable()
export class Sessions implements SessionVerifier {
  private readonly cookie: SessionCookie;
  private readonly remembered = new LRUCache<string, Remembered>({ max: MOST_REMEMBERED });
  // One statement at a time in each process: any number of wrong cookies occupies one connection.
  private readonly lookUps = new Gather<string, Remembered | undefined>((secrets) => this.load(secrets), {
    turnEnd: 'poll',
    mostAtOnce: 1,
  });

  constructor(
    private readonly database: Database,
    private readonly athletes: Athletes,
    @Inject(CONFIG) { http }: { readonly http: Pick<Config['http'], 'publicUrl'> },
  ) {
    this.cookie = new SessionCookie(http.publicUrl);
  }

  secretIn(cookies: string): string | undefined {
    return this.cookie.read(cookies);
  }

  recall(secret: string): SignedIn | undefined {
    const known = this.remembered.get(secret);
    return known && performance.now() < known.untilMs ? known.person : undefined;
  }

  async verify(secret: string): Promise<SignedIn> {
    const found = SECRET.test(secret) ? await this.lookUps.submit(secret) : undefined;
    if (!found) throw new Unauthenticated('The session is unknown or has ended: sign in again');
    this.remembered.set(secret, found);
    return found.person;
  }

  /** Begins a session for the person of a verified token. Throws Unauthenticated if the token has ended meanwhile. */
  async begin(person: Person): Promise<BegunSession> {
    const { role, account, subject, issuer, expiresAtMs } = person;
    const secret = newSecret();
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const athleteId = await this.athletes.ensure(person);
      const values = [hashOf(secret), athleteId, role, account, expiresAtMs / 1_000, LONGEST_SECONDS];
      const { rows } = await this.database.query<Pick<SessionRow, 'expires_at'>>(beginSession, values);
      if (rows[0])
        return {
          secret,
          person: personOf({ ...rows[0], athlete_id: athleteId, role, account, subject, issuer }, secret),
        };
    }
    throw new Unauthenticated('Token expired');
  }

  /** Begins a session for the person who made the code. Throws SignInCodeInvalid. */
  async beginByCode(code: string): Promise<BegunSession> {
    const secret = newSecret();
    const values = [hashOf(code), hashOf(secret), LONGEST_SECONDS];
    const { rows } = await this.database.query<SessionRow>(beginSessionByCode, values);
    if (!rows[0]) throw new SignInCodeInvalid();
    return { secret, person: personOf(rows[0], secret) };
  }

  /** This process refuses the session at once, other processes within 5 s. */
  async end(session: string): Promise<void> {
    await this.database.query('delete from session where hash = $1', [Buffer.from(session, 'hex')]);
    for (const [secret, { person }] of this.remembered.entries())
      if (person.session.hash === session) this.remembered.delete(secret);
  }

  /** Deletes the sessions that have expired, and returns their number. */
  purge(): Promise<number> {
    return inBatches(PURGE_BATCH, async (limit) => (await this.database.query(purgeSessions, [limit])).count);
  }

  private async load(secrets: readonly string[]): Promise<Array<Remembered | undefined>> {
    // The age of a session counts from the beginning of the load: the statement may have read the rows at any time since.
    const beganAtMs = performance.now();
    const hashes = secrets.map(hashOf);
    const { rows } = await this.database.query<SessionRow & { hash: string; ms_left: number }>(findSessions, [
      hashes,
    ]);
    const found = new Map(rows.map((row) => [row.hash, row]));
    return secrets.map((secret, index) => {
      const row = found.get(hashes[index]?.toString('hex') ?? '');
      return row && { person: personOf(row, secret), untilMs: beganAtMs + Math.min(KEPT_MS, row.ms_left) };
    });
  }
}

function personOf(row: SessionRow, secret: string): SignedIn {
  const { athlete_id: athleteId, role, account, subject, issuer, expires_at: expiresAt } = row;
  const session = {
    hash: hashOf(secret).toString('hex'),
    csrfToken: hash('sha256', `csrf ${secret}`, 'base64url'),
  };
  const expiresAtMs = expiresAt.getTime();
  return { kind: 'person', athleteId, subject, issuer, account, role, expiresAtMs, session };
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
