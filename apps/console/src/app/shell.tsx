import { useEffect, useState } from 'react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { shortName } from '../format/ids.js';
import { liveWhileSeen } from './live-while-seen.js';
import { liveState } from './live.js';
import { groupsOf } from './nav.js';
import { reachability, unavailableServer } from './reachability.js';
import { followOtherTabs, type Session, sessionQuery, signOut } from './session.js';
import { useStore } from './store.js';

/** Top bar, navigation and the page. It goes to the sign-in page when the session ends. */
export function Shell() {
  const { data: session } = useQuery(sessionQuery);
  return session ? <Frame session={session} /> : <SignInAgain />;
}

/** The location changes before this component is gone, so the page that the person comes back to is read only once. */
function SignInAgain() {
  const navigate = useNavigate();
  const { href } = useLocation();
  const [next] = useState(href);
  useEffect(() => void navigate({ to: '/sign-in', search: { next }, replace: true }), [navigate, next]);
  return null;
}

function Frame({ session }: { session: Session }) {
  const queries = useQueryClient();
  const [isNavOpen, setNavOpen] = useState(false);
  useEffect(() => liveWhileSeen(queries, session.role), [queries, session.role]);
  useEffect(followOtherTabs, []);
  return (
    <div className="shell">
      <a className="skip-link" href="#page">
        Skip to the page
      </a>
      <header className="top-bar">
        <button
          className="nav-button"
          type="button"
          aria-expanded={isNavOpen}
          aria-controls="nav"
          onClick={() => setNavOpen(!isNavOpen)}
        >
          Menu
        </button>
        <Link to="/" className="brand">
          <img src="/console/icon.svg" alt="" width="22" height="22" />
          Pacekeeper
        </Link>
        <LiveState />
        <span className="who" title={`Signed in as ${session.account}`}>
          {session.role === 'admin' && 'Operator '}
          <b>{shortName(session.account ?? session.subject)}</b>
        </span>
        <SignOut />
      </header>
      <nav id="nav" className={isNavOpen ? 'nav nav-open' : 'nav'} aria-label="Pages">
        {groupsOf(session.role).map(({ name, pages }) => (
          <section key={pages[0]?.to}>
            {name && <h2>{name}</h2>}
            <ul>
              {pages.map(({ to, label }) => (
                <li key={to}>
                  <Link to={to} onClick={() => setNavOpen(false)} activeProps={{ 'aria-current': 'page' }}>
                    {label}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <main id="page" className="main" tabIndex={-1}>
        <OfflineBanner />
        <Outlet />
      </main>
    </div>
  );
}

const LIVE_WORDS = {
  connecting: ['Connecting', 'The event stream is being opened.'],
  open: ['Live', 'The page changes as soon as something happens.'],
  down: ['Every 15 s', 'The event stream is broken, so the page is read again every 15 s.'],
} as const;

function LiveState() {
  const state = useStore(liveState);
  const [word, explanation] = LIVE_WORDS[state];
  return (
    <span className={`live live-${state}`} title={explanation} role="status">
      {word}
    </span>
  );
}

const SERVER_NAMES = { postgres: 'Postgres', redis: 'Redis', nats: 'NATS' } as const;

function OfflineBanner() {
  const isReachable = useStore(reachability);
  const unavailable = useStore(unavailableServer);
  if (isReachable && !unavailable) return null;
  const server = isReachable && unavailable ? SERVER_NAMES[unavailable] : 'The server';
  return (
    <p className="offline" role="alert">
      <strong>{server} does not answer.</strong> The figures below are those of the last answer. The page goes
      on by itself as soon as the server is back.
    </p>
  );
}

function SignOut() {
  const leave = useMutation({
    mutationFn: signOut,
    // A new document forgets all that this person has seen.
    onSuccess: () => window.location.assign('/console/sign-in'),
  });
  return (
    <button
      type="button"
      className="button button-quiet"
      disabled={leave.isPending}
      title={leave.error?.message}
      onClick={() => leave.mutate()}
    >
      {leave.isError ? 'Sign out again' : 'Sign out'}
    </button>
  );
}
