import { useQuery } from '@tanstack/react-query';
import { observabilityQuery } from '../../app/observability.js';
import { Page } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { Answers } from './answers-strip.js';
import { Attention } from './attention.js';
import { Budgets } from './budgets.js';
import { Running } from './running.js';
import { StartWorker } from './start-worker.js';
import { Traffic } from './traffic.js';
import './overview.css';

/** The day in one picture: four answers, then what needs a person, what the vendors still allow, when calls were made, and what runs. */
export function Overview() {
  const query = useQuery(observabilityQuery);
  return (
    <Page title="Overview">
      <Loaded query={query} lines={10}>
        {(state) => (
          <>
            <Answers state={state} />
            <Attention attention={state.needs_attention} />
            <Budgets budgets={state.budgets} />
            <Traffic budgets={state.budgets} />
            <Running state={state} />
          </>
        )}
      </Loaded>
      <StartWorker />
    </Page>
  );
}
