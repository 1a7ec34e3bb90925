import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError, type Config } from '#platform';

const ALGORITHM = 'aes-256-gcm';
// 96 random bits: with one key, at most 2^32 messages (NIST SP 800-38D) before it has to be replaced.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where a secret belongs. It decrypts nowhere else: a row's token copied into another row is worth nothing. */
export interface Place {
  readonly table: 'connection' | 'oauth_flow' | 'revocation';
  /** The athlete, or the row where there is none. */
  readonly owner: string;
  readonly provider: string;
  readonly column: string;
}

/** A secret that cannot be read: its key is not configured here, or it was tampered with. An operator has to look. */
export class SecretUnreadable extends AppError {
  override readonly code = 'CONNECTIONS.SECRET_UNREADABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 60;
}

/** Encrypts with the newest key and decrypts with every one. Sealed text is `version.base64url(nonce, ciphertext, tag)`. */
export class Vault {
  readonly keyVersion: number;
  private readonly keys: ReadonlyMap<number, Buffer>;

  constructor(keys: Config['encryptionKeys']) {
    this.keys = new Map(keys.map(({ version, key }) => [version, key]));
    this.keyVersion = Math.max(...this.keys.keys());
  }

  seal(secret: string, place: Place): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.key(this.keyVersion), nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(place, this.keyVersion));
    const bytes = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${this.keyVersion}.${Buffer.concat(bytes).toString('base64url')}`;
  }

  open(sealed: string, place: Place): string {
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
      throw new SecretUnreadable(`A ${place.column} does not belong where it stands`, { cause });
    }
  }

  private key(version: number): Buffer {
    const key = this.keys.get(version);
    if (!key) throw new SecretUnreadable(`ENCRYPTION_KEYS lacks version ${version}`);
    return key;
  }
}

/** Each part after its length: no two places make the same bytes. */
function associatedData({ table, owner, provider, column }: Place, version: number): Buffer {
  const parts = [table, owner, provider, column, String(version)].map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]));
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
