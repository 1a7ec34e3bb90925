import { useMemo } from 'react';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { optionOf, textOf } from '../../app/search.js';
import { shortId } from '../../format/ids.js';
import { requestInWords } from '../../format/jobs.js';
import { count } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Filters } from '../../parts/filters.js';
import { ActivityLink, AthleteLink } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Job } from './job.js';

type ListedJob = Schema<'ListedJobAnswer'>;

const STATES = [
  'queued',
  'claimed',
  'running',
  'retry_wait',
  'succeeded',
  'failed_permanent',
  'cancelled',
] as const;

/** Processing jobs of all athletes. `job` in the address opens one; its runs are read by its activity, `of`. */
export function Jobs() {
  const [search, change] = useSearchState();
  const status = optionOf(search.status, STATES);
  const activity = textOf(search.activity);
  const athlete = textOf(search.athlete);
  const { query, rows, paging } = usePaged({
    queryKey: ['jobs', status, activity, athlete],
    read: (cursor) => {
      const params = { query: { cursor, status, activity_id: activity, athlete_id: athlete } };
      return answerOf(api.GET('/admin/jobs', { params }));
    },
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['activity.*', 'athlete.deleted'] },
  });
  const job = textOf(search.job);
  const of = textOf(search.of) ?? activity ?? rows.find((row) => row.job_id === job)?.activity_id;
  const columns = useMemo(
    () => columnsOf((row) => change({ job: row.job_id, of: row.activity_id })),
    [change],
  );
  const isFiltered = status !== undefined || activity !== undefined || athlete !== undefined;
  return (
    <Page
      title="Jobs"
      about="The processing of activities: one job for each request, one run for each attempt."
    >
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: 'State',
            options: STATES.map((state) => [state, state.replaceAll('_', ' ')] as const),
          },
          { kind: 'text', name: 'athlete', label: 'Athlete', hint: 'The whole id' },
          { kind: 'text', name: 'activity', label: 'Activity', hint: 'The whole id' },
        ]}
      />
      <Card title="Jobs" aside="newest first" isFlush>
        <Loaded query={query} lines={10}>
          {() => (
            <Table
              label="Jobs"
              columns={columns}
              rows={rows}
              rowId={({ job_id }) => job_id}
              onOpen={({ job_id, activity_id }) => change({ job: job_id, of: activity_id })}
              paging={paging}
              empty={
                <Empty title={isFiltered ? 'No job matches' : 'There are no jobs'}>
                  {isFiltered
                    ? 'Other states, athletes and activities may have some.'
                    : 'An activity gets a job when its streams are stored, or when somebody asks for it.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
      {job && of && (
        <Job jobId={job} activityId={of} onClose={() => change({ job: undefined, of: undefined })} />
      )}
    </Page>
  );
}

function columnsOf(open: (job: ListedJob) => void): ReadonlyArray<Column<ListedJob>> {
  return [
    {
      id: 'job',
      header: 'Job',
      width: 92,
      cell: (job) => (
        <button type="button" className="button-link" title={job.job_id} onClick={() => open(job)}>
          <code>{shortId(job.job_id)}</code>
        </button>
      ),
    },
    { id: 'state', header: 'State', width: 136, cell: ({ status }) => <Badge state={status} /> },
    {
      id: 'activity',
      header: 'Activity',
      width: 100,
      cell: ({ athlete_id, activity_id }) => <ActivityLink athleteId={athlete_id} activityId={activity_id} />,
    },
    {
      id: 'athlete',
      header: 'Athlete',
      width: 100,
      isWideOnly: true,
      cell: ({ athlete_id }) => <AthleteLink athleteId={athlete_id} />,
    },
    {
      id: 'kind',
      header: 'Request',
      isSecondary: true,
      cell: ({ request_kind, force_update }) =>
        `${requestInWords(request_kind)}${force_update ? ', again' : ''}`,
    },
    {
      id: 'attempts',
      header: 'Attempts',
      width: 92,
      align: 'end',
      isSecondary: true,
      isNamed: true,
      cell: ({ attempt_count, max_attempts }) => `${count(attempt_count)} of ${count(max_attempts)}`,
    },
    {
      id: 'error',
      header: 'Last error',
      isSecondary: true,
      cell: ({ last_error }) => <span title={last_error ?? undefined}>{last_error ?? '–'}</span>,
    },
    {
      id: 'requested',
      header: 'Requested',
      width: 116,
      align: 'end',
      isSecondary: true,
      isNamed: true,
      cell: ({ requested_at }) => <Time at={requested_at} as="relative" />,
    },
  ];
}
