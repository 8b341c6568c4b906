/** How long work holds the event loop, for tests and benches. */

/** The thread's CPU time, milliseconds: on a busy machine a turn of the clock's time says nothing. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The longest that the loop was held meanwhile (CPU), and how long it took (clock), in milliseconds. */
export async function turnsOf(work: Promise<unknown>): Promise<{ longest: number; whole: number }> {
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  const began = performance.now();
  let longest = 0;
  for (let before = cpuMs(); !over; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await ended;
  return { longest, whole: performance.now() - began };
}
