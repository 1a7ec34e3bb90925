import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';

/** The text of each file of an account's archive, by its name. */
export async function filesOf(archive: Buffer): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const entries = extract();
  entries.end(gunzipSync(archive));
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    files.set(entry.header.name, Buffer.concat(chunks).toString());
  }
  return files;
}
