import 'reflect-metadata';
import { run } from '#platform';
import { api } from './role.js';

await run(api);
