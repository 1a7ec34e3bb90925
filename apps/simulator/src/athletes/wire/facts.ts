import { type Activity } from '../activity.js';
import { type Course, courseOf } from '../course.js';
import { type Plan, planOf } from '../plan.js';
import { type Totals, totalsOf } from '../totals.js';

/** Everything a summary and the documents built on it need, worked out once. */
export interface Facts {
  readonly activity: Activity;
  readonly plan: Plan;
  readonly totals: Totals;
  readonly course: Course | null;
}

export function factsOf(activity: Activity): Facts {
  const plan = planOf(activity);
  return { activity, plan, totals: totalsOf(activity, plan), course: courseOf(activity, plan, 'coarse') };
}
