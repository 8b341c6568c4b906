/** `countinghouse config`: the configuration of the running service, or the one that a start would have. */
import { type Command, Option } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action } from './commands.ts';
import { Failure, type Io } from './io.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

export type ConfigOptions = { config?: string };

export const configOption = (): Option =>
  new Option('--config <file>', 'the configuration file (or COUNTINGHOUSE_CONFIG)');

export function configCommand(root: Command, io: Io): void {
  root
    .command('config')
    .description(
      'show the configuration in force, without secrets: that of the running service, or the one that it would start with',
    )
    .addOption(configOption())
    .action(action(io, printConfig));
}

/** The file named by the command line or the environment; undefined: the one in the data directory. */
export function configFile({ env }: Io, options: ConfigOptions): string | undefined {
  return options.config ?? (env.COUNTINGHOUSE_CONFIG || undefined);
}

type SettingLines = Result<'settings.show'>['settings'];

const OWN_PRICE = /^networks\.\w+\.rates\./;

/**
 * The settings of the running service, which may have another environment and other flags than this command; null: none
 * runs, or it does not answer this user.
 */
async function runningSettings(session: Session): Promise<SettingLines | null> {
  try {
    return (await session.call('settings.show', {})).settings;
  } catch {
    return null;
  }
}

async function settingsOfFile({ io, dataDir }: Session, options: ConfigOptions): Promise<SettingLines> {
  const { loadConfig, redact } = await import('../config/config.ts');
  const config = loadConfig({ file: configFile(io, options), dataDir, env: io.env, flags: {} });
  return redact(config).map(({ key, shown, origin }) => ({ key, value: shown, origin }));
}

/** A file that is named on the command line is read, whatever runs. */
async function printConfig(session: Session, options: ConfigOptions): Promise<void> {
  const { dataDir } = session;
  const running = options.config === undefined ? await runningSettings(session) : null;
  const settings = running ?? (await settingsOfFile(session, options));
  if (settings.length === 0) throw new Failure('there is no configuration');
  session.note(
    running
      ? 'These settings are in force: the running service has them. A change takes effect when it starts again.'
      : 'No service answers here. It would start with these settings, if it had the environment of this command.',
  );
  session.print({ data_dir: dataDir, running: running !== null, settings }, () => textOf(settings));
}

/** Without the prices of one's own that nobody set: there are several hundred of them. */
function textOf(settings: SettingLines): string {
  const shown = settings.filter(({ key, value }) => value !== 'null' || !OWN_PRICE.test(key));
  const rows = shown.map(({ key, value, origin }) => [key, value, origin]);
  const left = settings.length - shown.length;
  const note = left === 0 ? '' : `\nPrices of your own that are not set: ${left}, in networks.NETWORK.rates\n`;
  return `${table(['KEY', 'VALUE', 'FROM'], rows, '')}${note}`;
}
