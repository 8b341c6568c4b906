/** Stops the daemon when its launcher ends, even by SIGKILL: then the IPC channel between them closes. */

/**
 * Calls `stop` once when the parent process at the other end of the channel has ended. Does nothing without a channel,
 * and does not keep the process alive. A Ctrl-C reaches the daemon directly and through the launcher, so `stop` and the
 * signal handlers must tolerate two calls.
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
