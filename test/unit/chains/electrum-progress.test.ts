/** The time that a long search takes, as the log tells it. */
import { describe, expect, it } from 'vitest';
import { Progress } from '../../../daemon/chains/utxo/electrum/histories/progress.ts';

const HINT = /COST_SOFT_LIMIT=0 and COST_HARD_LIMIT=0/;

describe('the progress of a long search', () => {
  it.each([
    { perSecond: 5, total: 100_000, left: ', 6 hours to go at this rate' },
    { perSecond: 1_000, total: 100_000, left: ', 2 minutes to go at this rate' },
  ])('at $perSecond a second of $total says$left', ({ perSecond, total, left }) => {
    const progress = new Progress();
    expect(progress.text(0, total, false, 1_000)).toBe('');
    expect(progress.text(10 * perSecond, total, false, 11_000)).toBe(left);
  });

  it('names the setting of a server that slows its client down', () => {
    const progress = new Progress();
    expect(progress.text(0, 1_000, true, 0)).toMatch(HINT);
    expect(progress.text(50, 1_000, true, 10_000)).toMatch(HINT);
    expect(progress.text(100, 1_000, false, 20_000)).not.toMatch(HINT);
  });

  it('measures anew what begins anew, and says nothing where nothing moves', () => {
    const progress = new Progress();
    progress.text(900, 1_000, false, 0);
    expect(progress.text(10, 1_000, false, 100_000)).toBe('');
    expect(progress.text(10, 1_000, false, 200_000)).toBe('');
    expect(progress.text(110, 1_000, false, 300_000)).toBe(', 15 minutes to go at this rate');
  });
});
