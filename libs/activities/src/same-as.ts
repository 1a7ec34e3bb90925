// Watches of two vendors start a few seconds apart, and vendors count pauses at the ends differently.
const APART_S = 60;
const DURATION_SHARE = 0.05;

/**
 * SQL for the ids of the athlete's activities of other vendors that are the same workout as the row `activity`: the start differs by at
 * most a minute, and the duration by at most 5 % of the longer one. So if one activity names another, the other names it too. Each row
 * costs one lookup in the index `activity_newest`.
 */
export const SAME_AS = `
  array(
    select twin.id
    from activity as twin
    where twin.athlete_id = activity.athlete_id
      and twin.start_time between activity.start_time - interval '${APART_S} seconds' and activity.start_time + interval '${APART_S} seconds'
      and twin.provider <> activity.provider
      and abs(twin.elapsed_time_s - activity.elapsed_time_s)
        <= ${DURATION_SHARE} * greatest(twin.elapsed_time_s, activity.elapsed_time_s)
    order by twin.start_time, twin.id
  )`;
