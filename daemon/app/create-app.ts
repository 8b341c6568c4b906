/** Puts the parts of the program together, for the daemon and for tests alike. */
import { UnstoredAlerts } from './alerts.ts';
import type { App } from './app.ts';
import { Chains } from './chains/chains.ts';
import { forwardingPort } from './forwarding/port.ts';
import { gasPort } from './gas/port.ts';
import { HoldsMemory } from './invoices/looked-at.ts';
import { InvoiceSubscribers } from './notifications/invoice-subscribers.ts';
import { OperatorEvents } from './notifications/operator-events.ts';
import { Directory } from './shops/directory.ts';
import { IgnoredFields } from './shops/ignored.ts';
import { KeyRing } from './shops/keys.ts';

/** The parts that the caller opens or chooses. */
type AppParts = Pick<
  App,
  'store' | 'config' | 'rates' | 'signer' | 'addressThread' | 'log' | 'now' | 'jump' | 'publicUrl' | 'wake'
>;

/** An `App` without chains, whose directory is not loaded yet. It opens and starts nothing. */
export function createApp(given: AppParts): App {
  const { store, now } = given;
  return {
    ...given,
    chains: new Chains(),
    gas: gasPort,
    forwarding: forwardingPort,
    directory: new Directory(),
    keys: new KeyRing(store, now),
    invoiceSubscribers: new InvoiceSubscribers(),
    holds: new HoldsMemory(now),
    operatorEvents: new OperatorEvents(now),
    unstored: new UnstoredAlerts(),
    ignored: new IgnoredFields(now),
  };
}
