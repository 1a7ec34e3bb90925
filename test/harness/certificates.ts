import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  readonly folder: string;
  /** A new CA, which no system trusts. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Makes a CA and a certificate for `localhost` and 127.0.0.1, in a folder that every user may read. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  chmodSync(folder, 0o755);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=a CA of our own',
  );
  openssl('req', ...KEY, '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=localhost');
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'request.pem', ...signing, '-out', 'cert.pem');
  const at = (name: string) => join(folder, name);
  return { folder, ca: at('ca.pem'), certificate: at('cert.pem'), key: at('key.pem') };
}

/** Copies the key for this user alone; Postgres refuses a key that others can read. */
export function keyFor(
  { folder, key }: Certificates,
  uid: number | undefined,
  gid: number | undefined,
): string {
  const own = join(folder, 'postgres.key');
  copyFileSync(key, own);
  chmodSync(own, 0o600);
  if (uid !== undefined && gid !== undefined) chownSync(own, uid, gid);
  return own;
}
