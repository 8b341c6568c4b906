/** Deposits that no invoice claims, of one business. */
import type { Result } from '../bridge.ts';
import { useCall } from '../data.tsx';

type Item = Result<'inbox.list'>['items'][number];

const WAITING_MAX = 200;

/**
 * Those among the newest of all businesses, and whatever waits for a decision, however many came after it; the newest first. `newest`,
 * `every`: how many, and how often they are read again, in milliseconds.
 */
export function useInbox(
  business: number | undefined,
  { newest, every }: { newest: number; every: number },
): { data: Item[] | undefined; error: Error | null; refetch(): unknown } {
  const list = useCall('inbox.list', { limit: newest }, { every });
  const asked = { waiting: `${business}`, limit: WAITING_MAX };
  const waiting = useCall('inbox.list', asked, { every, enabled: business !== undefined });
  const known = new Set(list.data?.items.map(({ id }) => id));
  const older = waiting.data?.items.filter(({ id }) => !known.has(id)).sort((a, b) => b.id - a.id) ?? [];
  const items = [...(list.data?.items ?? []), ...older].filter(({ business_id }) => business_id === business);
  // an older server tells the newest alone
  const isRead = waiting.data !== undefined || waiting.error !== null || business === undefined;
  const data = list.data && isRead ? items : undefined;
  return { data, error: list.error, refetch: () => Promise.all([list.refetch(), waiting.refetch()]) };
}
