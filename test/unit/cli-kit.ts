/** The command line inside the test's process: what it printed, and a terminal that answers its questions. */
import { PassThrough } from 'node:stream';
import type { Input, Io } from '../../daemon/cli/io.ts';
import { runCli } from '../../daemon/cli/program.ts';

type Ran = { code: number; out: string; err: string };

/** `answers`: what is typed at each question that matches, in order; without them there is no terminal. */
export type Answer = [question: RegExp, typed: string | ((match: RegExpExecArray) => string)];

export function fakeIo(env: Record<string, string> = {}, answers: Answer[] | null = null) {
  const stdin: Input = new PassThrough();
  const ran = { out: '', err: '', raw: [] as boolean[] };
  const waiting = [...(answers ?? [])];
  let looked = 0;
  if (answers) {
    stdin.isTTY = true;
    stdin.setRawMode = (raw) => ran.raw.push(raw);
  }
  const answer = (): void => {
    const [next] = waiting;
    const match = next && new RegExp(next[0].source, 'g');
    if (!match) return;
    match.lastIndex = looked;
    const found = match.exec(ran.err);
    if (!found) return;
    looked = match.lastIndex;
    waiting.shift();
    const typed = typeof next[1] === 'string' ? next[1] : next[1](found);
    setImmediate(() => (stdin as PassThrough).write(typed));
  };
  const io: Io = {
    env,
    platform: 'linux',
    stdin,
    stdout: {
      isTTY: answers !== null,
      write: (text, taken) => {
        ran.out += text;
        taken?.();
      },
    },
    stderr: {
      isTTY: answers !== null,
      write: (text) => {
        ran.err += text;
        answer();
      },
    },
  };
  return { io, ran, unanswered: waiting };
}

/** Runs a command on a data directory, as in a process of its own: some set the rights of the files that theirs makes. */
export async function cli(dataDir: string, argv: string[], answers: Answer[] | null = null): Promise<Ran> {
  const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: dataDir }, answers);
  const umask = process.umask();
  const code = await runCli(argv, io);
  process.umask(umask);
  return { code, out: ran.out, err: ran.err };
}
