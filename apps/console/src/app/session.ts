import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { setVendors } from '../format/vendors.js';
import { answerOf, api, type Schema, setCsrfToken } from './api.js';
import { Problem } from './problem.js';

export type Session = Schema<'SessionAnswer'>;
type Credential = Schema<'SignIn'>;

/** The session of this browser; null if there is none. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => remember(await currentSession()),
  staleTime: Infinity,
  gcTime: Infinity,
});

async function currentSession(): Promise<Session | null> {
  try {
    return await answerOf(api.GET('/v1/session'));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return null;
    throw error;
  }
}

// All tabs of this browser have one cookie. A tab that went on after a sign-in of another person would show that person's data as its own.
const otherTabs = new BroadcastChannel('pacekeeper-session');

/** Loads this tab again when another tab signs in or out. Returns a function that ends this. */
export function followOtherTabs(): () => void {
  otherTabs.onmessage = () => window.location.reload();
  return () => {
    otherTabs.onmessage = null;
  };
}

export async function signIn(queries: QueryClient, credential: Credential): Promise<Session> {
  const session = await answerOf(api.POST('/v1/session', { body: credential }));
  otherTabs.postMessage('signed in');
  // Answers to another person must not be shown to this one.
  queries.clear();
  queries.setQueryData(sessionQuery.queryKey, remember(session));
  return session;
}

/** The same by the code of a link. A person who opens a used link while signed in goes on in the session. */
export async function signInByLink(queries: QueryClient, code: string): Promise<Session> {
  try {
    return await signIn(queries, { code });
  } catch (error) {
    const session = error instanceof Problem && error.status === 401 ? await currentSession() : null;
    if (!session) throw error;
    queries.setQueryData(sessionQuery.queryKey, remember(session));
    return session;
  }
}

export async function signOut(): Promise<void> {
  await answerOf(api.DELETE('/v1/session'));
  otherTabs.postMessage('signed out');
}

function remember<Found extends Session | null>(session: Found): Found {
  setCsrfToken(session?.csrf_token);
  setVendors(session?.vendors ?? []);
  return session;
}

/** The session. Only pages below the shell may ask, because the router shows the shell to signed-in people only. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('There is no session');
  return data;
}

// `npm start` prints a link with a code in its fragment. A browser sends a fragment to no server, so a preview of the link cannot use the code up.
let codeOfLink = takeCode();

function takeCode(): string | undefined {
  const code = new URLSearchParams(window.location.hash.slice(1)).get('code');
  if (!code) return undefined;
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  return code;
}

export const hasCodeOfLink = (): boolean => codeOfLink !== undefined;

/** Returns the code once. It signs in once only, so a second request with it would fail. */
export function spendCodeOfLink(): string | undefined {
  const code = codeOfLink;
  codeOfLink = undefined;
  return code;
}
