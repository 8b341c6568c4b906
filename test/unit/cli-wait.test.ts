/** Commands that wait: what they say meanwhile, and how they end. */
import { describe, expect, it } from 'vitest';
import { secondsToWait } from '../../daemon/cli/parse.ts';
import type { Session } from '../../daemon/cli/session.ts';
import { type Look, waitUntil } from '../../daemon/cli/wait.ts';

function session() {
  const notes: string[] = [];
  return { notes, of: { note: (text: string) => notes.push(text) } as unknown as Session };
}

describe('a command that waits', () => {
  it('says once what for, and goes on as soon as it is done', async () => {
    const { notes, of } = session();
    const looks: Look<string>[] = [{ waitsFor: 'block 5 of 9' }, { waitsFor: 'block 5 of 9' }, { done: 'read' }];
    expect(await waitUntil(of, 60, async () => looks.shift()!)).toBe('read');
    expect(notes).toEqual(['block 5 of 9 …']);
  });

  it.each([0, 1])('ends with the reason after %s seconds', async (seconds) => {
    const { notes, of } = session();
    const waiting = waitUntil(of, seconds, async () => ({ waitsFor: 'the node is away', code: 'restore.not_ready' }));
    const after = seconds === 0 ? '' : ' (waited 1 s: --wait waits longer)';
    await expect(waiting).rejects.toMatchObject({ message: `the node is away${after}`, code: 'restore.not_ready' });
    expect(notes).toEqual(seconds === 0 ? [] : ['the node is away …']);
  });

  it.each(['-1', '1.5', '604801', 'long'])('refuses to wait for %s seconds', (text) => {
    expect(() => secondsToWait(text)).toThrow(/from 0 to 604800/);
  });
});
