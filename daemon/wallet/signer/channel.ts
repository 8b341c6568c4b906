/** The two ends that a signer has: a child process with pipes, or a service behind a unix socket. */
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/** A way to a signer. `onEnd` is told once, with the exit code of a process, or null and perhaps why. */
export type Channel = {
  input: Writable | null;
  output: Readable | null;
  /** What it says of itself when it cannot start. */
  said: Readable | null;
  /** Ends it without asking. */
  kill(): void;
  onEnd(told: (code: number | null, why?: string) => void): void;
};

export function childChannel(child: ChildProcess): Channel {
  return {
    input: child.stdin,
    output: child.stdout,
    said: child.stderr,
    kill: () => child.kill('SIGKILL'),
    onEnd(told) {
      child.once('close', (code) => told(code));
      child.once('error', (error) => told(null, error.message));
    },
  };
}

/** Connects to the service. Its end is that of the connection: the service goes on. */
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
    kill: () => socket.destroy(),
    onEnd: (told) => socket.once('close', () => (why === undefined ? told(0) : told(null, why))),
  };
}
