/** German names of the things that the doctor looks at. */
import type { SUBJECTS } from '../../../daemon/domain/messages.ts';

export const SUBJECTS_DE: { readonly [subject in (typeof SUBJECTS)[number]]: string } & { [other: string]: string } = {
  addresses: 'Adressen',
  alerts: 'Meldungen',
  backup: 'Sicherung',
  books: 'Bücher',
  certificate: 'Zertifikat',
  clock: 'Uhr',
  disk: 'Datenträger',
  drill: 'Probe der Sicherung',
  permissions: 'Dateirechte',
  port: 'Port',
  proxies: 'Proxys',
  rates: 'Kurse',
  release: 'Version',
  restore: 'Wiederherstellung',
  sources: 'Quellen',
  wallet: 'Wallet',
  withdrawals: 'Auszahlungen',
};
