import { Counter } from 'prom-client';
import { CORE_STREAM } from '#platform';
import { sleepRawReceived } from '../contract/sleep-raw-received.js';

export const NORMALISE_DURABLE = 'normalize-sleep-durable';

export type NormaliseResult = 'success' | 'schema_invalid' | 'retry' | 'dlq';

const messages = new Counter({
  name: 'normalize_sleep_messages_total',
  help: 'Messages of the sleep pipeline by what became of their delivery',
  labelNames: ['result', 'subject', 'stream', 'durable'],
});

export function countMessages(result: NormaliseResult, count = 1): void {
  const labels = { subject: sleepRawReceived.name, stream: CORE_STREAM, durable: NORMALISE_DURABLE };
  messages.inc({ result, ...labels }, count);
}
