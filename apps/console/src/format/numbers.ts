/** 12345 → `12,345`. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** `1 activity`, `12 activities`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share between 0 and 1 as a percentage. A share that is not zero is never shown as 0 %, and only the whole is shown as 100 %. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return '< 0.1 %';
  const digits = value < 10 && value > 0 ? 1 : 0;
  const rounded = Number(value.toFixed(digits));
  return `${rounded >= 100 && share < 1 ? 99.9 : rounded} %`;
}

/** Bytes with a unit: 1536 → `1.5 kB`. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
