import { type AthleteProfile, type Gear, wireJson } from '#training-world';

/** The fields of an athlete in the answer to a token exchange, and in an answer to the scope `read`. */
export function summaryAthlete(profile: AthleteProfile, createdAtMs: number): Record<string, unknown> {
  const { id, firstName, lastName, sex, place } = profile;
  const createdAt = `${new Date(createdAtMs).toISOString().slice(0, 19)}Z`;
  return {
    id,
    username: `${firstName}_${lastName}`.toLowerCase(),
    resource_state: 2,
    firstname: firstName,
    lastname: lastName,
    bio: null,
    city: place.city,
    state: place.state,
    country: place.country,
    sex,
    premium: true,
    summit: true,
    created_at: createdAt,
    updated_at: createdAt,
    badge_type_id: 1,
    weight: profile.weightKg,
    profile_medium: 'https://dgalywyr863hv.cloudfront.net/pictures/athletes/medium.jpg',
    profile: 'https://dgalywyr863hv.cloudfront.net/pictures/athletes/large.jpg',
    friend: null,
    follower: null,
  };
}

/** The fields of an athlete in an answer to the scope `profile:read_all`. */
export function detailedAthlete(profile: AthleteProfile, createdAtMs: number): Record<string, unknown> {
  return {
    ...summaryAthlete(profile, createdAtMs),
    resource_state: 3,
    follower_count: 42,
    friend_count: 42,
    mutual_friend_count: 0,
    athlete_type: 1,
    date_preference: '%m/%d/%Y',
    measurement_preference: 'meters',
    clubs: [],
    ftp: profile.ftpWatts,
    bikes: profile.bikes.map(gearJson),
    shoes: profile.shoes.map(gearJson),
  };
}

export function athleteJson(athlete: Record<string, unknown>): string {
  return wireJson(athlete);
}

function gearJson({ id, name, primary, distanceM }: Gear): Record<string, unknown> {
  return { id, primary, name, resource_state: 2, distance: distanceM };
}
