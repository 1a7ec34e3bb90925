import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Counter } from 'prom-client';
import { AppError, type Config, startAtZero } from '#platform';

const ALGORITHM = 'aes-256-gcm';
// 96 random bits: one key may encrypt at most 2^32 messages (NIST SP 800-38D).
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const TABLES = [
  'connection',
  'oauth_flow',
  'revocation',
  'webhook_endpoint',
  'webhook_subscription',
] as const;

const unreadable = new Counter({
  name: 'secrets_unreadable_total',
  help: 'Attempts to decrypt a stored secret that no key of ENCRYPTION_KEYS decrypts',
  labelNames: ['table'],
});
startAtZero(
  unreadable,
  TABLES.map((table) => ({ table })),
);

/** The row and column of a secret. The secret cannot be decrypted with another place, so a token copied into another row is useless. */
export interface SecretPlace {
  readonly table: (typeof TABLES)[number];
  /** The athlete's id, or the row's id in a table without an athlete. */
  readonly owner: string;
  readonly provider: string;
  readonly column: string;
}

/** The place of the secret that a vendor signs the events of a webhook subscription with. */
export function subscriptionPlace(vendor: string, topic: string): SecretPlace {
  return { table: 'webhook_subscription', owner: topic, provider: vendor, column: 'secret' };
}

/** The place of an endpoint's secret. A rotation moves the text to another column of the row, so both columns are one place. */
export function endpointPlace(id: string): SecretPlace {
  return { table: 'webhook_endpoint', owner: id, provider: '', column: 'secret' };
}

/** A secret cannot be decrypted: its key is not configured here, or the text was changed. An operator has to act. */
export class SecretUnreadable extends AppError {
  override readonly code = 'SECRET_UNREADABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 60;
}

/** Encrypts with the newest key and decrypts with any configured key. Sealed text is `version.base64url(nonce, ciphertext, tag)`. */
export class Vault {
  readonly keyVersion: number;
  private readonly keys: ReadonlyMap<number, Buffer>;

  constructor(keys: Config['encryptionKeys']) {
    this.keys = new Map(keys.map(({ version, key }) => [version, key]));
    this.keyVersion = Math.max(...this.keys.keys());
  }

  seal(secret: string, place: SecretPlace): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.key(this.keyVersion), nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(place, this.keyVersion));
    const bytes = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${this.keyVersion}.${Buffer.concat(bytes).toString('base64url')}`;
  }

  /** Throws SecretUnreadable, and counts it. */
  open(sealed: string, place: SecretPlace): string {
    try {
      return this.decrypted(sealed, place);
    } catch (error) {
      unreadable.inc({ table: place.table });
      throw error;
    }
  }

  private decrypted(sealed: string, place: SecretPlace): string {
    const [, digits, text] = /^(\d{1,9})\.([\w-]+)$/.exec(sealed) ?? [];
    const bytes = Buffer.from(text ?? '', 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SecretUnreadable(`A ${place.column} is not sealed`);
    const version = Number(digits);
    const decipher = createDecipheriv(ALGORITHM, this.key(version), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(place, version));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const secret = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([secret, decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new SecretUnreadable(`A ${place.column} was changed or belongs to another row`, { cause });
    }
  }

  private key(version: number): Buffer {
    const key = this.keys.get(version);
    if (!key) throw new SecretUnreadable(`ENCRYPTION_KEYS lacks version ${version}`);
    return key;
  }
}

/** Each part is preceded by its length, so that no two places give the same bytes. */
function associatedData({ table, owner, provider, column }: SecretPlace, version: number): Buffer {
  const parts = [table, owner, provider, column, String(version)].map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]));
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
