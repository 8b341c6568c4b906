/**
 * Checks the service. Each finding states a fact and, where needed, the remedy. The only network request goes to the
 * service's own public address.
 */
import { isIP } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { configurationWarnings } from '../../config/warnings.ts';
import { toIso } from '../../domain/calendar.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import { readBackupKey } from '../../wallet/backup-key.ts';
import { isAway } from '../../wallet/signer/port.ts';
import { type App, MS_PER_HOUR } from '../app.ts';
import { newestBackup } from '../backup/folder.ts';
import { VAULT_FOLDER } from '../backup/make.ts';
import { jobDoneAt } from '../job-times.ts';
import { quarantineOf } from '../recovery/quarantine.ts';
import { daysUntilFull, FREE_BYTES_LOW, stuckLog } from '../storage.ts';
import { monitor } from './monitor.ts';
import { permissionFault } from './permissions.ts';
import { openAlertsCount } from './status.ts';

type Finding = {
  subject: string;
  /** `warning`: it works, but may fail soon. `problem`: it does not work, or money is at risk. */
  level: 'ok' | 'warning' | 'problem';
  text: string;
  /** A command or an action; null if nothing must be done. */
  advice: string | null;
};

const MS_PER_DAY = 24 * MS_PER_HOUR;
const MS_PER_MINUTE = 60_000;
export const CLOCK_MS_MAX = 5 * MS_PER_MINUTE;
const BACKUP_DAYS_MAX = 2;
const DRILL_DAYS_MAX = 90;
const PROOF_DAYS_MAX = 2;
const CERTIFICATE_DAYS_MIN = 14;
/** Beyond it the growth of some weeks foretells nothing. */
const FAR_DAYS = 1_825;
const FULL_DAYS_MIN = 60;
const CONNECT_MS_MAX = 5_000;
const BYTES_PER_MB = 1_000_000;
/** When a backup was last opened and compared by the operator. */
const DRILL_SETTING = 'backup.drill';

/** Remembers that a backup was opened and found whole. `at`: milliseconds since 1970. */
export function noteDrill(tx: Tx, at: number): void {
  tx.run(saveSetting, { key: DRILL_SETTING, value: `${at}`, updated_at: at });
}

/** When a backup was last found whole, in milliseconds since 1970; null: never. */
export function lastDrill({ store }: App): number | null {
  const value = store.get(settingOf, { key: DRILL_SETTING })?.value;
  return value === undefined ? null : Number(value);
}

const ok = (subject: string, text: string): Finding => ({ subject, level: 'ok', text, advice: null });
const warning = (subject: string, text: string, advice: string): Finding => ({
  subject,
  level: 'warning',
  text,
  advice,
});
const problem = (subject: string, text: string, advice: string): Finding => ({
  subject,
  level: 'problem',
  text,
  advice,
});

const takesMoney = (app: App): boolean => app.directory.businesses().some(({ network }) => network === 'mainnet');
const days = (ms: number): number => Math.floor(ms / MS_PER_DAY);

export async function examine(app: App, dataDir: string): Promise<Finding[]> {
  const parts: [subject: string, look: () => Finding[] | Promise<Finding[]>][] = [
    ['clock', () => [clock(app)]],
    ['disk', () => disk(app)],
    ['log', () => log(app)],
    ['permissions', () => permissions(dataDir)],
    ['addresses', () => addresses(app)],
    ['certificate', () => certificate(app)],
    ['sources', () => sources(app)],
    ['backup', () => backups(app, dataDir)],
    ['books', () => [proof(app)]],
    ['wallet', () => wallet(app)],
    ['alerts', () => alerts(app)],
  ];
  const found: Finding[] = [];
  for (const [subject, look] of parts) found.push(...(await looked(subject, look)));
  return found;
}

/** A part that cannot be looked at is a finding, and does not hide the others. */
async function looked(subject: string, look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [problem(subject, `could not be looked at: ${reason}`, "see the other findings and the service's log")];
  }
}

function clock({ rates }: App): Finding {
  const ahead = rates.otherClocks.aheadMs();
  if (ahead === null) return ok('clock', 'not compared: fewer than three rate sources have answered');
  const minutes = Math.round(Math.abs(ahead) / MS_PER_MINUTE);
  if (Math.abs(ahead) < CLOCK_MS_MAX) return ok('clock', 'agrees with those of the rate sources');
  const text = `${minutes} minutes ${ahead > 0 ? 'ahead of' : 'behind'} those of the rate sources`;
  return problem('clock', text, 'set it, and let it be kept: timedatectl set-ntp true');
}

function disk(app: App): Finding[] {
  const { freeBytes, trouble } = app.store.health();
  if (trouble !== null)
    return [
      problem('disk', `nothing can be stored: ${trouble.message}`, 'free some room, or see the log of the system'),
    ];
  if (freeBytes === null) return [];
  if (freeBytes < FREE_BYTES_LOW) {
    return [
      problem('disk', `only ${Math.floor(freeBytes / BYTES_PER_MB)} MB free`, 'free some room before it is full'),
    ];
  }
  const left = daysUntilFull(app);
  const megabytes = `${Math.floor(freeBytes / BYTES_PER_MB)} MB free`;
  if (left === null) return [ok('disk', megabytes)];
  if (left > FAR_DAYS)
    return [ok('disk', `${megabytes}, enough for more than five years at the growth of the last weeks`)];
  const text = `${megabytes}; at the growth of the last weeks it is full in ${left} days`;
  return [
    left < FULL_DAYS_MIN
      ? warning('disk', text, 'free some room; `countinghouse maintenance` says what is stored')
      : ok('disk', text),
  ];
}

/** The write-ahead log. */
function log(app: App): Finding[] {
  const stuck = stuckLog(app);
  return stuck === null ? [] : [problem('disk', `the write-ahead log ${stuck.text}`, stuck.advice)];
}

async function permissions(dataDir: string): Promise<Finding[]> {
  const fault = await permissionFault(dataDir);
  return [
    fault ? problem('permissions', fault.text, fault.advice) : ok('permissions', `${dataDir} is for its owner alone`),
  ];
}

function addresses(app: App): Finding[] {
  const { publicUrl, host } = app.config;
  const found = configurationWarnings(app.config).map((text) =>
    warning('proxies', text, 'see resources/docs/run-a-server.md'),
  );
  if (!['127.0.0.1', '::1', 'localhost'].includes(host)) {
    found.push(
      warning(
        'port',
        `the service listens on ${host}, without TLS`,
        'listen on 127.0.0.1, and put a web server before it',
      ),
    );
  }
  if (!takesMoney(app)) return found.length > 0 ? found : [ok('addresses', app.publicUrl)];
  const { protocol, hostname } = new URL(app.publicUrl);
  if (publicUrl === null)
    found.push(
      warning('addresses', 'public_url is not set: payers elsewhere cannot reach the pages', 'set public_url'),
    );
  else if (protocol === 'http:' && !hostname.endsWith('.onion')) {
    found.push(
      problem(
        'addresses',
        `${publicUrl} has no TLS: anybody on the way can put in an address of their own`,
        'set up TLS: resources/proxies',
      ),
    );
  } else found.push(ok('addresses', publicUrl));
  return found;
}

/** The end of the public address's certificate, and whether it is valid for that name. */
async function certificate({ config }: App): Promise<Finding[]> {
  const url = config.publicUrl === null ? null : new URL(config.publicUrl);
  if (url?.protocol !== 'https:') return [];
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const told = await new Promise<{ until: number; refused: string | null } | string>((resolve) => {
    const servername = isIP(name) ? {} : { servername: name };
    const socket = connect(
      { host: name, port: Number(url.port) || 443, ...servername, rejectUnauthorized: false },
      () => {
        const { valid_to } = socket.getPeerCertificate();
        resolve({ until: Date.parse(valid_to), refused: socket.authorized ? null : String(socket.authorizationError) });
        socket.destroy();
      },
    );
    socket.setTimeout(CONNECT_MS_MAX, () => {
      resolve('it does not answer in time');
      socket.destroy();
    });
    socket.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
  });
  if (typeof told === 'string')
    return [
      warning(
        'certificate',
        `${url.host} cannot be reached from here: ${told}`,
        'look at the web server before this service',
      ),
    ];
  const left = days(told.until - Date.now());
  if (told.refused !== null)
    return [
      problem(
        'certificate',
        `browsers refuse the certificate of ${url.host}: ${told.refused}`,
        'renew it, or serve its whole chain',
      ),
    ];
  if (left < CERTIFICATE_DAYS_MIN)
    return [
      problem(
        'certificate',
        `the certificate of ${url.host} ends in ${left} days`,
        'renew it, and see why that does not happen by itself',
      ),
    ];
  return [ok('certificate', `${url.host}: ${left} days left`)];
}

function sources(app: App): Finding[] {
  const { chains, rates } = monitor(app, false);
  const real = chains.filter(({ network }) => network !== 'sandbox');
  const bad = real.filter(({ error, withheld }) => error !== null || withheld !== null);
  const found = bad.map(({ network, chain, error, withheld }) =>
    problem('sources', `${network} ${chain}: ${error ?? withheld}`, '`countinghouse source list` shows each server'),
  );
  if (bad.length === 0)
    found.push(
      ok('sources', real.length === 0 ? 'only the sandbox is connected' : `${real.length} chains are followed`),
    );
  const missing = rates
    .filter(({ network, ageMs }) => network === 'mainnet' && ageMs === null)
    .map(({ asset }) => asset);
  if (missing.length > 0)
    found.push(
      problem(
        'rates',
        `there is no rate of ${missing.join(', ')}`,
        '`countinghouse rates`, and the log, say which sources answer',
      ),
    );
  return found;
}

async function backups(app: App, dataDir: string): Promise<Finding[]> {
  if (!takesMoney(app)) return [ok('backup', 'no real money is taken yet')];
  const { folder } = app.config.backup;
  const backup =
    folder === null
      ? problem('backup', 'none is made by itself', 'set [backup] folder: resources/docs/back-up.md')
      : await backupsIn(app, folder, dataDir);
  const drilled = lastDrill(app);
  const said = drilled === null ? 'no backup was ever opened' : `the last was on ${toIso(drilled)}`;
  const drill =
    drilled !== null && isRecent(app, drilled, DRILL_DAYS_MAX)
      ? ok('drill', said)
      : warning('drill', said, 'open the newest: countinghouse backup verify FILE');
  return [backup, drill];
}

/** The files themselves: a job that is done is worth nothing without them. */
async function backupsIn(app: App, folder: string, dataDir: string): Promise<Finding> {
  const key = await readBackupKey(join(dataDir, VAULT_FOLDER)).catch(() => null);
  const made = await newestBackup(folder, key?.fingerprint ?? null, app.now()).catch(() => 'unreadable' as const);
  const advice = '`countinghouse alert list`, and the log, say why';
  if (made === 'unreadable') return problem('backup', `${folder} cannot be read`, 'is its disk mounted?');
  if (made === null) return problem('backup', `there is none in ${folder}`, advice);
  return isRecent(app, made, BACKUP_DAYS_MAX)
    ? ok('backup', `made on ${toIso(made)}, in ${folder}`)
    : problem('backup', `the last one is of ${toIso(made)}`, advice);
}

/** Whether that was less than so many days ago, and is not yet to come: a wrong clock noted such a time. */
const isRecent = (app: App, at: number, daysMax: number): boolean =>
  days(app.now() - at) < daysMax && at <= app.now() + CLOCK_MS_MAX;

function proof(app: App): Finding {
  const made = jobDoneAt(app, 'proof');
  if (made !== null && isRecent(app, made, PROOF_DAYS_MAX))
    return ok('books', `proved on ${toIso(made)}, or since the start`);
  return warning('books', `last proved on ${made === null ? 'no day' : toIso(made)}`, 'countinghouse ledger');
}

async function wallet(app: App): Promise<Finding[]> {
  if (quarantineOf(app.store))
    return [
      problem(
        'restore',
        'the service is quarantined',
        'countinghouse restore confirm, once the old machine is gone for ever',
      ),
    ];
  const { withdrawals } = monitor(app, false);
  const approved = withdrawals.find(({ state }) => state === 'approved')?.waiting ?? 0;
  const asked = withdrawals.find(({ state }) => state === 'requested')?.waiting ?? 0;
  const status = await app.signer.status();
  const { state } = status;
  const found: Finding[] = [];
  if (isAway(status))
    found.push(
      problem(
        'wallet',
        'the separate signer does not answer, or is of another release',
        '`systemctl start countinghouse-signer`; its log says why it ended',
      ),
    );
  else if (approved > 0 && state !== 'unlocked')
    found.push(problem('wallet', `locked while ${approved} approved withdrawals wait`, 'countinghouse wallet unlock'));
  else found.push(ok('wallet', state === 'none' ? 'there is none yet' : state));
  if (asked > 0) found.push(warning('withdrawals', `${asked} wait for your approval`, 'countinghouse withdrawal list'));
  return found;
}

function alerts(app: App): Finding[] {
  const { smtp, ntfy, telegramToken, webhook } = app.config.alerts;
  const open = openAlertsCount(app);
  const found = [
    open === 0 ? ok('alerts', 'none is open') : warning('alerts', `${open} are open`, 'countinghouse alert list'),
  ];
  if (takesMoney(app) && [smtp, ntfy, telegramToken, webhook].every((one) => one === null)) {
    found.push(
      warning(
        'alerts',
        'they reach nobody by themselves',
        'set a way in [alerts], and try it: countinghouse alert test',
      ),
    );
  }
  return found;
}
