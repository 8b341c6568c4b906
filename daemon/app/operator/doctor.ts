/** Checks the service: facts and remedies. The only network request goes to the service's own public address. */

import { isIP } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { configurationWarnings } from '../../config/warnings.ts';
import { toIso } from '../../domain/calendar.ts';
import { type Message, message, reasonOf, type SUBJECTS } from '../../domain/messages.ts';
import { MS_PER_DAY, MS_PER_MINUTE } from '../../domain/time.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import { readBackupKey } from '../../wallet/backup-key.ts';
import { JOURNAL_BYTES_MAX, UNASKED_BYTES_MAX } from '../../wallet/signer/files.ts';
import { isAway } from '../../wallet/signer/port.ts';
import { openMessage } from '../alerts.ts';
import type { App } from '../app.ts';
import { DATABASE } from '../backup/container.ts';
import { newestBackup } from '../backup/folder.ts';
import { VAULT_FOLDER } from '../backup/make.ts';
import { differencesOf } from '../books/differences.ts';
import { isUnchecked } from '../chains/unchecked.ts';
import { jobDoneAt } from '../job-times.ts';
import { clockBehind } from '../recovery/clock.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { daysUntilFull, FREE_BYTES_LOW, megabytesOf, stuckLog } from '../storage.ts';
import { monitor } from './monitor.ts';
import { permissionFault } from './permissions.ts';
import { openAlertsCount } from './status.ts';

type Subject = (typeof SUBJECTS)[number];

export type Finding = {
  subject: Subject;
  /** `warning`: it works, but may fail soon. `problem`: it does not work, or money is at risk. */
  level: 'ok' | 'warning' | 'problem';
  text: Message;
  /** A command or an action; null if nothing must be done. */
  advice: Message | null;
};

export const CLOCK_MS_MAX = 5 * MS_PER_MINUTE;
const BACKUP_DAYS_MAX = 2;
const DRILL_DAYS_MAX = 90;
const PROOF_DAYS_MAX = 2;
const CERTIFICATE_DAYS_MIN = 14;
/** Beyond it the growth of some weeks foretells nothing. */
const FAR_DAYS = 1_825;
const FULL_DAYS_MIN = 60;
const CONNECT_MS_MAX = 5_000;
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

const ok = (subject: Subject, text: Message): Finding => ({ subject, level: 'ok', text, advice: null });
const warning = (subject: Subject, text: Message, advice: Message): Finding => ({
  subject,
  level: 'warning',
  text,
  advice,
});
const problem = (subject: Subject, text: Message, advice: Message): Finding => ({
  subject,
  level: 'problem',
  text,
  advice,
});

const takesMoney = (app: App): boolean => app.directory.businesses().some(({ network }) => network === 'mainnet');
/** As the limits of the record are given. */
const mebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576);
const days = (ms: number): number => Math.floor(ms / MS_PER_DAY);

export async function examine(app: App, dataDir: string): Promise<Finding[]> {
  const parts: [subject: Subject, look: () => Finding[] | Promise<Finding[]>][] = [
    ['clock', () => [clock(app)]],
    ['disk', () => disk(app)],
    ['disk', () => log(app)],
    ['permissions', () => permissions(dataDir)],
    ['addresses', () => addresses(app)],
    ['certificate', () => certificate(app)],
    ['sources', () => sources(app)],
    ['backup', () => backups(app, dataDir)],
    ['books', () => proof(app)],
    ['wallet', () => wallet(app)],
    ['wallet', () => addressThread(app)],
    ['alerts', () => alerts(app)],
  ];
  const found: Finding[] = [];
  for (const [subject, look] of parts) found.push(...(await looked(subject, look)));
  return found;
}

/** A part that cannot be looked at is a finding, and does not hide the others. */
async function looked(subject: Subject, look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [problem(subject, message('doctor.failed', { reason: reasonOf(error) }), message('advice.look'))];
  }
}

function clock(app: App): Finding {
  const behind = clockBehind(app);
  if (behind !== null) return problem('clock', behind.text, message('advice.set_clock'));
  const ahead = app.rates.otherClocks.aheadMs();
  if (ahead === null) return ok('clock', message('doctor.clock_alone'));
  const minutes = Math.round(Math.abs(ahead) / MS_PER_MINUTE);
  if (Math.abs(ahead) < CLOCK_MS_MAX) return ok('clock', message('doctor.clock_right'));
  const text = message(ahead > 0 ? 'doctor.clock_ahead' : 'doctor.clock_behind', { minutes });
  return problem('clock', text, message('advice.set_clock'));
}

function disk(app: App): Finding[] {
  const { freeBytes, trouble } = app.store.health();
  if (trouble !== null)
    return [problem('disk', message('doctor.disk_refuses', { reason: trouble.message }), message('advice.disk_log'))];
  const damage = openMessage(app, 'storage.damaged', DATABASE);
  if (damage !== null) return [problem('disk', damage, message('advice.disk_log'))];
  if (freeBytes === null) return [];
  const megabytes = megabytesOf(freeBytes);
  if (freeBytes < FREE_BYTES_LOW)
    return [problem('disk', message('doctor.disk_low', { megabytes }), message('advice.before_full'))];
  const left = daysUntilFull(app);
  if (left === null) return [ok('disk', message('doctor.disk', { megabytes }))];
  if (left > FAR_DAYS) return [ok('disk', message('doctor.disk_years', { megabytes }))];
  const text = message('doctor.disk_days', { megabytes, days: left });
  return [left < FULL_DAYS_MIN ? warning('disk', text, message('advice.maintenance')) : ok('disk', text)];
}

function log(app: App): Finding[] {
  const stuck = stuckLog(app);
  return stuck === null ? [] : [problem('disk', message('doctor.log', { state: stuck.state }), stuck.advice)];
}

async function permissions(dataDir: string): Promise<Finding[]> {
  const fault = await permissionFault(dataDir);
  return [
    fault
      ? problem('permissions', fault.text, message('advice.run', { command: fault.command }))
      : ok('permissions', message('doctor.permissions', { folder: dataDir })),
  ];
}

function addresses(app: App): Finding[] {
  const { publicUrl, host } = app.config;
  const found = configurationWarnings(app.config).map((text) => warning('proxies', text, message('advice.proxies')));
  if (!['127.0.0.1', '::1', 'localhost'].includes(host)) {
    found.push(warning('port', message('doctor.port', { host }), message('advice.listen')));
  }
  if (!takesMoney(app))
    return found.length > 0 ? found : [ok('addresses', message('doctor.url', { url: app.publicUrl }))];
  const { protocol, hostname } = new URL(app.publicUrl);
  if (publicUrl === null) found.push(warning('addresses', message('doctor.url_unset'), message('advice.public_url')));
  else if (protocol === 'http:' && !hostname.endsWith('.onion')) {
    found.push(problem('addresses', message('doctor.url_open', { url: publicUrl }), message('advice.tls')));
  } else found.push(ok('addresses', message('doctor.url', { url: publicUrl })));
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
  return [certificateFinding(url.host, told)];
}

function certificateFinding(host: string, told: { until: number; refused: string | null } | string): Finding {
  if (typeof told === 'string') {
    const text = message('doctor.certificate_unreached', { host, reason: told });
    return warning('certificate', text, message('advice.web_server'));
  }
  if (told.refused !== null) {
    const text = message('doctor.certificate_refused', { host, reason: told.refused });
    return problem('certificate', text, message('advice.certificate_chain'));
  }
  const left = { host, days: days(told.until - Date.now()) };
  return left.days < CERTIFICATE_DAYS_MIN
    ? problem('certificate', message('doctor.certificate_ends', left), message('advice.certificate_late'))
    : ok('certificate', message('doctor.certificate', left));
}

function sources(app: App): Finding[] {
  const { chains, rates } = monitor(app, false);
  const real = chains.filter(({ network }) => network !== 'sandbox');
  const bad = real.filter(({ error, withheld }) => error !== null || withheld !== null);
  const found = bad.map(({ network, chain, error }) =>
    problem(
      'sources',
      message('doctor.source_bad', { network, chain, reason: error ?? message('chain.behind') }),
      message('advice.sources'),
    ),
  );
  if (bad.length === 0)
    found.push(
      ok(
        'sources',
        real.length === 0 ? message('doctor.sources_sandbox') : message('doctor.sources', { count: real.length }),
      ),
    );
  found.push(...unchecked(app), ...slowed(app), ...concerning(app));
  const missing = rates
    .filter(({ network, ageMs }) => network === 'mainnet' && ageMs === null)
    .map(({ asset }) => asset);
  if (missing.length > 0)
    found.push(problem('rates', message('doctor.rates', { coins: missing.join(', ') }), message('advice.rates')));
  return found;
}

/** One operator alone could leave a payment out. */
function unchecked(app: App): Finding[] {
  return app.chains
    .all()
    .filter((chain) => !chain.dormant && isUnchecked(chain, app.now()))
    .map(({ adapter: { network, chain } }) =>
      warning('sources', message('doctor.source_unchecked', { network, chain }), message('advice.sources')),
    );
}

/** Settings and releases of nodes that answer, and with which money may be seen late or be false. */
function concerning(app: App): Finding[] {
  return app.chains
    .all()
    .flatMap(({ adapter }) =>
      (adapter.health().concerns ?? []).map((concern) =>
        warning(
          'sources',
          message(`doctor.source_${concern}`, { network: adapter.network, chain: adapter.chain }),
          message(`advice.${concern}`),
        ),
      ),
    );
}

/** ElectrumX counts the cost of each client, also of its owner's. */
function slowed(app: App): Finding[] {
  return app.chains
    .all()
    .flatMap(({ adapter }) =>
      (adapter.servers?.() ?? [])
        .filter((server) => server.slowed && server.software?.startsWith('ElectrumX'))
        .map(({ name: server }) =>
          warning(
            'sources',
            message('doctor.source_slowed', { network: adapter.network, chain: adapter.chain, server }),
            message('advice.cost_limit'),
          ),
        ),
    );
}

async function backups(app: App, dataDir: string): Promise<Finding[]> {
  if (!takesMoney(app)) return [ok('backup', message('doctor.backup_unneeded'))];
  const { folder } = app.config.backup;
  const backup =
    folder === null
      ? problem('backup', message('doctor.backup_off'), message('advice.backup_folder'))
      : await backupsIn(app, folder, dataDir);
  const drilled = lastDrill(app);
  const said = drilled === null ? message('doctor.drill_never') : message('doctor.drill_at', { at: toIso(drilled) });
  const drill =
    drilled !== null && isRecent(app, drilled, DRILL_DAYS_MAX)
      ? ok('drill', said)
      : warning('drill', said, message('advice.drill'));
  return [backup, drill];
}

/** The files themselves: a job that is done is worth nothing without them. */
async function backupsIn(app: App, folder: string, dataDir: string): Promise<Finding> {
  const key = await readBackupKey(join(dataDir, VAULT_FOLDER)).catch(() => null);
  const made = await newestBackup(folder, key?.fingerprint ?? null, app.now()).catch(() => 'unreadable' as const);
  const advice = message('advice.alert_list_why');
  const failed = openMessage(app, 'backup.failed', folder);
  if (failed !== null) return problem('backup', failed, advice);
  if (made === 'unreadable')
    return problem('backup', message('doctor.backup_unreadable', { folder }), message('advice.mounted'));
  if (made === null) return problem('backup', message('doctor.backup_missing', { folder }), advice);
  return isRecent(app, made, BACKUP_DAYS_MAX)
    ? ok('backup', message('doctor.backup_made', { at: toIso(made), folder }))
    : problem('backup', message('doctor.backup_last', { at: toIso(made) }), advice);
}

/** Whether that was less than so many days ago, and is not yet to come: a wrong clock noted such a time. */
const isRecent = (app: App, at: number, daysMax: number): boolean =>
  days(app.now() - at) < daysMax && at <= app.now() + CLOCK_MS_MAX;

function proof(app: App): Finding[] {
  const differing = app.chains.all().flatMap(({ key: chain, adapter }) => {
    const found = adapter.network === 'sandbox' ? null : differencesOf(app, chain);
    if (found === null) return [];
    const text = message('doctor.books_differ', { chain, count: found.count, reason: found.first });
    return [problem('books', text, message('advice.ledger'))];
  });
  const unproved = app.chains.all().flatMap(({ key }) => {
    const text = openMessage(app, 'ledger.unproved', key);
    return text === null ? [] : [warning('books', text, message('advice.ledger'))];
  });
  const found = [...differing, ...unproved];
  return found.length > 0 ? found : [lastProof(app)];
}

function lastProof(app: App): Finding {
  const made = jobDoneAt(app, 'proof');
  if (made !== null && isRecent(app, made, PROOF_DAYS_MAX))
    return ok('books', message('doctor.books_proved', { at: toIso(made) }));
  const text = made === null ? message('doctor.books_never') : message('doctor.books_old', { at: toIso(made) });
  return warning('books', text, message('advice.ledger'));
}

function addressThread(app: App): Finding[] {
  const trouble = app.addressThread?.trouble;
  if (!trouble) return [];
  const text = message('doctor.address_thread', { at: toIso(trouble.since), reason: trouble.reason });
  return [warning('wallet', text, message('advice.restart_service'))];
}

async function wallet(app: App): Promise<Finding[]> {
  if (isQuarantined(app.store)) return [problem('restore', message('doctor.quarantine'), message('advice.restore'))];
  const { withdrawals } = monitor(app, false);
  const approved = withdrawals.find(({ state }) => state === 'approved')?.waiting ?? 0;
  const asked = withdrawals.find(({ state }) => state === 'requested')?.waiting ?? 0;
  const status = await app.signer.status();
  const { state } = status;
  const found: Finding[] = [];
  if (isAway(status)) found.push(problem('wallet', message('doctor.signer_away'), message('advice.signer')));
  else if (status.away)
    found.push(ok('wallet', message('doctor.machine_away', { machine: status.away.name, count: approved })));
  else if (approved > 0 && state !== 'unlocked')
    found.push(problem('wallet', message('doctor.wallet_needed', { count: approved }), message('advice.unlock')));
  else found.push(ok('wallet', message(`doctor.wallet_${state}`)));
  found.push(...journal(status.journalBytes ?? 0));
  if (asked > 0)
    found.push(warning('withdrawals', message('doctor.withdrawals', { count: asked }), message('advice.withdrawals')));
  return found;
}

/** Nothing makes the record of signatures shorter: its end is told when it is half full. */
function journal(bytes: number): Finding[] {
  if (bytes < UNASKED_BYTES_MAX / 2) return [];
  const megabytes = mebibytes(bytes);
  if (bytes >= UNASKED_BYTES_MAX) {
    const full = message('doctor.journal_full', { megabytes, most: mebibytes(JOURNAL_BYTES_MAX) });
    return [problem('wallet', full, message('advice.journal'))];
  }
  const most = mebibytes(UNASKED_BYTES_MAX);
  return [warning('wallet', message('doctor.journal', { megabytes, most }), message('advice.journal'))];
}

function alerts(app: App): Finding[] {
  const { smtp, ntfy, telegramToken, webhook } = app.config.alerts;
  const open = openAlertsCount(app);
  const found = [
    open === 0
      ? ok('alerts', message('doctor.alerts_none'))
      : warning('alerts', message('doctor.alerts_open', { count: open }), message('advice.alert_list')),
  ];
  if (takesMoney(app) && [smtp, ntfy, telegramToken, webhook].every((one) => one === null)) {
    found.push(warning('alerts', message('doctor.alerts_unheard'), message('advice.channel')));
  }
  return found;
}
