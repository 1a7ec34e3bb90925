// Short names are near to everything (PATH and PORT differ by two letters), so they get no suggestions.
const SHORTEST = 7;
const MOST_EDITS = 2;

/** The candidate a person most likely meant by `name`, if any is at most two edits away, whatever the case. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length < SHORTEST) return undefined;
  const ranked = candidates
    .filter((candidate) => candidate.length >= SHORTEST)
    .map((candidate) => ({ candidate, edits: editDistance(name.toUpperCase(), candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= MOST_EDITS ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length] ?? a.length;
}
