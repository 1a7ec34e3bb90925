/** Prefix of all our ids. A client with several add-ons requests only ids with this prefix from us. */
const ID_PREFIX = 'pacekeeper:';

export function toAddonId(brokerId: string): string {
  return `${ID_PREFIX}${brokerId}`;
}

/** Returns an id without the prefix as it is, since it is the broker's own id. */
export function toBrokerId(addonId: string): string {
  return addonId.startsWith(ID_PREFIX) ? addonId.slice(ID_PREFIX.length) : addonId;
}

/** Type of all our items, which are in one catalogue. */
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
