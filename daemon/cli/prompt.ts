/** Questions on the terminal, asked on stderr: a visible line, a hidden secret, or yes and no. */
import { clean, EXIT, Failure, type Io } from './io.ts';

const LINE_CHARS_MAX = 4_096;
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';
const BACKSPACES = ['\u007f', '\b'];
const ESCAPE = '\u001b';

/** Input typed before its question was asked. */
const typedAhead = new WeakMap<object, string>();

export function canAsk(io: Io): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/** Asks for a line. Throws `Failure` without a terminal, on Ctrl-C and at the end of input. */
export function askLine(io: Io, question: string): Promise<string> {
  return ask(io, question, false);
}

/** The same with hidden input. */
export function askHidden(io: Io, question: string): Promise<string> {
  return ask(io, question, true);
}

/** Asks a question that only a clear yes, or `--yes`, confirms. Throws `Failure` on any other answer. */
export async function confirm(io: Io, yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!canAsk(io)) throw new Failure('this needs a confirmation: give --yes', EXIT.failed, 'confirmation');
  const answer = await askLine(io, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('nothing was done', EXIT.failed, 'canceled');
}

async function ask(io: Io, question: string, hidden: boolean): Promise<string> {
  if (!canAsk(io)) throw new Failure('this needs a terminal to ask on', EXIT.failed, 'no_terminal');
  // before the question, so that a quick answer is hidden too
  if (hidden) io.stdin.setRawMode?.(true);
  io.stderr.write(questionText(question));
  try {
    return await readLine(io);
  } finally {
    if (hidden) io.stdin.setRawMode?.(false);
    io.stdin.pause();
    if (hidden) io.stderr.write('\n');
  }
}

const questionText = (question: string): string => `${clean(question.trimEnd())} `;

/** Applies keys to a line. `done` once it has ended, with the rest of the input. */
class Line {
  text = '';
  rest: string | null = null;
  #sequence = false;

  /** Throws `Failure` on Ctrl-C, and on Ctrl-D in an empty line. */
  take(typed: string): void {
    let i = 0;
    for (const key of typed) {
      i += key.length;
      if (this.#inSequence(key)) continue;
      if (key === '\r' || key === '\n') {
        this.rest = typed.slice(typed.startsWith('\r\n', i - 1) ? i + 1 : i);
        return;
      }
      this.#apply(key);
    }
  }

  #apply(key: string): void {
    if (key === CTRL_C || (key === CTRL_D && this.text === ''))
      throw new Failure('canceled', EXIT.canceled, 'canceled');
    if (BACKSPACES.includes(key)) this.text = [...this.text].slice(0, -1).join('');
    else if (key === CTRL_U) this.text = '';
    else if (key >= ' ' && this.text.length < LINE_CHARS_MAX) this.text += key;
  }

  /** Arrow keys and others: an escape, a bracket, and further characters up to a letter or '~'. */
  #inSequence(key: string): boolean {
    if (key === ESCAPE) {
      this.#sequence = true;
      return true;
    }
    if (!this.#sequence) return false;
    this.#sequence = key === '[' || key === 'O' || /[0-9;]/.test(key);
    return true;
  }
}

function readLine({ stdin }: Io): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const line = new Line();
  const onData = (chunk: Buffer | string): void => {
    try {
      line.take(String(chunk));
      if (line.rest !== null) finish(() => resolve(line.text));
    } catch (error) {
      finish(() => reject(error));
    }
  };
  const onEnd = (): void => finish(() => reject(new Failure('canceled', EXIT.canceled, 'canceled')));
  const finish = (settle: () => void): void => {
    stdin.removeListener('data', onData);
    stdin.removeListener('end', onEnd);
    typedAhead.set(stdin, line.rest ?? '');
    settle();
  };
  const ahead = typedAhead.get(stdin) ?? '';
  typedAhead.delete(stdin);
  stdin.setEncoding('utf8');
  stdin.on('data', onData);
  stdin.once('end', onEnd);
  if (ahead) onData(ahead);
  if (line.rest === null) stdin.resume();
  return promise;
}
