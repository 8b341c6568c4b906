/** The methods about backups and restores. */
import { isAbsolute } from 'node:path';
import { areSkippedWatched } from '../../app/addresses/skipped.ts';
import { lastDrill, noteDrill } from '../../app/operator/doctor.ts';
import { clientsOf } from '../../app/operator/lists.ts';
import { accountsSearched } from '../../app/recovery/discovery-record.ts';
import { quarantineOf } from '../../app/recovery/quarantine.ts';
import { rescansUnderWay } from '../../app/recovery/rescan.ts';
import { sleepingKeys } from '../../app/recovery/sleeping-keys.ts';
import { takeOver, whyNotReady } from '../../app/spends/restored-spends.ts';
import type { RECOVERY } from '../../contract/recovery.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { GAP } from '../../domain/indices.ts';
import type { Methods } from './context.ts';
import { keyJson } from './present.ts';

export const RECOVERY_METHODS: Methods<typeof RECOVERY> = {
  'backup.make': async ({ extra }, { file }) => {
    if (!isAbsolute(file)) throw new Rejected('backup.folder', 'Give the whole path of the file', 'file');
    const made = await extra.makeBackup(file);
    const { made_at, fingerprint, gap = GAP } = made.manifest;
    return { file: made.file, bytes: made.bytes, made_at, fingerprint, gap };
  },
  'restore.status': ({ app }) => {
    const record = quarantineOf(app.store);
    return {
      quarantined: record !== null,
      since: record ? toIso(record.since) : null,
      backup_made_at: record?.backup_made_at ?? null,
      policies: record?.policies ?? [],
      ready: record === null ? areSkippedWatched(app) : whyNotReady(app, app.store) === null,
      sleeping_keys: sleepingKeys(app.store).map((row) => keyJson(app, row)),
      clients: record ? clientsOf(app, null, false).map(({ name }) => name) : [],
      endpoints: record ? app.directory.allEndpoints().map(({ url }) => url) : [],
    };
  },
  'wallet.discover': async ({ extra }, { network, birthday, gap, restores, accounts, anew }) => {
    if (network === 'sandbox') throw new Rejected('wallet.sandbox', 'The sandbox has a wallet of its own', 'network');
    const request = { network, birthday: Date.parse(birthday), gap, jumps: restores, accounts };
    await extra.discoverAccounts(request, anew);
    return {};
  },
  'wallet.discovery': ({ app, extra }) => ({
    ...(extra.discovery() ?? { running: false, resumed: false, chains: [], used: [], error: null }),
    accounts: accountsSearched(app),
    rescans: rescansUnderWay(app),
  }),
  'backup.drill': async ({ app, extra }, { file }) => {
    if (!isAbsolute(file)) throw new Rejected('backup.folder', 'Give the whole path of the file', 'file');
    if (app.config.wallet.signer !== null) {
      throw new Rejected('signer.unsupported', 'The vault is with the separate signer: countinghouse backup verify');
    }
    return { seal_key: await extra.drills.begin(file) };
  },
  'backup.drillOpen': async ({ extra }, { sealed }) => {
    await extra.drills.open(sealed);
    return {};
  },
  'backup.drillStatus': ({ app, extra }) => {
    const drill = extra.drills.state;
    const last = lastDrill(app);
    const last_good_at = isoOrNull(last);
    if (!drill) return { drill: null, last_good_at };
    const { startedAt, endedAt, ...rest } = drill;
    const times = { started_at: toIso(startedAt), ended_at: isoOrNull(endedAt) };
    return { drill: { ...rest, ...times }, last_good_at };
  },
  'backup.drilled': async ({ app }) => {
    const at = app.now();
    await app.store.write((tx) => noteDrill(tx, at));
    return {};
  },
  'restore.confirm': async ({ app }, { keep_keys }) => {
    await takeOver(app, keep_keys);
    return {};
  },
};
