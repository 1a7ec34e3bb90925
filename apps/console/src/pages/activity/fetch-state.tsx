import { type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../../app/api.js';
import { useSession } from '../../app/session.js';
import { count } from '../../format/numbers.js';
import { fetchSentence } from '../../format/stream-fetch.js';
import { ActionButton } from '../../parts/action-button.js';
import { Card, Facts } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { Time, useNow } from '../../parts/time.js';
import { FetchDiagram } from './fetch-diagram.js';
import { ACTIVITY_KEY, type Detail, type Diagnosis, diagnosisQuery, type Streams } from './queries.js';

interface FetchStateProps {
  readonly activity: Detail;
  readonly streams: Streams | undefined;
}

/** Where the fetch of the activity's streams stands, and why. */
export function FetchState({ activity, streams }: FetchStateProps) {
  const isOperator = useSession().role === 'admin';
  return (
    <Card title="Streams">
      {isOperator ? (
        <ForOperator activity={activity} />
      ) : (
        <>
          <State
            status={activity.stream_fetch_status}
            isManual={activity.manual}
            nextAttemptAt={streams?.retry_at}
          />
          <Facts
            facts={[
              ...(streams?.error ? [['Reason', streams.error] as const] : []),
              ...(streams?.retry_at
                ? [['Next attempt', <Time key="next" at={streams.retry_at} />] as const]
                : []),
              ...(streams?.fetched_at
                ? [['Fetched', <Time key="fetched" at={streams.fetched_at} />] as const]
                : []),
            ]}
          />
        </>
      )}
    </Card>
  );
}

function State(facts: Parameters<typeof fetchSentence>[0]) {
  return (
    <>
      <FetchDiagram status={facts.status} />
      <p>{fetchSentence(facts, useNow())}</p>
    </>
  );
}

function ForOperator({ activity }: { readonly activity: Detail }) {
  const query = useQuery(diagnosisQuery(activity.id));
  return (
    <>
      <Loaded query={query} lines={6}>
        {({ stream, manual, connection_status }) => (
          <>
            <State
              status={stream.status}
              isManual={manual}
              nextAttemptAt={stream.next_attempt_at}
              attemptsLeft={stream.attempts_left}
            />
            <Facts facts={factsOf(stream, connection_status)} />
          </>
        )}
      </Loaded>
      <ActionButton
        label="Reset stream fetch"
        run={async () => {
          const { status } = await answerOf(
            api.POST('/admin/activities/{id}/reset-stream-fetch', { params: { path: { id: activity.id } } }),
          );
          return `The fetch is ${status} again.`;
        }}
        refreshes={[ACTIVITY_KEY]}
      />
    </>
  );
}

function factsOf(
  stream: Diagnosis['stream'],
  connection: string | null,
): ReadonlyArray<readonly [string, ReactNode]> {
  const { stored } = stream;
  return [
    ...(stream.error ? [['Reason', stream.error] as const] : []),
    ...(stream.is_due || stream.next_attempt_at
      ? [
          [
            'Next attempt',
            stream.is_due ? 'due now' : <Time key="next" at={stream.next_attempt_at} />,
          ] as const,
        ]
      : []),
    ['Attempts', `${count(stream.retry_count)} failed in a row, ${count(stream.attempts_left)} left`],
    ['Last attempt', <Time key="last" at={stream.attempted_at} />],
    ...(stream.given_up_at
      ? [['Given up', <Time key="given" at={stream.given_up_at} as="relative" />] as const]
      : []),
    [
      'Stored',
      stored ? (
        <>
          {count(stored.point_count)} samples, fetched <Time at={stored.fetched_at} />
        </>
      ) : (
        'nothing'
      ),
    ],
    ['Connection', connection?.replaceAll('_', ' ') ?? 'not connected'],
  ];
}
