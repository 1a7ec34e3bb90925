/** One guided workout. The policy refuses a `membersOnly` episode to every client. */
export interface Episode {
  readonly id: string;
  readonly title: string;
  readonly season: number;
  readonly episode: number;
  readonly membersOnly: boolean;
}

export interface Series {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly colours: readonly [string, string];
  readonly episodes: readonly Episode[];
}

interface SeriesPlan {
  readonly name: string;
  readonly description: string;
  readonly colours: readonly [string, string];
  readonly seasons: readonly (readonly string[])[];
}

const MEMBERS_ONLY = ' *';

// A title that ends in " *" is for members only.
const PLANS: readonly SeriesPlan[] = [
  {
    name: 'Base building',
    description: 'Easy aerobic running, from twenty minutes to two hours.',
    colours: ['#0b3d3a', '#1f7a5c'],
    seasons: [
      ['Talk pace', 'Thirty easy', 'Strides at the end', 'First long run', 'Recovery jog'],
      ['Back to back', 'Progression run', 'Long run with a view', 'Easy hour *'],
    ],
  },
  {
    name: 'Hill school',
    description: 'Short, long and rolling climbs, and how to come down again.',
    colours: ['#4a2a12', '#b4642d'],
    seasons: [['Eight short hills', 'Form on the climb', 'Long repeats', 'Rolling tempo', 'Downhill *']],
  },
  {
    name: 'Threshold room',
    description: 'Cruise intervals and tempo runs for the treadmill.',
    colours: ['#1b2450', '#4d63c7'],
    seasons: [['Five by five', 'Cruise miles', 'Over and under', 'Forty steady']],
  },
  {
    name: 'Ride indoors',
    description: 'Turbo sessions with a metronome and no traffic lights.',
    colours: ['#2d1436', '#8a3fa0'],
    seasons: [['Spin up', 'Sweet spot', 'Pyramid', 'Race finish *']],
  },
  {
    name: 'Wind down',
    description: 'Mobility and breathing for the half hour before sleep.',
    colours: ['#14263a', '#3f7ca0'],
    seasons: [['Hips and ankles', 'Slow breath', 'Back and shoulders']],
  },
];

export const CATALOGUE: readonly Series[] = PLANS.map(toSeries);

const EPISODES = new Map(
  CATALOGUE.flatMap((series) => series.episodes.map((episode) => [episode.id, { series, episode }] as const)),
);

export function findEpisode(id: string): { series: Series; episode: Episode } | undefined {
  return EPISODES.get(id);
}

export function findSeries(id: string): Series | undefined {
  return CATALOGUE.find((series) => series.id === id);
}

function toSeries(plan: SeriesPlan): Series {
  const id = plan.name.toLowerCase().replaceAll(' ', '-');
  const episodes = plan.seasons.flatMap((titles, index) =>
    titles.map((title, position) => toEpisode(id, title, index + 1, position + 1)),
  );
  return { id, name: plan.name, description: plan.description, colours: plan.colours, episodes };
}

function toEpisode(seriesId: string, title: string, season: number, episode: number): Episode {
  const membersOnly = title.endsWith(MEMBERS_ONLY);
  return {
    id: `${seriesId}-s${twoDigits(season)}e${twoDigits(episode)}`,
    title: membersOnly ? title.slice(0, -MEMBERS_ONLY.length) : title,
    season,
    episode,
    membersOnly,
  };
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
