export interface ConsentPage {
  readonly vendorName: string;
  readonly action: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Carried through the form unchanged. */
  readonly hidden: Readonly<Record<string, string>>;
  readonly people: readonly { readonly id: string; readonly name: string }[];
}

/** What the form sends as `athlete_id` to be somebody the vendor has not met. */
export const SOMEBODY_NEW = 'new';

export function consentPage(page: ConsentPage): string {
  const hidden = Object.entries(page.hidden).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const people = [...page.people, { id: SOMEBODY_NEW, name: 'Somebody new' }].map(
    ({ id, name }, index) =>
      `<label><input type="radio" name="athlete_id" value="${escapeHtml(id)}"${index === 0 ? ' checked' : ''}> ${escapeHtml(name)}</label>`,
  );
  const scopes = page.scopes.map(
    (scope) =>
      `<label><input type="checkbox" name="scope_granted" value="${escapeHtml(scope)}" checked> ${escapeHtml(scope)}</label>`,
  );
  return pageOf(
    `${page.vendorName} (simulated)`,
    `<p><b>${escapeHtml(page.clientId)}</b> would like to read your ${page.vendorName} data.</p>
<form method="post" action="${escapeHtml(page.action)}">${hidden.join('')}
<fieldset><legend>You are</legend>${people.join('')}</fieldset>
<fieldset><legend>It may have</legend>${scopes.join('')}</fieldset>
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></form>`,
  );
}

export function refusalPage(vendorName: string, reason: string): string {
  return pageOf(
    `${vendorName} (simulated)`,
    `<p>This request cannot be answered: ${escapeHtml(reason)}.</p>`,
  );
}

function pageOf(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:3rem auto;padding:0 1rem;color:#1c2b2a;background:#f6f8f7}
fieldset{border:1px solid #c9d6d1;border-radius:8px;margin:1rem 0;background:#fff}label{display:block;padding:.2rem 0}
button{font:inherit;padding:.5rem 1.4rem;border-radius:8px;border:1px solid #1f7a5c;background:#fff;color:#1f7a5c}
button[value=allow]{background:#1f7a5c;color:#fff}</style></head><body><h1>${escapeHtml(title)}</h1>${body}</body></html>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
