import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { Page } from '../parts/page.js';
import { Empty, Failed } from '../parts/states.js';
import { Problem } from './problem.js';

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="There is no such page">
        <p>The address may be mistyped, or the page is for operators only.</p>
        <Link to="/">Go to the first page</Link>
      </Empty>
    </Page>
  );
}

/** A page that threw: a server that did not answer while the page opened, or a mistake of ours. */
export function Crashed({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Page title="This page could not be shown">
      <Failed problem={Problem.from(error)} onRetry={() => router.invalidate()} />
    </Page>
  );
}

/** The same, if there is no shell yet: the session could not be read. */
export function CrashedBeforeShell(props: ErrorComponentProps) {
  return (
    <main className="sign-in">
      <Crashed {...props} />
    </main>
  );
}
