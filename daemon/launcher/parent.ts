/**
 * The daemon's half of "never orphaned": the launcher (or whoever supervises the daemon) starts it with an IPC channel
 * that carries nothing. The channel's end is the launcher's end, even by SIGKILL, on every platform.
 */

/**
 * Calls `stop` once when the process that started this one through a channel has gone (or at once, if it already has).
 * Does nothing for a daemon started without a channel, and never keeps the process alive. A terminal's Ctrl-C reaches
 * the daemon both directly and through the launcher: `stop` and the signal handlers must bear being called twice.
 */
export function stopWithParent(stop: () => void): void {
  if (process.connected === undefined) return;
  if (!process.connected) {
    stop();
    return;
  }
  process.once('disconnect', stop);
  process.channel?.unref();
}
