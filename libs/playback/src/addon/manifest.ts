import { ID_PREFIX } from './ids.js';

/** All we offer is of one type, in one catalogue. */
export const TYPE = 'series';
export const CATALOGUE_ID = 'guided-workouts';

export const MANIFEST = {
  id: 'org.pacekeeper.guided-workouts',
  version: '1.0.0',
  name: 'Pacekeeper',
  description: 'Guided workouts for the big screen.',
  resources: [
    'catalog',
    { name: 'meta', types: [TYPE], idPrefixes: [ID_PREFIX] },
    { name: 'stream', types: [TYPE], idPrefixes: [ID_PREFIX] },
  ],
  types: [TYPE],
  idPrefixes: [ID_PREFIX],
  catalogs: [
    {
      type: TYPE,
      id: CATALOGUE_ID,
      name: 'Guided workouts',
      extra: [{ name: 'search' }, { name: 'skip' }],
    },
  ],
  behaviorHints: { adult: false, p2p: false, configurable: false, configurationRequired: false },
};
