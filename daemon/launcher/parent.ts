/**
 * Stops the daemon when its launcher (or supervisor) ends. The launcher starts it with an IPC channel that carries no
 * messages; the channel closes when the launcher ends, even by SIGKILL, on every platform.
 */

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
