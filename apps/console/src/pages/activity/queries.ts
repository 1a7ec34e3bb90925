import { queryOptions } from '@tanstack/react-query';
import { answerOf, api, onBehalfOf, type Schema } from '../../app/api.js';

export type Detail = Schema<'ActivityDetailAnswer'>;
export type State = Schema<'ActivityStateAnswer'>;
export type Streams = Schema<'StreamsAnswer'>;
export type ShapeResult = Schema<'RepeatedShape'> | Schema<'SwimShape'> | Schema<'OtherShape'>;
export type Diagnosis = Schema<'AdminActivityAnswer'>;

/** The result of the built-in processor. A deployment may bring its own, whose results have other fields. */
export function shapeOf({ result }: State): ShapeResult | null {
  return result && Array.isArray(result.segments) ? (result as ShapeResult) : null;
}

const CHANNELS = 'time,distance,latlng,altitude,velocity_smooth,heartrate,cadence,watts';
// Up to seven hours every sample is read. Above, the API keeps the lowest and the highest value of each section.
const MOST_POINTS = 25_200;

export const ACTIVITY_KEY = ['activity'] as const;

export const activityQuery = (athleteId: string | undefined, id: string) =>
  queryOptions({
    queryKey: [...ACTIVITY_KEY, id, 'detail'],
    queryFn: () =>
      answerOf(api.GET('/v1/activities/{id}', { ...onBehalfOf(athleteId), params: { path: { id } } })),
    meta: { changes: ['activity.*', 'streams.*'], athleteId },
  });

export const stateQuery = (athleteId: string | undefined, id: string) =>
  queryOptions({
    queryKey: [...ACTIVITY_KEY, id, 'state'],
    queryFn: () =>
      answerOf(
        api.GET('/v1/activities/{id}/state', {
          ...onBehalfOf(athleteId),
          params: { path: { id }, query: { jobs: 'true' } },
        }),
      ),
    meta: { changes: ['activity.processed', 'activity.updated', 'streams.*'], athleteId },
  });

export const streamsQuery = (athleteId: string | undefined, id: string) =>
  queryOptions({
    queryKey: [...ACTIVITY_KEY, id, 'streams'],
    queryFn: () =>
      answerOf(
        api.GET('/v1/activities/{id}/streams', {
          ...onBehalfOf(athleteId),
          params: { path: { id }, query: { channels: CHANNELS, points: MOST_POINTS } },
        }),
      ),
    meta: { changes: ['streams.*'], athleteId },
  });

/** For operators only. */
export const diagnosisQuery = (id: string) =>
  queryOptions({
    queryKey: [...ACTIVITY_KEY, id, 'diagnosis'],
    queryFn: () => answerOf(api.GET('/admin/activities/{id}', { params: { path: { id } } })),
    meta: { changes: ['activity.*', 'streams.*'] },
  });
