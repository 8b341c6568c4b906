/** The sandbox's controls over HTTP, for keys of sandbox businesses only: to any other they do not exist. */
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { SandboxControls } from '../../app/sandbox.ts';
import { JsonNumber, jsonBody } from '../body.ts';
import { notFound, onlyMethods } from '../errors.ts';
import { authenticator, callerOf } from './auth.ts';
import { check } from './schemas.ts';

const BLOCKS_MAX = 100;
const NAME_CHARACTERS_MAX = 255;

const name = (field: string) =>
  z.string(`The ${field} field is required.`).min(1, `The ${field} field is required.`).max(NAME_CHARACTERS_MAX);
const count = (field: string) => {
  const text = `The ${field} must be a whole number from 1 to ${BLOCKS_MAX}.`;
  return z.int(text).min(1, text).max(BLOCKS_MAX, text);
};

export const SANDBOX_SCHEMAS = {
  pay: z.object({
    invoice_id: name('invoice id'),
    amount: z
      .unknown()
      .optional()
      .refine(
        (value) => value === undefined || value === null || typeof value === 'string' || value instanceof JsonNumber,
        'The amount must be a decimal.',
      )
      .transform((value) => (value instanceof JsonNumber ? value.source : ((value as string | null) ?? undefined)))
      .meta({ override: { oneOf: [{ type: 'string' }, { type: 'number' }] } }),
  }),
  mine: z.object({ crypto: name('crypto'), blocks: count('blocks').default(1) }),
  reorg: z.object({
    crypto: name('crypto'),
    depth: count('depth'),
    drop: z.boolean('The drop must be true or false.').default(false),
  }),
  'double-spend': z.object({ tx_id: name('tx id') }),
  outage: z.object({ crypto: name('crypto'), down: z.boolean('The down must be true or false.') }),
};

/** Express hands a promise's rejection to the error handler. */
type Control = (request: Request, response: Response) => Promise<void>;

export function sandboxRouter(app: App, controls: SandboxControls | null): Router {
  const router = Router();
  const withKey = authenticator(app);
  if (!controls) return router;

  const sandboxOnly: RequestHandler = (request, response, next: NextFunction) => {
    if (callerOf(response).network === 'sandbox') next();
    else notFound(request, response, next);
  };
  const add = (path: keyof typeof SANDBOX_SCHEMAS, control: Control): void => {
    router.route(`/${path}`).post(withKey('invoices'), sandboxOnly, jsonBody, control).all(onlyMethods('POST'));
  };

  add('pay', async ({ body }, response) => {
    const { invoice_id, amount } = check(SANDBOX_SCHEMAS.pay, body);
    const paid = await controls.pay(callerOf(response), invoice_id, amount);
    response.status(201).json({ tx_id: paid.txid, amount: paid.amount });
  });
  add('mine', async ({ body }, response) => {
    const { crypto, blocks } = check(SANDBOX_SCHEMAS.mine, body);
    response.json(await controls.mine(callerOf(response), crypto, blocks));
  });
  add('reorg', async ({ body }, response) => {
    const { crypto, depth, drop } = check(SANDBOX_SCHEMAS.reorg, body);
    response.json(await controls.reorg(callerOf(response), crypto, depth, drop));
  });
  add('double-spend', async ({ body }, response) => {
    const { tx_id } = check(SANDBOX_SCHEMAS['double-spend'], body);
    const { txid } = await controls.doubleSpend(callerOf(response), tx_id);
    response.json({ tx_id: txid });
  });
  add('outage', async ({ body }, response) => {
    const { crypto, down } = check(SANDBOX_SCHEMAS.outage, body);
    await controls.outage(callerOf(response), crypto, down);
    response.json({});
  });
  return router;
}
