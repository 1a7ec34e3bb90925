import { Athlete } from './index.js';

export class Inner {
  readonly circle = Athlete;
}
