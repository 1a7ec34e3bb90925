import 'reflect-metadata';
import { run } from '#platform';
import { worker } from './role.js';

await run(worker);
