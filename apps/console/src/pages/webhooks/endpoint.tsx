import { queryOptions } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { ActionButton } from '../../parts/action-button.js';

export type Endpoint = Schema<'EndpointHealthAnswer'>;

export const ENDPOINTS_KEY = ['webhook-endpoints'];

/** There are 50 endpoints at most, so the page of one endpoint reads them all, too. */
export const endpointsQuery = queryOptions({
  queryKey: ENDPOINTS_KEY,
  queryFn: () => answerOf(api.GET('/admin/webhook-endpoints')),
  meta: { changes: ['overview'] },
});

/** An endpoint is failing while its last attempts failed. */
export function healthOf({ status, failing_since }: Endpoint): string {
  if (status === 'disabled') return 'disabled';
  return failing_since ? 'failing' : 'active';
}

/** Enables a disabled endpoint and disables an active one. */
export function Switch({ endpoint: { id, status } }: { readonly endpoint: Endpoint }) {
  const params = { path: { id } };
  const isActive = status === 'active';
  return (
    <ActionButton
      key={status}
      label={isActive ? 'Disable' : 'Enable'}
      run={async () => {
        if (isActive) await answerOf(api.POST('/admin/webhook-endpoints/{id}/disable', { params }));
        else await answerOf(api.POST('/admin/webhook-endpoints/{id}/enable', { params }));
      }}
      refreshes={[ENDPOINTS_KEY, ['webhook-deliveries', id]]}
    />
  );
}
