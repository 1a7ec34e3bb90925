import 'reflect-metadata';
import { run } from '#platform';
import { loadProductConfig } from '#vendors';
import { api } from './role.js';

await run(loadProductConfig, api);
