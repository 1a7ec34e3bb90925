import { Inner } from './inner.js';

export class Athlete extends Inner {}
