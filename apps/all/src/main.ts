import 'reflect-metadata';
import { run } from '#platform';
import { loadProductConfig } from '#vendors';
import { api } from '../../api/src/role.js';
import { worker } from '../../worker/src/role.js';

// One process for a laptop; in production each role has its own.
await run(loadProductConfig, api, worker);
