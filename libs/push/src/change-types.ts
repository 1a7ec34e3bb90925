import { CHANGE_TYPES, type ChangeType, InvalidInput } from '#platform';

const groups = new Set(CHANGE_TYPES.map((type) => `${type.split('.')[0]}.*`));

/** The names that a list of types may have: each type of change, each group of types, and `*` for all. */
export const TYPE_FILTERS: readonly string[] = [...CHANGE_TYPES, ...groups, '*'];

/** Returns the types that a list names, such as `activity.*` and `sleep.stored`. Throws InvalidInput for a name that fits none. */
export function changeTypesIn(names: readonly string[]): readonly ChangeType[] {
  const found = new Set<ChangeType>();
  const unknown: string[] = [];
  for (const name of names) {
    const fitting = CHANGE_TYPES.filter((type) => isNamedBy(type, name));
    if (fitting.length === 0) unknown.push(name);
    for (const type of fitting) found.add(type);
  }
  if (unknown.length > 0)
    throw new InvalidInput(
      unknown.map((name) => `types: there is no type ${JSON.stringify(name.slice(0, 50))}`),
    );
  return [...found];
}

function isNamedBy(type: ChangeType, name: string): boolean {
  if (name === '*') return true;
  return name.endsWith('.*') ? type.startsWith(name.slice(0, -1)) : type === name;
}
