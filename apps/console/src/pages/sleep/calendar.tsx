import { useNavigate } from '@tanstack/react-router';
import { type Schema } from '../../app/api.js';
import { type Search } from '../../app/search.js';
import { dayInWords, daysOfMonth, monthInWords, plusMonths, weekdayOf } from '../../format/days.js';
import { vendorName } from '../../format/vendors.js';
import { useNarrow } from '../../parts/use-narrow.js';
import { hours, lengthOf } from './length.js';

type NightItem = Schema<'NightAnswer'>;

interface CalendarProps {
  readonly lastMonth: string;
  readonly months: number;
  readonly nights: readonly NightItem[];
  readonly chosen: string | undefined;
}

const WEEKDAYS = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];

/** A night stands on the day of waking. */
export function Calendar({ lastMonth, months, nights, chosen }: CalendarProps) {
  const byDate = new Map(nights.map((night) => [night.date, night]));
  const isNarrow = useNarrow();
  const inOrder = Array.from({ length: months }, (_, index) => plusMonths(lastMonth, index - months + 1));
  // There the months stand below each other, and the newest nights are looked at most.
  const shown = isNarrow ? inOrder.reverse() : inOrder;
  return (
    <>
      <div className="months">
        {shown.map((month) => (
          <section key={month} aria-label={monthInWords(month)}>
            <h3>{monthInWords(month)}</h3>
            <ol className="month">
              {WEEKDAYS.map((weekday) => (
                <li key={weekday} className="weekday" aria-hidden="true">
                  {weekday}
                </li>
              ))}
              {daysOfMonth(month).map((date, index) => (
                <li key={date} style={index === 0 ? { gridColumnStart: weekdayOf(date) + 1 } : undefined}>
                  <Day
                    date={date}
                    night={byDate.get(date)}
                    isChosen={date === chosen}
                    lastMonth={lastMonth}
                  />
                </li>
              ))}
            </ol>
          </section>
        ))}
      </div>
      <ul className="legend">
        {LENGTHS.map(([name, words]) => (
          <li key={name} className={`night-${name}`}>
            {words}
          </li>
        ))}
      </ul>
    </>
  );
}

const LENGTHS = [
  ['short', 'less than 6 h'],
  ['fair', '6 to 7 h'],
  ['good', '7 to 8 h'],
  ['long', '8 h and more'],
] as const;

interface DayProps {
  readonly date: string;
  readonly night: NightItem | undefined;
  readonly isChosen: boolean;
  readonly lastMonth: string;
}

function Day({ date, night, isChosen, lastMonth }: DayProps) {
  const navigate = useNavigate();
  const day = Number(date.slice(8));
  if (!night) return <span className="night night-none">{day}</span>;
  const { duration_minutes, quality_score, vendor } = night;
  return (
    <button
      type="button"
      className={`night night-${lengthOf(duration_minutes)}`}
      aria-pressed={isChosen}
      title={`${hours(duration_minutes)}, score ${quality_score ?? 'unknown'}, ${vendorName(vendor)}`}
      data-date={date}
      onClick={() =>
        void navigate({
          to: '.',
          search: (before: Search): Search => ({ ...before, month: lastMonth, date }),
          resetScroll: false,
        })
      }
    >
      <small>{day}</small>
      {clock(duration_minutes)}
      <span className="hidden">
        {` hours, ${dayInWords(date)}, score ${quality_score ?? 'unknown'}, ${vendorName(vendor)}`}
      </span>
    </button>
  );
}

const clock = (minutes: number) => `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
