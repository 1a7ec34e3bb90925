import { lazy, Suspense, useMemo, useState } from 'react';
import { type Schema } from '../../app/api.js';
import { type Channel } from '../../charts/channel.js';
import { ExtremesTable } from '../../charts/readout.js';
import { viewOf } from '../../charts/view.js';
import { daysBetween, plusDays, shortDay } from '../../format/days.js';
import { Loading } from '../../parts/states.js';
import { hours } from './length.js';

const Stack = lazy(async () => ({ default: (await import('../../charts/stack.js')).Stack }));

interface TrendProps {
  readonly from: string;
  readonly to: string;
  readonly nights: ReadonlyArray<Schema<'NightAnswer'>>;
}

const DAY_STEPS = [1, 2, 7, 14, 28];

/** Length and score of the nights. The x axis counts days from `from`. */
export function Trend({ from, to, nights }: TrendProps) {
  const [view] = useState(viewOf);
  const { xs, channels } = useMemo(() => seriesOf(from, to, nights), [from, to, nights]);
  const xFormat = useMemo(() => (day: number) => shortDay(plusDays(from, Math.round(day))), [from]);
  return (
    <>
      <Suspense fallback={<Loading lines={6} />}>
        <Stack
          label="Length and score of the nights"
          xs={xs}
          xLabel="Night"
          xFormat={xFormat}
          xSteps={DAY_STEPS}
          channels={channels}
          view={view}
        />
      </Suspense>
      <ExtremesTable channels={channels} />
    </>
  );
}

function seriesOf(from: string, to: string, nights: TrendProps['nights']) {
  const byDate = new Map(nights.map((night) => [night.date, night]));
  const days = daysBetween(from, to);
  const all: Channel[] = [
    {
      id: 'duration_minutes',
      label: 'Asleep',
      values: days.map((day) => byDate.get(day)?.duration_minutes ?? null),
      colour: '--accent',
      format: hours,
      tick: (minutes) => `${minutes / 60} h`,
      ticks: wholeHours,
      hasPoints: true,
    },
    {
      id: 'quality_score',
      label: 'Score',
      values: days.map((day) => byDate.get(day)?.quality_score ?? null),
      colour: '--busy',
      format: (score) => (score === null ? '–' : String(Math.round(score))),
      hasPoints: true,
    },
  ];
  // The vendors score their nights; an app may send nights without scores.
  const channels = all.filter(({ values }) => values.some((value) => value !== null));
  return { xs: days.map((_, index) => index), channels };
}

const MOST_TICKS = 5;

function wholeHours(min: number, max: number): number[] {
  const step = Math.max(1, Math.ceil((max - min) / 60 / MOST_TICKS)) * 60;
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, index) => (first + index) * step);
}
