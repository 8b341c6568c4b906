/** The operator API's methods about who can open the payment pages. */
import { z } from 'zod';
import { REACHES } from '../domain/reach.ts';
import { changes, reads } from './method.ts';
import { Instant, Nothing } from './operator-shapes.ts';

/** A device that has opened the test's page. `network`: by its address; null: the address is a proxy's. */
const Opened = z.object({ at: Instant, network: z.enum(['own', 'internet']).nullable() });

export const REACH = {
  'reach.show': reads(
    Nothing,
    z.object({
      /** The address on codes, links and receipts, and who can open it, by its host alone. */
      url: z.string(),
      reach: z.enum(REACHES),
      /** The payment pages as this computer opens them. */
      own_url: z.string(),
      /** As devices of the local network open them; null: the service does not listen there. */
      network_url: z.string().nullable(),
      /** This computer's addresses in local networks, the likeliest first. */
      addresses: z.array(z.string()),
      /** The last test of the present address that a device opened. */
      tested: Opened.nullable(),
      /** The test that waits for a device, or was opened. */
      test: z.object({ url: z.string(), ends_at: Instant, opened: Opened.nullable() }).nullable(),
      /** The listener for tills of the shop's network; null: it is closed. */
      till_urls: z.array(z.string()).nullable(),
    }),
  ),
  /** Makes a page that takes no payment, to be opened on a telephone. It ends the test before. */
  'reach.test': changes(Nothing, z.object({ url: z.string(), ends_at: Instant })),
} as const;
