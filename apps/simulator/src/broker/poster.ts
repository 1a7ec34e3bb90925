import { type Series } from './catalogue.js';

/** Two by three, the shape players give to posters. */
export function posterSvg(series: Series): string {
  const [dark, light] = series.colours;
  const episodes = `${series.episodes.length} guided workouts`;
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="450" viewBox="0 0 300 450">',
    `<defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="${dark}"/><stop offset="1" stop-color="${light}"/></linearGradient></defs>`,
    '<rect width="300" height="450" fill="url(#g)"/>',
    '<path d="M0 330 L70 270 L120 300 L200 210 L300 290 V450 H0Z" fill="#fff" opacity=".12"/>',
    '<path d="M30 96h240" stroke="#fff" stroke-width="3" opacity=".7"/><circle cx="84" cy="82" r="14" fill="#f2b84b"/>',
    `<text x="30" y="150" font-family="sans-serif" font-size="32" font-weight="700" fill="#fff">${series.name}</text>`,
    `<text x="30" y="180" font-family="sans-serif" font-size="16" fill="#fff" opacity=".8">${episodes}</text>`,
    '</svg>',
  ].join('');
}
