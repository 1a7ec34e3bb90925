import { Counter } from 'prom-client';
import { type Cause } from '#reliability';

export const streamAnswers = new Counter<'outcome'>({
  name: 'playback_stream_answers_total',
  help: 'Answers to who wants to watch something',
  labelNames: ['outcome'],
});

export type StreamOutcome = 'sources' | Cause;
