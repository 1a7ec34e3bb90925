import { dailySleepDocument } from './daily-sleep-document.js';
import { type OuraJournal } from './oura-journal.js';
import { dayOf } from './oura-sleep.js';
import { sleepDocument } from './sleep-document.js';

export type Document = Record<string, unknown>;

/**
 * All documents of one kind in one journal. A document is built only when it is read, because the series of a night
 * take long to compute.
 */
export interface Collection {
  readonly endpoint: 'sleep' | 'daily_sleep';
  /** Oldest first. */
  list(athleteId: string): { day: string; document: () => Document }[];
  find(id: string): { athleteId: string; document: () => Document } | undefined;
}

export function sleepCollection(journal: () => OuraJournal): Collection {
  return {
    endpoint: 'sleep',
    list: (athleteId) =>
      journal()
        .sleepsOf(athleteId)
        .map((sleep) => ({ day: dayOf(sleep), document: () => sleepDocument(sleep) })),
    find(id) {
      const sleep = journal().sleep(id);
      return sleep && { athleteId: sleep.athleteId, document: () => sleepDocument(sleep) };
    },
  };
}

export function dailySleepCollection(journal: () => OuraJournal): Collection {
  return {
    endpoint: 'daily_sleep',
    list: (athleteId) =>
      journal()
        .dailySleepsOf(athleteId)
        .map((daily) => ({ day: daily.day, document: () => dailySleepDocument(daily) })),
    find(id) {
      const daily = journal().dailySleep(id);
      return daily && { athleteId: daily.athleteId, document: () => dailySleepDocument(daily) };
    },
  };
}
