import { connect, type NatsConnection } from '@nats-io/transport-node';

const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_PAUSE_MS = 250;
const PING_MS = 2_500;

/** A connection that comes back by itself, for ever. */
export function connectNats(url: string, name: string): Promise<NatsConnection> {
  return connect({
    servers: url,
    name,
    timeout: CONNECT_TIMEOUT_MS,
    reconnectTimeWait: RECONNECT_PAUSE_MS,
    maxReconnectAttempts: -1,
    // By default a half-open link is noticed after four minutes, and two refused logins end the client for good.
    pingInterval: PING_MS,
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // The stack of every request's caller, in case it fails: a tenth of what a request costs.
    noAsyncTraces: true,
  });
}

/** Asked before the server is: a request would wait out its whole time-out to learn what the client knows already. */
export interface Link {
  isUp(): boolean;
}

export function watchLink(connection: NatsConnection): Link {
  let up = true;
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') up = false;
      if (type === 'reconnect') up = true;
    }
    up = false;
  })();
  return { isUp: () => up };
}
