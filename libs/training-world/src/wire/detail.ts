import { type Activity } from '../activity.js';
import { courseOf } from '../course.js';
import { fractionOf } from '../random.js';
import { round } from '../maths.js';
import { isRide, isRun } from '../sport-model.js';
import { photoCountOf, photoIdOf, photoUrls } from './photos.js';
import { lapsFrom, splitsFrom } from './laps.js';
import {
  type DetailedActivity,
  type PhotosSummary,
  type SummaryActivity,
  type SummaryGear,
} from './shapes.js';
import { type Facts, factsOf, gearIdOf, polylineOf, summaryFrom } from './summary.js';
import { descriptionOf } from './text.js';

/** The fields of a detail that a summary does not have. */
type DetailBeyondSummary = Omit<DetailedActivity, keyof SummaryActivity>;

interface DetailParts {
  readonly summary: SummaryActivity;
  readonly beyond: DetailBeyondSummary;
}

export function detailOf(activity: Activity): DetailedActivity {
  const { summary, beyond } = detailPartsOf(activity);
  return { ...summary, ...beyond };
}

/** Summary and detail as two objects of constant shape. To join their sixty fields would take longer than to make them. */
export function detailPartsOf(activity: Activity): DetailParts {
  const facts = factsOf(activity);
  const summary = summaryFrom(facts);
  summary.resource_state = 3;
  summary.map = { ...summary.map, polyline: finePolyline(facts), resource_state: 3 };
  const hasPace = isRun(activity.sport) && !activity.manual;
  const beyond = {
    description: descriptionOf(activity),
    calories: caloriesOf(facts),
    perceived_exertion: fractionOf(activity.seed, 'rated') < 0.2 ? exertionOf(activity) : null,
    prefer_perceived_exertion: null,
    segment_efforts: [],
    splits_metric: hasPace ? splitsFrom(facts) : undefined,
    splits_standard: hasPace ? splitsFrom(facts, MILE_M) : undefined,
    best_efforts: hasPace ? [] : undefined,
    laps: activity.manual ? undefined : lapsFrom(facts),
    gear: gearOf(activity) ?? undefined,
    photos: photosSummaryOf(activity),
    hide_from_home: activity.overrides?.hide_from_home ?? false,
    embed_token: Math.floor(fractionOf(activity.seed, 'embed') * 2 ** 48).toString(16),
    available_zones: facts.totals.heartRate ? ['heartrate'] : [],
    stats_visibility: STATS_VISIBILITY,
  };
  return { summary, beyond };
}

const MILE_M = 1609.344;

const STATS_VISIBILITY = ['heart_rate', 'pace', 'power', 'speed', 'calories'].map((type) => ({
  type,
  visibility: 'everyone',
}));

function finePolyline({ activity, plan }: Facts): string {
  return polylineOf(courseOf(activity, plan, 'map'));
}

function caloriesOf({ activity, plan, totals }: Facts): number {
  const { weightKg } = activity.athlete;
  const kilometres = plan.metres / 1000;
  // The body burns about 1 kcal per kJ at the pedals, because the efficiency of the body is about 25 %.
  if (totals.averageWatts !== null && isRide(activity.sport))
    return round((totals.averageWatts * plan.movingS) / 1000, 1);
  if (isRun(activity.sport)) return round(1.036 * weightKg * kilometres, 1);
  return round((plan.movingS / 3600) * weightKg * 4.5, 1);
}

function exertionOf(activity: Activity): number {
  return 1 + Math.floor(9 * fractionOf(activity.seed, 'exertion'));
}

function gearOf(activity: Activity): SummaryGear | null {
  const id = gearIdOf(activity);
  const gear = [...activity.athlete.shoes, ...activity.athlete.bikes].find((item) => item.id === id);
  if (!gear) return null;
  return {
    id: gear.id,
    primary: gear.primary,
    name: gear.name,
    nickname: gear.name,
    resource_state: 2,
    retired: false,
    distance: gear.distanceM,
    converted_distance: gear.distanceM / 1000,
  };
}

function photosSummaryOf(activity: Activity): PhotosSummary {
  const count = photoCountOf(activity);
  if (count === 0) return { primary: null, count };
  const unique_id = photoIdOf(activity, 0);
  const urls = { ...photoUrls(unique_id, 100), ...photoUrls(unique_id, 600) };
  return {
    primary: { unique_id, type: 1, urls, source: 1, media_type: 1, id: null },
    use_primary_photo: true,
    count,
  };
}
