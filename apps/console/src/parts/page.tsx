import { type ReactNode, useEffect } from 'react';

interface PageProps {
  readonly title: string;
  /** One sentence below the title, or a link back. */
  readonly about?: ReactNode;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** One page: its heading, which is also the title of the tab, and what it shows. */
export function Page({ title, about, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Pacekeeper`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about && <div className="page-about">{about}</div>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  readonly title: string;
  /** A figure or a link at the end of the heading. */
  readonly aside?: ReactNode;
  /** The content reaches the card's edges: for tables and charts. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}

export function Card({ title, aside, isFlush = false, children }: CardProps) {
  return (
    <section className="card" aria-label={title}>
      <header className="card-head">
        <h2>{title}</h2>
        {aside && <div className="card-aside">{aside}</div>}
      </header>
      <div className={isFlush ? 'card-flush' : 'card-body'}>{children}</div>
    </section>
  );
}

interface FactsProps {
  readonly facts: ReadonlyArray<readonly [name: string, value: ReactNode]>;
}

/** Names and values of one thing, in two aligned columns. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
