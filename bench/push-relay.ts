import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import {
  connectNats,
  CORE_STREAM,
  ensureStream,
  EventBus,
  HealthRegistry,
  timeScale,
  Workers,
} from '#platform';
import { eventStreams } from '../libs/platform/src/nats/streams.js';
import { ChangeRelay } from '../libs/push/src/relay/change-relay.js';
import { RelayStore } from '../libs/push/src/relay/relay-store.js';
import { type Finding } from './results.js';
import { type ChangeLog, comparison, logger, type Pair } from './push-log.js';

const ROUNDS = 5;
const CHANGES = 10_000;
const TOTAL = ROUNDS * CHANGES;
const GOAL = 5_000;

/** Changes a second from the log to NATS. */
export async function measureRelay(logs: Pair<ChangeLog>): Promise<{ findings: Finding[]; raw: unknown }> {
  const connection = await connectNats(process.env.NATS_URL ?? '', 'bench');
  const manager = await jetstreamManager(connection);
  for (const stream of eventStreams({ dlqRetentionDays: 14, replicas: 1 }))
    await ensureStream(manager, stream);
  const messages = async () => (await manager.streams.info(CORE_STREAM)).state.messages;
  const before = await messages();
  const relays = [relayOf(logs[0], connection), relayOf(logs[1], connection)] as const;
  const rounds: Array<Pair<number>> = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push([await timed(logs[0], relays[0]), await timed(logs[1], relays[1])]);
  const lacking = 2 * TOTAL - ((await messages()) - before);
  await connection.close();

  const msOf = (side: 0 | 1) => rounds.reduce((sum, ms) => sum + ms[side], 0) / ROUNDS;
  const slowest = Math.max(msOf(0), msOf(1));
  const perSecond = (CHANGES * 1_000) / slowest;
  return {
    findings: [
      {
        what: `relay into NATS, ${TOTAL.toLocaleString('en')} changes, with or without old ones`,
        measured: `≥ ${perSecond.toFixed(0)}/s`,
        goal: `≥ ${GOAL.toLocaleString('en')}/s`,
        met: perSecond >= GOAL,
      },
      comparison(`relay, ${CHANGES.toLocaleString('en')} changes`, [msOf(0), msOf(1)]),
      { what: 'relay: changes not in NATS', measured: String(lacking), goal: '0', met: lacking === 0 },
    ],
    raw: { changesOfRound: CHANGES, msOfRounds: rounds, lacking },
  };
}

/** The product's relay. It is not started: `drain` does its work at once. */
function relayOf({ database, news }: ChangeLog, connection: NatsConnection): ChangeRelay {
  const workers = new Workers(new HealthRegistry(), timeScale(1), logger);
  return new ChangeRelay(
    new RelayStore(database),
    new EventBus(connection),
    connection,
    workers,
    news,
    logger,
  );
}

async function timed(log: ChangeLog, relay: ChangeRelay): Promise<number> {
  await log.append(CHANGES);
  const begunAtMs = performance.now();
  await relay.drain();
  return performance.now() - begunAtMs;
}
