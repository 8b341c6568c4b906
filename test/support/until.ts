/** Waiting for a condition, with a limit. */

/** Ends a wait for something that never happens. It is no limit of speed: a busy machine takes minutes at times. */
const WAIT_MS = 300_000;
/** At first, and at last: what takes seconds is not looked at a hundred times, which costs more than what is waited for. */
const LOOK_MS = 20;
const LOOK_MS_MAX = 250;

/** Waits until `look` gives something, and returns it. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined | false>,
  ms = WAIT_MS,
): Promise<T> {
  const deadline = Date.now() + ms;
  for (let pause = LOOK_MS; ; pause = Math.min(LOOK_MS_MAX, pause * 1.25)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
