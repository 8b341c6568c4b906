/** The parts of the program, passed to every use case and created in `create-app.ts`. */

import type { AddressThread } from '../chains/address-thread.ts';
import type { Config } from '../config/config.ts';
import { MS_PER_HOUR } from '../domain/time.ts';
import type { Log } from '../log.ts';
import type { RateBook } from '../rates/book.ts';
import type { Store } from '../store/store.ts';
import type { Signer } from '../wallet/signer/port.ts';
import type { UnstoredAlerts } from './alerts.ts';
import type { Chains } from './chains/chains.ts';
import type { HoldsMemory } from './invoices/looked-at.ts';
import type { InvoiceSubscribers } from './notifications/invoice-subscribers.ts';
import type { OperatorEvents } from './notifications/operator-events.ts';
import type { Directory } from './shops/directory.ts';
import type { IgnoredFields } from './shops/ignored.ts';
import type { KeyRing } from './shops/keys.ts';
import type { ForwardingPort, GasPort } from './spends/ports.ts';
import type { Wake } from './wake.ts';

export type App = {
  readonly store: Store;
  readonly config: Config;
  readonly rates: RateBook;
  readonly chains: Chains;
  readonly directory: Directory;
  readonly keys: KeyRing;
  readonly invoiceSubscribers: InvoiceSubscribers;
  readonly holds: HoldsMemory;
  readonly operatorEvents: OperatorEvents;
  readonly unstored: UnstoredAlerts;
  readonly ignored: IgnoredFields;
  /** Derives addresses beside the event loop; absent: they are derived in it. */
  readonly addressThread?: AddressThread | undefined;
  readonly signer: Signer;
  readonly gas: GasPort;
  readonly forwarding: ForwardingPort;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** By how much indices and numbers jump when the data turns out to be older than what happened; absent: INDICES_JUMPED. */
  readonly jump?: number | undefined;
  /** The address for payers, without a slash at the end. Known once the port is. */
  publicUrl: string;
  readonly wake: Wake;
};

/** How long late money still counts, in milliseconds. */
export function graceMs(app: App): number {
  return app.config.payments.graceHours * MS_PER_HOUR;
}
