import { useQuery } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { textOf } from '../../app/search.js';
import { useSearchState } from '../../app/search-state.js';
import { counted } from '../../format/numbers.js';
import { Filters } from '../../parts/filters.js';
import { Card, Facts, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { linesOf, migrationName, type SettingLine } from './setting-lines.js';
import './settings.css';

type Answer = Schema<'SettingsAnswer'>;

/** The configuration of the api as it was parsed, without secrets; the versions; and the migrations. */
export function Settings() {
  const query = useQuery({
    queryKey: ['settings'],
    queryFn: () => answerOf(api.GET('/admin/settings')),
    meta: { changes: ['overview'] },
  });
  return (
    <Page title="Settings" about="The api’s configuration. Other processes may be configured differently.">
      <Loaded query={query} lines={12}>
        {(answer) => (
          <>
            <Warnings config={answer.config} />
            <div className="settings-top">
              <Versions answer={answer} />
              <Migrations migrations={answer.migrations} />
            </div>
            <Configuration config={answer.config} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Warnings({ config: { warnings } }: Pick<Answer, 'config'>) {
  if (!Array.isArray(warnings) || warnings.length === 0) return null;
  return (
    <Card title="Warnings">
      <ul className="warnings">
        {warnings.map((warning) => (
          <li key={String(warning)}>{String(warning)}</li>
        ))}
      </ul>
    </Card>
  );
}

function Versions({ answer: { versions, time_scale } }: { readonly answer: Answer }) {
  return (
    <Card title="Versions">
      <Facts
        facts={[
          ['Pacekeeper', versions.pacekeeper],
          ['Commit', <code key="commit">{versions.commit}</code>],
          ['Node.js', versions.node],
          ['Postgres', versions.postgres],
          ['Redis', versions.redis ?? 'does not answer'],
          ['NATS', versions.nats ?? 'was never connected'],
          ['Time', time_scale === 1 ? 'as it is' : `runs ${time_scale} times as fast`],
        ]}
      />
    </Card>
  );
}

type Migration = Answer['migrations'][number];

const MIGRATION_COLUMNS: ReadonlyArray<Column<Migration>> = [
  { id: 'name', header: 'Name', cell: ({ name }) => <code title={name}>{migrationName(name)}</code> },
  {
    id: 'at',
    header: 'Applied',
    width: 150,
    align: 'end',
    cell: ({ applied_at }) => (applied_at ? <Time at={applied_at} /> : 'not recorded'),
  },
];

function Migrations({ migrations }: Pick<Answer, 'migrations'>) {
  return (
    <Card title="Migrations" aside={`${counted(migrations.length, 'migration')}, newest first`} isFlush>
      <Table
        label="Migrations"
        columns={MIGRATION_COLUMNS}
        rows={migrations}
        rowId={({ name }) => name}
        empty={<Empty title="No migration was applied" />}
      />
    </Card>
  );
}

const COLUMNS: ReadonlyArray<Column<SettingLine>> = [
  {
    id: 'name',
    header: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <code title={name}>{name}</code>,
  },
  {
    id: 'value',
    header: 'Value',
    cell: ({ value, isSecret }) =>
      isSecret ? <span className="hint">not shown</span> : <span title={value}>{value}</span>,
  },
];

function Configuration({ config }: Pick<Answer, 'config'>) {
  const [search] = useSearchState();
  const name = textOf(search.name)?.toLowerCase();
  const lines = linesOf(config).filter((line) => !name || line.name.toLowerCase().includes(name));
  return (
    <>
      <Filters filters={[{ kind: 'text', name: 'name', label: 'Name', hint: 'gate' }]} />
      <Card title="Configuration" aside={counted(lines.length, 'value')} isFlush>
        <Table
          label="Configuration"
          columns={COLUMNS}
          rows={lines}
          rowId={(line) => line.name}
          empty={<Empty title="No name contains this text" />}
        />
      </Card>
    </>
  );
}
