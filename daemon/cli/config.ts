/** `countinghouse config`: the configuration in force. Needs no running service. */
import { Failure, type Io } from './io.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

export type ConfigOptions = { config?: string };

/** The file named by the command line or the environment; undefined: the one in the data directory. */
export function configFile({ env }: Io, options: ConfigOptions): string | undefined {
  return options.config ?? (env.COUNTINGHOUSE_CONFIG || undefined);
}

export async function printConfig(session: Session, options: ConfigOptions): Promise<void> {
  const { loadConfig, redact } = await import('../config/config.ts');
  const { io, dataDir } = session;
  const file = configFile(io, options);
  const config = loadConfig({ file, dataDir, env: io.env, flags: {} });
  const rows = redact(config);
  if (rows.length === 0) throw new Failure('there is no configuration');
  const settings = rows.map(({ key, shown, origin }) => ({ key, value: shown, origin }));
  session.print({ data_dir: dataDir, settings }, () =>
    table(
      ['KEY', 'VALUE', 'FROM'],
      settings.map(({ key, value, origin }) => [key, value, origin]),
      '',
    ),
  );
}
