import { type FormEvent, useEffect, useState } from 'react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { FailedLine } from '../parts/states.js';
import { signIn, signInByLink, spendCodeOfLink } from './session.js';

const route = getRouteApi('/sign-in');

/** Signs in by the code of a link, or by a token that is pasted. The token is posted and kept nowhere. */
export function SignIn() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { next } = route.useSearch();
  const [token, setToken] = useState('');
  const entry = useMutation({
    mutationFn: ({ code, token: pasted }: { readonly code?: string; readonly token?: string }) =>
      code ? signInByLink(queries, code) : signIn(queries, { token: pasted }),
    onSuccess: () => navigate({ href: pathInside(next), replace: true }),
  });
  const { mutate } = entry;
  useEffect(() => {
    const code = spendCodeOfLink();
    if (code) mutate({ code });
  }, [mutate]);

  function submit(event: FormEvent): void {
    event.preventDefault();
    mutate({ token: token.trim() });
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} aria-labelledby="sign-in-title">
        <h1 id="sign-in-title">
          <img src="/console/icon.svg" alt="" width="28" height="28" />
          Pacekeeper
        </h1>
        {next && next !== '/' && <p>Sign in to see the page that you asked for.</p>}
        <p>
          Open the link that <code>npm start</code> printed, or paste the token of an operator or an athlete.
        </p>
        <label htmlFor="token">Token</label>
        <textarea
          id="token"
          autoFocus
          rows={4}
          required
          spellCheck={false}
          autoComplete="off"
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
        {entry.error && <FailedLine problem={entry.error} />}
        <button
          className="button button-main"
          type="submit"
          disabled={entry.isPending || token.trim() === ''}
        >
          {entry.isPending ? 'Signing in…' : 'Sign in'}
        </button>
        <p className="hint">
          <code>npm run console</code> prints a new link. <code>npm run token</code> prints a token. A link
          signs in once; service keys do not sign in.
        </p>
      </form>
    </main>
  );
}

/** A link may name any `next`; only a path of the console is followed. */
function pathInside(next: string | undefined): string {
  return next?.startsWith('/') && !next.startsWith('//') && !next.startsWith('/sign-in') ? next : '/';
}
