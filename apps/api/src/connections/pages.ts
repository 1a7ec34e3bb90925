import { createHash } from 'node:crypto';
import { type CallbackAnswer } from './callback-answer.js';

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
.app{margin:0 0 1.5rem;color:var(--soft);font-size:.9rem;letter-spacing:.02em}
.account{margin:1rem 0;padding:.8rem 1rem;border:1px solid var(--line);border-radius:10px;background:var(--paper);font-weight:600}
form{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.5rem 0 0}
button{font:inherit;padding:.6rem 1.1rem;border-radius:10px;border:1px solid var(--line);background:var(--card);color:var(--ink);cursor:pointer}
button.yes{background:var(--good);border-color:var(--good);color:var(--card);font-weight:600}
button:focus-visible,a:focus-visible{outline:3px solid var(--good);outline-offset:2px}
a{color:inherit}
.advice{margin:1.25rem 0 0;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft)}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The app this deployment serves, as people know it: APP_NAME and APP_URL. */
interface App {
  readonly name: string;
  readonly url?: string;
}

/**
 * Headers of a page: it cannot be framed, is not cached, and loads only its own style. `posts`: its form may be sent to the page's own
 * origin.
 */
export function pageHeaders({ posts = false } = {}): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action ${posts ? "'self'" : "'none'"}; frame-ancestors 'none'`,
    'x-frame-options': 'DENY',
    'x-robots-tag': 'noindex',
  };
}

interface Consent {
  /** The vendor's name as people write it. */
  readonly title: string;
  readonly account: string;
  readonly confirm: string;
  readonly csrf: string;
}

/**
 * Asks whether this account may see the vendor's data. Another person may have begun the flow and sent the link, so the page shows the
 * account's name prominently.
 */
export function consentPage({ title, account, confirm, csrf }: Consent, app: App): string {
  const vendor = escape(title);
  // A relative path, because a proxy may add a prefix.
  return page(
    app,
    `Connect ${title}?`,
    'neutral',
    `<h1>Connect ${vendor} to this account?</h1>
<p class="account">${escape(account)}</p>
<p>Whoever uses this account of ${escape(app.name)} will see your ${vendor} data.</p>
<form method="post" action="callback">
<input type="hidden" name="confirm" value="${escape(confirm)}">
<input type="hidden" name="csrf" value="${escape(csrf)}">
<button class="yes" name="decision" value="yes">Yes, this is my account</button>
<button name="decision" value="no">No, do not connect</button>
</form>
<p class="advice">Somebody sent you this link, or you do not know the account? Choose No: nothing is stored then.</p>`,
  );
}

// Inline, because the page's content policy allows only its own style.
const SIGNS: Readonly<Record<CallbackAnswer['tone'], string>> = {
  good: '<path d="m7.5 12.5 3 3 6-6.5"/>',
  neutral: '<path d="M8 12h8"/>',
  bad: '<path d="M12 7.5v5.5"/><path d="M12 16.4v.1"/>',
};

export function resultPage({ tone, heading, text, advice }: CallbackAnswer, app: App): string {
  const back = app.url ? ` <a href="${escape(app.url)}">Back to ${escape(app.name)}</a>` : '';
  return page(
    app,
    heading,
    tone,
    `<svg viewBox="0 0 24 24" aria-hidden="true">${SIGNS[tone]}</svg>
<h1>${escape(heading)}</h1>
<p>${escape(text)}</p>
<p class="advice">${escape(advice)}${back}</p>`,
  );
}

/** `body` is HTML; the caller escapes all values from outside. */
function page(app: App, title: string, tone: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main class="${tone}">
<p class="app">${escape(app.name)}</p>
${body}
</main>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
