/** The two connections to a signer: the pipes of a child process, or a service's unix socket. */
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/**
 * A connection to a signer. `onEnd` is called once, with the exit code of a process or null, and with the reason if it
 * is known.
 */
export type Channel = {
  input: Writable | null;
  output: Readable | null;
  /** The process's stderr, which says why it cannot start. */
  said: Readable | null;
  /** The message of every request that was open when the connection ended. */
  lost: string;
  /** Ends it at once. */
  kill(): void;
  onEnd(told: (code: number | null, why?: string) => void): void;
};

export function childChannel(child: ChildProcess): Channel {
  return {
    input: child.stdin,
    output: child.stdout,
    said: child.stderr,
    lost: 'The process that holds the wallet ended',
    kill: () => child.kill('SIGKILL'),
    onEnd(told) {
      child.once('close', (code) => told(code));
      child.once('error', (error) => told(null, error.message));
    },
  };
}

/** Told of a separate signer without which nothing is signed. */
export const SIGNER_AWAY =
  'The separate signer does not answer at its socket: `systemctl start countinghouse-signer` starts it, and its log says why it ended';

/** Connects to the service. The channel ends with the connection; the service keeps running. */
export function socketChannel(path: string): Channel {
  const socket = connect({ path });
  let why: string | undefined;
  socket.on('error', (error) => {
    why = error.message;
  });
  return {
    input: socket,
    output: socket,
    said: null,
    lost: SIGNER_AWAY,
    kill: () => socket.destroy(),
    onEnd: (told) => socket.once('close', () => (why === undefined ? told(0) : told(null, why))),
  };
}
