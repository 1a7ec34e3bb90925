import { createHash } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { pack, type Pack } from 'tar-stream';
import { Clock, LOGGER, type Logger } from '#platform';
import { PERSONAL_RECORDS, type PersonalRecords } from './personal-records.js';

interface ExportedFile {
  readonly file: string;
  readonly records: number;
  readonly sha256: string;
}

/**
 * All that is held about an athlete, made while it is read: each page of records is a file of NDJSON in the archive. The
 * manifest comes last, so an archive without one was cut off.
 */
@Injectable()
export class AccountExport {
  constructor(
    private readonly clock: Clock,
    @Inject(PERSONAL_RECORDS) private readonly records: readonly PersonalRecords[],
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  of(athleteId: string): Readable {
    const archive = pack();
    const gzip = createGzip();
    pipeline(archive, gzip, (err) => {
      if (err) this.logger.info({ err }, 'export cut off');
    });
    this.write(archive, athleteId).catch((error: unknown) => archive.destroy(error as Error));
    return gzip;
  }

  private async write(archive: Pack, athleteId: string): Promise<void> {
    const files: ExportedFile[] = [];
    const counts: Record<string, number> = {};
    for (const records of this.records) {
      const written = await this.writeRecords(archive, records, athleteId);
      files.push(...written);
      counts[records.name] = written.reduce((sum, file) => sum + file.records, 0);
    }
    const manifest = {
      athlete_id: athleteId,
      exported_at: new Date(this.clock.nowMs()).toISOString(),
      counts,
      files,
    };
    await addFile(archive, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
    archive.finalize();
  }

  private async writeRecords(
    archive: Pack,
    records: PersonalRecords,
    athleteId: string,
  ): Promise<ExportedFile[]> {
    const files: ExportedFile[] = [];
    for await (const page of records.read(athleteId)) {
      const file = `${records.name}-${String(files.length + 1).padStart(4, '0')}.ndjson`;
      const text = page.map((record) => `${JSON.stringify(record)}\n`).join('');
      await addFile(archive, file, text);
      files.push({ file, records: page.length, sha256: createHash('sha256').update(text).digest('hex') });
    }
    return files;
  }
}

/** Resolves when the reader has taken it: nothing piles up for one who reads slowly. */
function addFile(archive: Pack, name: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry({ name }, text, (error) => (error ? reject(error) : resolve()));
  });
}
