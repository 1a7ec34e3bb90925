import { type Activity } from './activity.js';
import { fractionOf } from './random.js';

/** One outdoor activity in eight has one to four photos. */
export function photoCountOf(activity: Activity): number {
  if (activity.wishes?.photos !== undefined) return activity.wishes.photos;
  if (activity.indoor || fractionOf(activity.seed, 'has photos') >= 0.125) return 0;
  return 1 + Math.floor(4 * fractionOf(activity.seed, 'photos') ** 2);
}
