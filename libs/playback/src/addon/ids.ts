/** Before every id of ours: a client that knows many add-ons asks us for nothing else, and others' ids are not taken for ours. */
export const ID_PREFIX = 'pacekeeper:';

export function toAddonId(brokerId: string): string {
  return `${ID_PREFIX}${brokerId}`;
}

/** An id without the prefix is the broker's own. */
export function toBrokerId(addonId: string): string {
  return addonId.startsWith(ID_PREFIX) ? addonId.slice(ID_PREFIX.length) : addonId;
}
