import { hash, timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, requestOf, Unauthenticated } from '#platform';

/** Lets whoever knows one of INGEST_API_KEYS in, in a time that tells neither which nor how nearly. */
@Injectable()
export class IngestKeyGuard implements CanActivate {
  private readonly digests: readonly Buffer[];

  constructor(@Inject(CONFIG) { ingestApiKeys }: Config) {
    this.digests = ingestApiKeys.map(digest);
  }

  canActivate(context: ExecutionContext): true {
    const given = requestOf(context).headers['x-api-key'];
    if (typeof given !== 'string') throw new Unauthenticated('An x-api-key is required');
    const wanted = digest(given);
    let matches = 0;
    for (const known of this.digests) matches += Number(timingSafeEqual(known, wanted));
    if (matches === 0) throw new Unauthenticated('The x-api-key is not known');
    return true;
  }
}

const digest = (text: string) => hash('sha256', text, 'buffer');
