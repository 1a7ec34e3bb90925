import { type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { useNow } from '../../parts/time.js';
import { type Answer, failedAnswer, limitsAnswer, personAnswer, waitingAnswer } from './answers.js';
import { mattersIn } from './attention.js';
import { useUnfinishedImports } from './unfinished-imports.js';

// Failures have no event of their own that would be cheap enough: each fetch of a backfill is one.
const READ_EVERY_MS = 60_000;

/** The four questions of an operator, each with its answer in one sentence. */
export function Answers({ state }: { readonly state: Schema<'ObservabilityAnswer'> }) {
  const now = useNow();
  const imports = useUnfinishedImports();
  const hasFailures = state.status_distribution.failed > 0;
  const failures = useQuery({
    queryKey: ['failures', 'most frequent'],
    queryFn: () => answerOf(api.GET('/admin/failures')),
    enabled: hasFailures,
    refetchInterval: READ_EVERY_MS,
  });
  const reason = hasFailures ? failures.data?.items[0]?.error : undefined;
  return (
    <ul className="answers" aria-label="The state in four answers">
      <AnswerItem question="Limits" {...limitsAnswer(state.budgets, now)} />
      <AnswerItem question="Waiting" {...waitingAnswer(state, imports, now)} />
      <AnswerItem question="Failed" {...failedAnswer(state, reason)}>
        {hasFailures && <Link to="/failures">Show failures</Link>}
      </AnswerItem>
      <AnswerItem question="Needs a person" {...personAnswer(mattersIn(state.needs_attention))} />
    </ul>
  );
}

interface AnswerItemProps extends Answer {
  readonly question: string;
  readonly children?: ReactNode;
}

function AnswerItem({ question, tone, answer, detail, children }: AnswerItemProps) {
  return (
    <li className={`tone-${tone}`}>
      <small>{question}</small>
      <strong>{answer}</strong>
      <span>
        {detail} {children}
      </span>
    </li>
  );
}
