import { type ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { type Schema } from '../../app/api.js';
import { count, counted } from '../../format/numbers.js';
import { Card } from '../../parts/page.js';
import { Time } from '../../parts/time.js';
import { StartWorkerButton } from './start-worker.js';

type AttentionAnswer = Schema<'AttentionAnswer'>;

interface Matter {
  readonly id: string;
  /** Null while it cannot be counted. */
  readonly amount: number | null;
  readonly one: string;
  readonly many?: string;
  readonly text: string;
  readonly button: { readonly label: string; readonly to: string; readonly search?: Record<string, string> };
}

function mattersOf(attention: AttentionAnswer): Matter[] {
  return [
    {
      id: 'reauth',
      amount: attention.needs_reauth,
      one: 'connection needs consent again',
      many: 'connections need consent again',
      text: 'The vendor ended the permission. The athlete has to connect again.',
      button: { label: 'Show athletes', to: '/athletes', search: { connection: 'needs_reauth' } },
    },
    {
      id: 'stuck',
      amount: attention.stuck_failed,
      one: 'stream used up its attempts',
      many: 'streams used up their attempts',
      text: 'They are fetched again only after a reset.',
      button: { label: 'Show failures', to: '/failures' },
    },
    {
      id: 'letters',
      amount: attention.dead_letters,
      one: 'dead letter',
      text: 'Messages that could not be worked. Replay or discard them.',
      button: { label: 'Show dead letters', to: '/dead-letters' },
    },
    {
      id: 'endpoints',
      amount: attention.failing_endpoints,
      one: 'webhook endpoint fails',
      many: 'webhook endpoints fail',
      text: 'They failed 8 times in a row, or were disabled because they failed.',
      button: { label: 'Show endpoints', to: '/webhooks' },
    },
    {
      id: 'events',
      amount: attention.webhook_events_set_aside,
      one: 'vendor event set aside',
      many: 'vendor events set aside',
      text: 'All attempts failed. They are deleted WEBHOOK_EVENTS_RETENTION_DAYS later, a week by default.',
      button: { label: 'Show vendor events', to: '/vendor-events' },
    },
  ];
}

const openMattersOf = (attention: AttentionAnswer) => mattersOf(attention).filter(({ amount }) => amount);
const isNatsAway = (attention: AttentionAnswer) =>
  attention.dead_letters === null || attention.silent_consumers === null;
const NATS_AWAY = 'NATS does not answer';

/** All that waits for a person, in words. */
export function mattersIn(attention: AttentionAnswer): string[] {
  return [
    ...openMattersOf(attention).map(({ amount, one, many }) => counted(amount ?? 0, one, many)),
    ...(attention.silent_consumers ?? []).map(({ consumer }) => `The consumer ${consumer} is silent`),
    ...(isNatsAway(attention) ? [NATS_AWAY] : []),
  ];
}

/** Lists all that waits for a person, each with the page where it is solved. */
export function Attention({ attention }: { readonly attention: AttentionAnswer }) {
  const total = mattersIn(attention).length;
  if (total === 0) return null;
  return (
    <Card title="Needs a person" aside={counted(total, 'matter')}>
      <ul className="matters">
        {openMattersOf(attention).map(({ id, amount, one, many, text, button }) => (
          <MatterRow key={id} amount={amount} title={amount === 1 ? one : (many ?? `${one}s`)} text={text}>
            <Link className="button" to={button.to} search={button.search}>
              {button.label}
            </Link>
          </MatterRow>
        ))}
        {attention.silent_consumers?.map((consumer) => (
          <SilentConsumer key={consumer.consumer} consumer={consumer} />
        ))}
        {isNatsAway(attention) && (
          <MatterRow
            title={NATS_AWAY}
            text="Dead letters and consumers cannot be counted. Changes wait in Postgres until it is back."
          >
            <Link className="button" to="/settings" search={{ name: 'nats' }}>
              Show NATS settings
            </Link>
          </MatterRow>
        )}
      </ul>
    </Card>
  );
}

interface MatterRowProps {
  readonly amount?: number | null;
  readonly title: ReactNode;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}

function MatterRow({ amount, title, text, children }: MatterRowProps) {
  return (
    <li>
      <div>
        <strong>
          {typeof amount === 'number' && <b>{count(amount)}</b>} {title}
        </strong>
        <small>{text}</small>
      </div>
      {children}
    </li>
  );
}

function SilentConsumer({ consumer: silent }: { readonly consumer: Schema<'SilentConsumerAnswer'> }) {
  const { consumer, stream, waiting, unsettled, last_active_at } = silent;
  return (
    <MatterRow
      amount={waiting + unsettled}
      title={
        <>
          {waiting + unsettled === 1 ? 'message waits' : 'messages wait'} for the consumer{' '}
          <code>{consumer}</code>
        </>
      }
      text={
        <>
          No worker pulls from it in the stream {stream}. Last active:{' '}
          {last_active_at ? <Time at={last_active_at} as="relative" /> : 'never'}.
        </>
      }
    >
      <StartWorkerButton />
    </MatterRow>
  );
}
