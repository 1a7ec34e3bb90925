import { type Upwards } from '#platform';

export type Generated = Upwards;
