import { type Athlete } from '#connections';

export type Upwards = Athlete;
