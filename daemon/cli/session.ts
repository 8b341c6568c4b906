/** One command's surroundings: where the data lies, how results are printed, and the daemon to talk to. */
import { join, resolve } from 'node:path';
import { defaultDataDir } from '../config/paths.ts';
import type { Call } from '../contract/client.ts';
import { Failure, type Io, jsonLine } from './io.ts';

/** The folder of the wallet within the data directory. */
const VAULT_FOLDER = 'vault';

export type GlobalOptions = { dataDir?: string; json?: boolean; yes?: boolean };

export class Session {
  readonly io: Io;
  readonly dataDir: string;
  readonly json: boolean;
  readonly yes: boolean;

  constructor(io: Io, options: GlobalOptions) {
    this.io = io;
    this.dataDir = resolve(options.dataDir ?? dataDirOf(io));
    this.json = options.json ?? false;
    this.yes = options.yes ?? false;
  }

  /** Where the wallet lies: beside the data, or with a signer that is a service of its own. */
  get walletFolder(): string {
    return this.io.env.COUNTINGHOUSE_SIGNER_DIR || join(this.dataDir, VAULT_FOLDER);
  }

  /** The socket of such a signer, by the operator's own word: the daemon is not asked. Null: the daemon has it. */
  get signerSocket(): string | null {
    return this.io.env.COUNTINGHOUSE_SIGNER_SOCKET || null;
  }

  /** Calls a method of the daemon. The client is loaded only now: a command without it starts sooner. */
  readonly call: Call = async (method, params) => {
    const { operatorClient } = await import('../contract/client.ts');
    return operatorClient(this.dataDir)(method, params);
  };

  /** Prints a result: as one line of JSON, or as text for people. */
  print(result: unknown, text: () => string): void {
    this.io.stdout.write(this.json ? jsonLine(result) : text());
  }

  /** A remark that is no result. */
  note(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }
}

function dataDirOf({ env, platform }: Io): string {
  try {
    return defaultDataDir(env, platform);
  } catch (error) {
    throw new Failure(`${(error as Error).message}, or with --data-dir`);
  }
}
