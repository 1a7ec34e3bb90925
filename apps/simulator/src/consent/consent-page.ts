interface ConsentPage {
  readonly vendorName: string;
  readonly appName: string;
  readonly action: string;
  readonly scopes: readonly string[];
  /** Hidden fields of the form. The page leaves out undefined fields. */
  readonly hidden: Readonly<Record<string, string | undefined>>;
  readonly people: readonly { readonly id: string; readonly firstname: string; readonly lastname: string }[];
  readonly redirectUri: string;
}

/** The form's `athlete_id` for a new person. */
export const NEW_ATHLETE_ID = 'new';

// Descriptions of scopes, similar to the texts on the vendors' pages.
const MEANINGS: Readonly<Record<string, string>> = {
  read: 'View data about your public profile',
  read_all: 'View your private routes, segments and events',
  'profile:read_all': 'View your complete profile',
  'profile:write': 'Update your weight and starred segments',
  'activity:read': 'View data about your activities',
  'activity:read_all': 'View data about your private activities',
  'activity:write': 'Upload and edit your activities',
  email: 'View your email address',
  personal: 'View your age, height and weight',
  daily: 'View your daily summaries of sleep, activity and readiness',
  heartrate: 'View your heart rate',
  workout: 'View your workouts',
  tag: 'View your tags',
  session: 'View your guided sessions',
  spo2: 'View your blood oxygen',
  offline: 'Stay connected while you are away',
  'accesslink.read_all': 'View your training, sleep and activity data',
  'read:profile': 'View your name and email address',
  'read:sleep': 'View your sleep',
  'read:recovery': 'View your recovery',
  'read:cycles': 'View your daily strain',
  'read:workout': 'View your workouts',
  'read:body_measurement': 'View your height, weight and maximum heart rate',
};

/** A page on which a person chooses an athlete and the scopes to grant. */
export function consentPage(page: ConsentPage): string {
  const { vendorName, appName, action, scopes, hidden, people, redirectUri } = page;
  return pageOf(
    vendorName,
    `Connect to ${appName}?`,
    `<h1>Let ${escapeHtml(appName)} connect?</h1>
<form method="post" action="${escapeHtml(action)}">
${Object.entries(hidden).map(hiddenField).join('\n')}
<fieldset><legend>It asks to</legend>
${scopes.map(scopeBox).join('\n')}
</fieldset>
<fieldset><legend>You are</legend>
${people.map(personChoice).join('\n')}
<label><input type="radio" name="athlete_id" value="${NEW_ATHLETE_ID}"${people.length === 0 ? ' checked' : ''}>
<span>a new athlete</span></label>
</fieldset>
<div class="buttons"><button name="decision" value="allow">Authorize</button>
<button name="decision" value="deny" class="quiet">Cancel</button></div>
</form>
<p class="note">You return to ${escapeHtml(new URL(redirectUri).host)}.</p>`,
  );
}

/**
 * The error page that replaces the consent page. It is shown if the request cannot be trusted, or if the app has reached
 * its maximum number of athletes.
 */
export function refusalPage(vendorName: string, heading: string, reason: string): string {
  return pageOf(vendorName, heading, `<h1>${escapeHtml(heading)}</h1>\n<p>${escapeHtml(reason)}</p>`);
}

function scopeBox(scope: string): string {
  return `<label><input type="checkbox" name="scope_granted" value="${escapeHtml(scope)}" checked>
<span>${MEANINGS[scope] ?? ''} <code>${escapeHtml(scope)}</code></span></label>`;
}

function personChoice({ id, firstname, lastname }: ConsentPage['people'][number], index: number): string {
  return `<label><input type="radio" name="athlete_id" value="${escapeHtml(id)}"${index === 0 ? ' checked' : ''}>
<span>${escapeHtml(`${firstname} ${lastname}`)} <code>${escapeHtml(id)}</code></span></label>`;
}

function hiddenField([name, value]: [string, string | undefined]): string {
  return value === undefined ? '' : `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

function pageOf(vendorName: string, title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body class="${vendorName.toLowerCase()}"><main><p class="sign">simulated ${vendorName}</p>
${body}</main></body></html>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

// `--go` is the background of white text in both colour schemes. `--sign` is a colour on the card.
const STYLE = `
:root{color-scheme:light dark;--ink:#1d2329;--paper:#f4f5f3;--card:#fff;--line:#dfe2de;--soft:#69727b;--go:#3c4a57;--sign:#3c4a57}
.strava{--go:#c8400b;--sign:#c8400b}.oura{--go:#5b4bc4;--sign:#5b4bc4}.whoop{--go:#b0275f;--sign:#b0275f}.polar{--go:#b8122f;--sign:#b8122f}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaec;--paper:#14171a;--card:#1d2226;--line:#30373d;--soft:#9aa4ad;--sign:#b9c4cd}
.strava{--sign:#f0703c}.oura{--sign:#a99cff}.whoop{--sign:#ff7fb0}.polar{--sign:#ff7a8a}}
*{box-sizing:border-box}body{margin:0;padding:6vh 1rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}main{max-width:30rem;margin:auto;padding:1.5rem;background:var(--card);
border:1px solid var(--line);border-radius:14px}h1{font-size:1.35rem;line-height:1.25;margin:.2rem 0 1.2rem;overflow-wrap:anywhere}
.sign{margin:0;color:var(--sign);font-weight:600;font-size:.85rem}fieldset{border:0;border-top:1px solid var(--line);
margin:0 0 1rem;padding:.8rem 0 0;max-height:16rem;overflow:auto}legend{padding:0 .6rem 0 0;color:var(--soft);font-size:.85rem}
label{display:flex;gap:.6rem;align-items:baseline;padding:.25rem 0}code{color:var(--soft);font-size:.82em}
.buttons{display:flex;gap:.6rem}button{flex:1;padding:.7rem;border:1px solid var(--go);border-radius:9px;background:var(--go);
color:#fff;font:inherit;font-weight:600;cursor:pointer}button.quiet{background:none;color:var(--ink);border-color:var(--line)}
.note{color:var(--soft);font-size:.85rem;margin:1rem 0 0}`;
