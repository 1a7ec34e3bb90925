import { type Athlete } from '../../core/index.js';
import { type ConsentRequest } from './consent-request.js';

const MEANINGS: Readonly<Record<string, string>> = {
  read: 'View data about your public profile',
  read_all: 'View your private routes, segments and events',
  'profile:read_all': 'View your complete profile',
  'profile:write': 'Update your weight and starred segments',
  'activity:read': 'View data about your activities',
  'activity:read_all': 'View data about your private activities',
  'activity:write': 'Upload and edit your activities',
};

export function authorizePage(consent: ConsentRequest, athletes: readonly Athlete[]): string {
  const { clientId, redirectUri, scopes, state } = consent;
  const hidden = { client_id: clientId, redirect_uri: redirectUri, scope: scopes.join(','), state };
  return page(
    'Authorize',
    `<p class="sign">simulated Strava</p>
<h1>Let app ${escape(clientId)} connect?</h1>
<form method="post" action="/oauth/authorize">
${Object.entries(hidden).map(hiddenField).join('\n')}
<fieldset><legend>It asks to</legend>
${scopes.map(scopeBox).join('\n')}
</fieldset>
<fieldset><legend>You are</legend>
${athletes.map(athleteChoice).join('\n')}
<label><input type="radio" name="athlete_id" value="new"${athletes.length === 0 ? ' checked' : ''}>
<span>a new athlete</span></label>
</fieldset>
<div class="buttons"><button name="decision" value="allow">Authorize</button>
<button name="decision" value="deny" class="quiet">Cancel</button></div>
</form>
<p class="note">You return to ${escape(new URL(redirectUri).host)}.</p>`,
  );
}

export function crowdedPage(message: string): string {
  return page(
    'Error 403',
    `<p class="sign">simulated Strava</p><h1>Error 403: ${escape(message)}</h1>
<p>This app has exceeded the limit of connected athletes.</p>`,
  );
}

function scopeBox(scope: string): string {
  return `<label><input type="checkbox" name="scope_granted" value="${escape(scope)}" checked>
<span>${MEANINGS[scope] ?? ''} <code>${escape(scope)}</code></span></label>`;
}

function athleteChoice({ id, firstname, lastname }: Athlete, index: number): string {
  return `<label><input type="radio" name="athlete_id" value="${escape(id)}"${index === 0 ? ' checked' : ''}>
<span>${escape(`${firstname} ${lastname}`)} <code>${escape(id)}</code></span></label>`;
}

function hiddenField([name, value]: [string, string | undefined]): string {
  return value === undefined ? '' : `<input type="hidden" name="${name}" value="${escape(value)}">`;
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>${escape(title)}</title><style>${STYLE}</style></head><body><main>${body}</main></body></html>`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1d2329;--paper:#f4f5f3;--card:#fff;--line:#dfe2de;--soft:#69727b;--go:#c8400b}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaec;--paper:#14171a;--card:#1d2226;--line:#30373d;--soft:#9aa4ad;--go:#f0703c}}
*{box-sizing:border-box}body{margin:0;padding:6vh 1rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}main{max-width:30rem;margin:auto;padding:1.5rem;background:var(--card);
border:1px solid var(--line);border-radius:14px}h1{font-size:1.35rem;line-height:1.25;margin:.2rem 0 1.2rem}
.sign{margin:0;color:var(--go);font-weight:600;font-size:.85rem}fieldset{border:0;border-top:1px solid var(--line);
margin:0 0 1rem;padding:.8rem 0 0;max-height:16rem;overflow:auto}legend{padding:0 .6rem 0 0;color:var(--soft);font-size:.85rem}
label{display:flex;gap:.6rem;align-items:baseline;padding:.25rem 0}code{color:var(--soft);font-size:.82em}
.buttons{display:flex;gap:.6rem}button{flex:1;padding:.7rem;border:1px solid var(--go);border-radius:9px;background:var(--go);
color:#fff;font:inherit;font-weight:600;cursor:pointer}button.quiet{background:none;color:var(--ink);border-color:var(--line)}
.note{color:var(--soft);font-size:.85rem;margin:1rem 0 0}`;
