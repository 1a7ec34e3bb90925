import { type Activity } from './activity.js';
import { fractionOf } from './random.js';
import { isRide, isRun } from './sport-model.js';
import { STREAM_KEYS, type StreamKey } from './stream-keys.js';

/** True if the watch recorded the channel. Streams and totals leave out other channels. */
export function hasChannel(activity: Activity, key: StreamKey): boolean {
  if (activity.manual || !canHave(activity, key)) return false;
  const wished = activity.wishes?.missingChannels;
  return wished ? !wished.includes(key) : !isForgotten(activity, key);
}

function canHave(activity: Activity, key: StreamKey): boolean {
  const { sport, athlete, indoor } = activity;
  switch (key) {
    case 'time':
    case 'heartrate':
      return true;
    case 'distance':
    case 'velocity_smooth':
    case 'moving':
      return sport !== 'WeightTraining';
    case 'latlng':
    case 'altitude':
    case 'grade_smooth':
      return !indoor && sport !== 'Swim' && sport !== 'WeightTraining';
    case 'cadence':
      return isRun(sport) || isRide(sport);
    case 'watts':
      return hasMeasuredPower(activity) || (isRun(sport) && athlete.hasRunPower);
    case 'temp':
      return !indoor && sport !== 'Swim';
  }
}

/** True if the device had no such channel by chance, for example because the athlete forgot the heart-rate strap. */
function isForgotten({ sport, seed }: Activity, key: StreamKey): boolean {
  switch (key) {
    case 'heartrate':
      return fractionOf(seed, 'no strap') < (sport === 'Swim' ? 0.5 : sport === 'Walk' ? 0.3 : 0.1);
    case 'cadence':
      return fractionOf(seed, 'no cadence') < 0.06;
    case 'temp':
      return fractionOf(seed, 'no temp') < 0.25;
    case 'time':
    case 'distance':
    case 'latlng':
    case 'altitude':
    case 'velocity_smooth':
    case 'watts':
    case 'moving':
    case 'grade_smooth':
      return false;
  }
}

export function missingChannels(activity: Activity): StreamKey[] {
  return STREAM_KEYS.filter((key) => !hasChannel(activity, key));
}

/** A virtual ride always has measured power. Another ride has it only with a power meter. A commute never has it. */
export function hasMeasuredPower(activity: Activity): boolean {
  if (activity.sport === 'VirtualRide') return true;
  return activity.sport === 'Ride' && activity.athlete.hasPowerMeter && !activity.commute;
}
