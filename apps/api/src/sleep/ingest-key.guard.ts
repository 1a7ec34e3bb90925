import { hash, timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { ServiceKeys } from '#connections';
import {
  type Config,
  CONFIG,
  isServiceKey,
  requestOf,
  requireScope,
  type SenderCheck,
  Unauthenticated,
} from '#platform';

const SCOPES = ['ingest'];

/**
 * Requires one of INGEST_API_KEYS, or a service key with the scope `ingest`. The comparison with INGEST_API_KEYS takes constant time, so
 * that its duration tells nothing about these keys.
 */
@Injectable()
export class IngestKeyGuard implements CanActivate, SenderCheck {
  private readonly digests: readonly Buffer[];

  constructor(
    @Inject(CONFIG) { ingestApiKeys }: Config,
    private readonly serviceKeys: ServiceKeys,
  ) {
    this.digests = ingestApiKeys.map(digest);
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    return this.admit(requestOf(context));
  }

  admit(request: FastifyRequest): true | Promise<true> {
    const given = ingestKeyOf(request);
    if (given === undefined) throw new Unauthenticated('An x-api-key is required');
    if (this.isConfigured(given)) return true;
    if (isServiceKey(given)) return this.admitServiceKey(given);
    throw new Unauthenticated('The x-api-key is not known');
  }

  private isConfigured(given: string): boolean {
    const wanted = digest(given);
    let matches = 0;
    for (const known of this.digests) matches += Number(timingSafeEqual(known, wanted));
    return matches > 0;
  }

  private async admitServiceKey(given: string): Promise<true> {
    requireScope(this.serviceKeys.recall(given) ?? (await this.serviceKeys.verify(given)), SCOPES);
    return true;
  }
}

/** The `x-api-key`, or else a service key as bearer token. */
export function ingestKeyOf({ headers }: FastifyRequest): string | undefined {
  const { 'x-api-key': ingestKey, authorization = '' } = headers;
  if (typeof ingestKey === 'string') return ingestKey;
  return /^Bearer +(pk_[\w-]+)$/i.exec(authorization)?.[1];
}

const digest = (text: string) => hash('sha256', text, 'buffer');
