/** How the simulated chains reach what is stored of them. */
import type { SandboxReader, SandboxWriter } from '../../domain/sandbox-port.ts';

export interface SandboxStore extends SandboxReader {
  /** Runs `work` in one transaction and answers once it is on the disk; what `work` throws undoes it. */
  write<T>(work: (tx: SandboxWriter) => T): Promise<T>;
}
