import { createHash } from 'node:crypto';
import { type CallbackAnswer } from './callback-answer.js';

// Drawn, not loaded: the page allows itself nothing but its own style.
const SIGNS: Readonly<Record<CallbackAnswer['tone'], string>> = {
  good: '<path d="m7.5 12.5 3 3 6-6.5"/>',
  neutral: '<path d="M8 12h8"/>',
  bad: '<path d="M12 7.5v5.5"/><path d="M12 16.4v.1"/>',
};

const STYLE = `
:root{color-scheme:light dark;--ink:#17202a;--soft:#57626d;--paper:#f3f5f4;--card:#fff;--line:#dde2df;
--good:#12774a;--good-back:#e0f3e8;--neutral:#4a5560;--neutral-back:#e8ecef;--bad:#a63a14;--bad-back:#fbe7de}
@media(prefers-color-scheme:dark){:root{--ink:#e9edf0;--soft:#a3afb9;--paper:#12161a;--card:#1b2127;--line:#2d353c;
--good:#6bd6a0;--good-back:#16382a;--neutral:#b9c4cd;--neutral-back:#2a323a;--bad:#ff9d76;--bad-back:#43231a}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);
color:var(--ink);font:17px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:33rem;padding:clamp(1.5rem,6vw,2.75rem);background:var(--card);border:1px solid var(--line);
border-radius:18px;overflow-wrap:anywhere}
svg{display:block;width:3.25rem;height:3.25rem;padding:.35rem;border-radius:50%;fill:none;stroke:currentColor;
stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.good svg{color:var(--good);background:var(--good-back)}
.neutral svg{color:var(--neutral);background:var(--neutral-back)}
.bad svg{color:var(--bad);background:var(--bad-back)}
h1{margin:1.25rem 0 .5rem;font-size:clamp(1.35rem,5vw,1.7rem);line-height:1.25;letter-spacing:-.01em;text-wrap:balance}
p{margin:0 0 .75rem}
.advice{margin:1.25rem 0 0;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft)}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-robots-tag': 'noindex',
};

export function resultPage({ tone, heading, text, advice }: CallbackAnswer): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escape(heading)}</title>
<style>${STYLE}</style>
</head>
<body>
<main class="${tone}">
<svg viewBox="0 0 24 24" aria-hidden="true">${SIGNS[tone]}</svg>
<h1>${escape(heading)}</h1>
<p>${escape(text)}</p>
<p class="advice">${escape(advice)}</p>
</main>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
