import { createHash, timingSafeEqual } from 'node:crypto';
import { type FastifyInstance, type FastifyRequest } from 'fastify';

// Three fields of some 50 characters.
const LARGEST_FORM_BYTES = 4 * 1_024;
const LIFETIME_SECONDS = 600;

/**
 * Binds the confirmation form to the browser that got the page. Each form has its own cookie, so that two tabs do not replace each other's
 * cookie. `SameSite=Strict`: the browser sends the cookie only when our own page posts. The form has the cookie's hash, never the
 * cookie itself.
 */
export class ConsentCookie {
  /** The prefix `__Host-` keeps other hosts of our domain from setting the cookie. Browsers accept this prefix over https only. */
  constructor(private readonly isSecure: boolean) {}

  header(confirm: string, secret: string): string {
    const attributes = ['Path=/', `Max-Age=${LIFETIME_SECONDS}`, 'HttpOnly', 'SameSite=Strict'];
    return [`${this.nameOf(confirm)}=${secret}`, ...attributes, ...(this.isSecure ? ['Secure'] : [])].join(
      '; ',
    );
  }

  /** The secret, if the browser has the cookie and the form's token matches it. */
  read(cookies: string | undefined, confirm: string, csrf: string): string | undefined {
    const name = this.nameOf(confirm);
    const [, secret] = (cookies ?? '')
      .split(';')
      .map((pair) => pair.trim().split('='))
      .find(([key]) => key === name) ?? [undefined, undefined];
    if (!secret) return undefined;
    const [wanted, given] = [csrfOf(secret), csrf].map((text) => createHash('sha256').update(text).digest());
    return wanted && given && timingSafeEqual(wanted, given) ? secret : undefined;
  }

  private nameOf(confirm: string): string {
    const id = createHash('sha256').update(`name ${confirm}`).digest('hex').slice(0, 12);
    return `${this.isSecure ? '__Host-' : ''}consent-${id}`;
  }
}

export function csrfOf(secret: string): string {
  return createHash('sha256').update(`csrf ${secret}`).digest('base64url');
}

/** Route configuration: this route accepts an HTML form. Every other route answers 415 to a form. */
export const TAKES_FORM = { takesForm: true, bodyLimitBytes: LARGEST_FORM_BYTES };

export function acceptForms(server: FastifyInstance): void {
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: LARGEST_FORM_BYTES },
    (request, body, done) => {
      if (takesForm(request)) done(null, Object.fromEntries(new URLSearchParams(body as string)));
      else done(Object.assign(new Error('This route takes no forms'), { statusCode: 415 }));
    },
  );
}

function takesForm({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as Partial<typeof TAKES_FORM>).takesForm === true;
}
