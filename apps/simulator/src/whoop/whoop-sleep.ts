import { type SleepRecord } from '../wearables/sleep-diary.js';

export type ScoreState = 'SCORED' | 'PENDING_SCORE' | 'UNSCORABLE';

export interface WhoopSleep extends SleepRecord {
  readonly cycleId: number;
  readonly scoreState: ScoreState;
  readonly isSparse: boolean;
}
