/** The connections to a signer: the pipes of a child process, a service's unix socket, or a machine at home. */
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';

/** A connection to a signer. `onEnd` is called once, with a process's exit code or null, and a known reason. */
export type Channel = {
  input: Writable | null;
  output: Readable | null;
  /** The process's stderr, which says why it cannot start. */
  said: Readable | null;
  /** The message of every request that was open when the connection ended. */
  lost: string;
  /** Whether an exit code of 0 tells that the wallet locked itself, and that no open request was carried out. */
  locksItself: boolean;
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
    locksItself: true,
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
    locksItself: false,
    kill: () => socket.destroy(),
    onEnd: (told) => socket.once('close', () => (why === undefined ? told(0) : told(null, why))),
  };
}

/** The signing machine at home: it opens the connection, and is often away. */
export type Home = {
  /** The machine that signs; null: none was invited. `seenAt`: milliseconds since 1970, while it is away; null: never. */
  machine(): { name: string; fingerprint: string | null; seenAt: number | null } | null;
  /** Its connection; null while it is away. */
  connect(): Channel | null;
};

/** Told of a request that was under way when the machine at home went away. */
const HOME_LOST = 'The signing machine went away: the same is asked again when it is back';

/** A connection that the signer has opened. */
export function streamChannel(stream: Duplex): Channel {
  return {
    input: stream,
    output: stream,
    said: null,
    lost: HOME_LOST,
    locksItself: false,
    kill: () => stream.destroy(),
    onEnd: (told) => stream.once('close', () => told(0)),
  };
}
