import { type ReactNode } from 'react';
import { type Problem, UNREACHABLE } from '../app/problem.js';
import { Time } from './time.js';

/** A skeleton in place of `lines` lines or rows. It appears after 150 ms, so that a fast answer does not flicker. */
export function Loading({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  /** How the first item comes here, and a link or button for it. */
  readonly children?: ReactNode;
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

interface FailedProps {
  readonly problem: Problem;
  readonly onRetry: () => unknown;
}

/** In place of content that could not be read. It can be tried again only where that may help. */
export function Failed({ problem, onRetry }: FailedProps) {
  return (
    <div className="failed" role="alert">
      <strong>{problem.message}</strong>
      <Details problem={problem} />
      {problem.isPassing && (
        <button className="button" type="button" onClick={() => void onRetry()}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The same in a form or beside a button, where the person tries again by the button. */
export function FailedLine({ problem }: { readonly problem: Problem }) {
  return (
    <div className="failed-line" role="alert">
      {problem.message}
      <Details problem={problem} />
    </div>
  );
}

function Details({ problem: { details, code, requestId } }: { readonly problem: Problem }) {
  return (
    <>
      {details.length > 0 && (
        <ul>
          {details.map((detail) => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      )}
      {requestId && (
        <small>
          {code}, request {requestId}
        </small>
      )}
    </>
  );
}

interface OldProps {
  readonly problem: Problem;
  /** When the data was read, in milliseconds. */
  readonly readAt: number;
  readonly onRetry: () => unknown;
}

/** Says how old the data below it is, if the data could not be read again. Otherwise a person would take old figures for new ones. */
function Old({ problem, readAt, onRetry }: OldProps) {
  return (
    <p className="old" role="status">
      These figures are from <Time at={new Date(readAt).toISOString()} />. {problem.message}{' '}
      {problem.isPassing && (
        <button className="button-link" type="button" onClick={() => void onRetry()}>
          Try again
        </button>
      )}
    </p>
  );
}

interface LoadedProps<Data> {
  readonly query: {
    readonly data: Data | undefined;
    readonly dataUpdatedAt: number;
    readonly error: Problem | null;
    readonly refetch: () => unknown;
  };
  readonly lines?: number;
  readonly children: (data: Data) => ReactNode;
}

/**
 * Shows a query's data. Data that was read once stays. If the server cannot be reached, the shell's banner says so; any other problem is shown
 * in a line above the data.
 */
export function Loaded<Data>({ query, lines, children }: LoadedProps<Data>) {
  const { data, dataUpdatedAt, error, refetch } = query;
  if (data === undefined)
    return error ? <Failed problem={error} onRetry={refetch} /> : <Loading lines={lines} />;
  return (
    <>
      {error && error.code !== UNREACHABLE && (
        <Old problem={error} readAt={dataUpdatedAt} onRetry={refetch} />
      )}
      {children(data)}
    </>
  );
}
