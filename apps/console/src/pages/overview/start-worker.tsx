import { Link } from '@tanstack/react-router';
import { useSearchState } from '../../app/search-state.js';
import { Copy } from '../../parts/copy.js';
import { Drawer } from '../../parts/drawer.js';

const COMMANDS = [
  ['Kubernetes', 'kubectl rollout restart -n pacekeeper deployment/pacekeeper-worker'],
  ['Docker Compose', 'docker compose up -d worker'],
  ['On a machine of its own', 'npm run start:worker'],
] as const;

export function StartWorkerButton() {
  const [, change] = useSearchState();
  return (
    <button type="button" className="button" onClick={() => change({ start: 'worker' })}>
      Start a worker
    </button>
  );
}

/** A process cannot start another one, so the operator gets the commands. They stay while the consumer comes and goes in the list. */
export function StartWorker() {
  const [search, change] = useSearchState();
  if (search.start !== 'worker') return null;
  return (
    <Drawer title="Start a worker" onClose={() => change({ start: undefined })}>
      <p>
        Messages wait in NATS while no worker pulls from their consumer, and nothing is lost. Start a worker
        in the way that this installation runs:
      </p>
      {COMMANDS.map(([where, command]) => (
        <Copy key={where} label={where} text={command} />
      ))}
      <p>
        If workers run, compare their NATS with{' '}
        <Link to="/settings" search={{ name: 'nats' }}>
          that of the api
        </Link>
        .
      </p>
    </Drawer>
  );
}
