import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../../app/api.js';
import { Page } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { ConnectionsCard } from '../athletes/connections-card.js';
import { ImportsCard } from '../athletes/imports-card.js';
import '../athletes/athletes.css';

/** An athlete's own accounts at the vendors and what was imported from them. */
export function Connections() {
  const query = useQuery({
    queryKey: ['connections'],
    queryFn: () => answerOf(api.GET('/v1/connections')),
    meta: { changes: ['connection.*'] },
  });
  return (
    <Page
      title="Connections"
      about="Where your activities and nights come from, and how far their import is."
    >
      <Loaded query={query} lines={6}>
        {({ items }) => <ConnectionsCard connections={items} />}
      </Loaded>
      <ImportsCard />
    </Page>
  );
}
