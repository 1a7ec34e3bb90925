import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line written while a request is served carries along. */
export interface RequestContext {
  readonly requestId: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();
