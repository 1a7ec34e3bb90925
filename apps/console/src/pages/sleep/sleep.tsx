import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { answerOf, api, onBehalfOf } from '../../app/api.js';
import { useAthleteId } from '../../app/athlete.js';
import { type Search } from '../../app/search.js';
import { dayOf, monthInWords, monthOf, plusDays, plusMonths } from '../../format/days.js';
import { counted } from '../../format/numbers.js';
import { vendorNames, vendorsWith } from '../../format/vendors.js';
import { AthleteLink } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Calendar } from './calendar.js';
import { Night } from './night.js';
import './sleep.css';
import { Trend } from './trend.js';

// Three months stand beside each other, and their 92 nights are one page of the API.
const MONTHS = 3;
const MOST_NIGHTS = 100;

/** Nights of one athlete: three months as a calendar and as a trend, and one night with the records of all vendors. */
export function Sleep() {
  const athleteId = useAthleteId();
  const { month, date }: Search = useSearch({ strict: false });
  const chosen = dayOf(date);
  const wanted = monthOf(month) ?? chosen?.slice(0, 7);
  const latest = useQuery({
    queryKey: ['sleep', athleteId, 'latest'],
    queryFn: () =>
      answerOf(api.GET('/v1/sleep', { ...onBehalfOf(athleteId), params: { query: { limit: 1 } } })),
    meta: { changes: ['sleep.*'], athleteId },
  });
  return (
    <Page
      title="Sleep"
      about={
        athleteId ? (
          <>
            of athlete{' '}
            <AthleteLink athleteId={athleteId}>
              <code>{athleteId}</code>
            </AthleteLink>
          </>
        ) : (
          'One record of each night is chosen from those of all vendors.'
        )
      }
    >
      <Loaded query={latest} lines={10}>
        {({ items: [last] }) =>
          last ? (
            <Months
              athleteId={athleteId}
              lastMonth={wanted ?? last.date.slice(0, 7)}
              latest={last.date}
              chosen={chosen ?? (wanted ? undefined : last.date)}
            />
          ) : (
            <NoNights isOwn={athleteId === undefined} />
          )
        }
      </Loaded>
    </Page>
  );
}

interface MonthsProps {
  readonly athleteId: string | undefined;
  readonly lastMonth: string;
  readonly latest: string;
  readonly chosen: string | undefined;
}

function Months({ athleteId, lastMonth, latest, chosen }: MonthsProps) {
  const from = `${plusMonths(lastMonth, 1 - MONTHS)}-01`;
  const to = plusDays(`${plusMonths(lastMonth, 1)}-01`, -1);
  const query = useQuery({
    queryKey: ['sleep', athleteId, from, to],
    queryFn: () =>
      answerOf(
        api.GET('/v1/sleep', {
          ...onBehalfOf(athleteId),
          params: { query: { from, to, limit: MOST_NIGHTS } },
        }),
      ),
    meta: { changes: ['sleep.*'], athleteId },
    placeholderData: (before) => before,
  });
  return (
    <>
      <MonthSteps lastMonth={lastMonth} latest={latest} />
      <Card
        title={`${monthInWords(from.slice(0, 7))} to ${monthInWords(lastMonth)}`}
        aside={query.data && counted(query.data.items.length, 'night')}
      >
        <Loaded query={query} lines={8}>
          {({ items }) => <Calendar lastMonth={lastMonth} months={MONTHS} nights={items} chosen={chosen} />}
        </Loaded>
      </Card>
      <div className="sleep-columns">
        {chosen ? <Night athleteId={athleteId} date={chosen} /> : <NoChoice />}
        <Card title="Trend">
          <Loaded query={query} lines={6}>
            {({ items }) =>
              items.length > 0 ? (
                <Trend from={from} to={to} nights={items} />
              ) : (
                <Empty title="There are no nights in these months" />
              )
            }
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function MonthSteps({ lastMonth, latest }: { readonly lastMonth: string; readonly latest: string }) {
  const navigate = useNavigate();
  const show = (month: string) =>
    void navigate({
      to: '.',
      search: (before: Search): Search => ({ ...before, month }),
      resetScroll: false,
    });
  const isLatest = lastMonth >= latest.slice(0, 7);
  return (
    <div className="actions">
      <button type="button" className="button" onClick={() => show(plusMonths(lastMonth, -MONTHS))}>
        Earlier
      </button>
      <button
        type="button"
        className="button"
        disabled={isLatest}
        onClick={() => show(plusMonths(lastMonth, MONTHS))}
      >
        Later
      </button>
      <button type="button" className="button" disabled={isLatest} onClick={() => show(latest.slice(0, 7))}>
        Latest night
      </button>
    </div>
  );
}

function NoChoice() {
  return (
    <Card title="Night">
      <Empty title="No night is chosen">Choose a night in the calendar to see its records.</Empty>
    </Card>
  );
}

function NoNights({ isOwn }: { readonly isOwn: boolean }) {
  return (
    <Card title="Nights">
      <Empty title="There are no nights yet">
        <p>
          They come from {vendorNames(vendorsWith('sleep'), 'conjunction')}, or from an app that sends them:
          when an account is connected, an import reads earlier nights, and each new one follows when the
          vendor has it.
        </p>
        {isOwn && <Link to="/connections">Connect a vendor</Link>}
      </Empty>
    </Card>
  );
}
