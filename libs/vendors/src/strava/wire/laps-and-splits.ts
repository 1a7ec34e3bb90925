import { z } from 'zod';
import { type ActivityPart, type Lap, type Split } from '../../capabilities/activities.js';
import { Id, Moment } from './values.js';

/** Null for a missing value or a value of another type, so that one invalid field does not make the activity unreadable. */
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().catch(null);
const amount = orNull(z.number());
const index = orNull(z.int());

const WirePart = z.object({
  distance: amount,
  moving_time: amount,
  elapsed_time: amount,
  average_speed: amount,
  average_heartrate: amount,
});

const WireLap = WirePart.extend({
  id: orNull(Id),
  name: orNull(z.string()),
  lap_index: index,
  start_date: orNull(Moment),
  total_elevation_gain: amount,
  max_speed: amount,
  max_heartrate: amount,
  average_cadence: amount,
  average_watts: amount,
  start_index: index,
  end_index: index,
});

const WireSplit = WirePart.extend({ split: index, elevation_difference: amount });

/** Reads laps, which are stored as Strava sent them. Leaves out items that are no objects. */
export function toLaps(stored: readonly unknown[]): Lap[] {
  return readable(WireLap, stored).map((wire) => ({
    id: wire.id,
    name: wire.name,
    number: wire.lap_index,
    start_time: wire.start_date,
    ...partOf(wire),
    elevation_gain_m: wire.total_elevation_gain,
    max_speed_m_s: wire.max_speed,
    max_heartrate: wire.max_heartrate,
    average_cadence: wire.average_cadence,
    average_watts: wire.average_watts,
    start_index: wire.start_index,
    end_index: wire.end_index,
  }));
}

/** Reads the splits per kilometre, which are stored as Strava sent them. Leaves out items that are no objects. */
export function toSplits(stored: readonly unknown[]): Split[] {
  return readable(WireSplit, stored).map((wire) => ({
    number: wire.split,
    ...partOf(wire),
    elevation_difference_m: wire.elevation_difference,
  }));
}

function partOf(wire: z.infer<typeof WirePart>): Omit<ActivityPart, 'number'> {
  return {
    distance_m: wire.distance,
    moving_time_s: wire.moving_time,
    elapsed_time_s: wire.elapsed_time,
    average_speed_m_s: wire.average_speed,
    average_heartrate: wire.average_heartrate,
  };
}

function readable<Schema extends z.ZodType>(
  schema: Schema,
  items: readonly unknown[],
): Array<z.infer<Schema>> {
  return items.flatMap((item) => {
    const { data } = schema.safeParse(item);
    return data === undefined ? [] : [data];
  });
}
