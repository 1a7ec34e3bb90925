/**
 * The cookie of a session. A page cannot read it, and a browser sends it only with requests that a page of ours makes. The prefix `__Host-`
 * keeps other hosts of our domain from setting the cookie; browsers accept this prefix over https only.
 */
export class SessionCookie {
  private readonly name: string;
  private readonly isSecure: boolean;

  constructor(publicUrl: string) {
    this.isSecure = publicUrl.startsWith('https:');
    this.name = `${this.isSecure ? '__Host-' : ''}pacekeeper_session`;
  }

  /** Undefined if there is no such cookie. Several cookies of this name give an empty text, because nobody can tell which one is meant. */
  read(cookies: string): string | undefined {
    const values = cookies
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${this.name}=`))
      .map((pair) => pair.slice(this.name.length + 1));
    return values.length > 1 ? '' : values[0];
  }

  /** `isHttps`: the request came over https, also if PUBLIC_URL does not say so. */
  set(secret: string, maxAgeSeconds: number, isHttps: boolean): string {
    const attributes = ['Path=/', `Max-Age=${maxAgeSeconds}`, 'HttpOnly', 'SameSite=Strict'];
    const secure = this.isSecure || isHttps ? ['Secure'] : [];
    return [`${this.name}=${secret}`, ...attributes, ...secure].join('; ');
  }

  clear(isHttps: boolean): string {
    return this.set('', 0, isHttps);
  }
}
