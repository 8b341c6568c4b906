/** The sandbox's controls over HTTP, for keys of sandbox businesses. For other keys they do not exist. */
import { type NextFunction, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { type Answer, Repeatable } from '../../app/idempotency.ts';
import type { SandboxControls } from '../../app/invoices/sandbox.ts';
import type { Business } from '../../app/shops/directory.ts';
import { JsonNumber, jsonBody } from '../body.ts';
import { notFound, onlyMethods } from '../errors.ts';
import { EXACT_PATHS, idempotent } from '../requests.ts';
import { callerOf, type WithKey } from './auth.ts';
import { check } from './schemas.ts';

const BLOCKS_MAX = 100;
const NAME_CHARACTERS_MAX = 255;

const name = (field: string) =>
  z
    .string(`The ${field} field is required.`)
    .min(1, `The ${field} field is required.`)
    .max(NAME_CHARACTERS_MAX, `The ${field} may not be longer than ${NAME_CHARACTERS_MAX} characters.`);
const count = (field: string) => {
  const text = `The ${field} must be a whole number from 1 to ${BLOCKS_MAX}.`;
  return z.int(text).min(1, text).max(BLOCKS_MAX, text);
};
/** `null` counts as absent. */
function orElse<S extends z.ZodType>(schema: S, otherwise: z.output<S>) {
  const { $schema: _, ...described } = z.toJSONSchema(schema);
  return schema
    .nullish()
    .transform((value) => value ?? otherwise)
    .meta({ override: { ...described, default: otherwise } });
}

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
  mine: z.object({ crypto: name('crypto'), blocks: orElse(count('blocks'), 1) }),
  reorg: z.object({
    crypto: name('crypto'),
    depth: count('depth'),
    drop: orElse(z.boolean('The drop must be true or false.'), false),
  }),
  'double-spend': z.object({ tx_id: name('tx id') }),
  outage: z.object({ crypto: name('crypto'), down: z.boolean('The down must be true or false.') }),
};

/** Checks the body and executes the control. Throws `Rejected`. */
type Control = (business: Business, body: unknown) => Promise<{ status: number; answer: unknown }>;

const ok = (answer: unknown) => ({ status: 200, answer });

function controlsOf(sandbox: SandboxControls): Record<keyof typeof SANDBOX_SCHEMAS, Control> {
  return {
    pay: async (business, body) => {
      const { invoice_id, amount } = check(SANDBOX_SCHEMAS.pay, body);
      const paid = await sandbox.pay(business, invoice_id, amount);
      return { status: 201, answer: { tx_id: paid.txid, amount: paid.amount } };
    },
    mine: async (business, body) => {
      const { crypto, blocks } = check(SANDBOX_SCHEMAS.mine, body);
      return ok(await sandbox.mine(business, crypto, blocks));
    },
    reorg: async (business, body) => {
      const { crypto, depth, drop } = check(SANDBOX_SCHEMAS.reorg, body);
      return ok(await sandbox.reorg(business, crypto, depth, drop));
    },
    'double-spend': async (business, body) => {
      const { tx_id } = check(SANDBOX_SCHEMAS['double-spend'], body);
      const { txid } = await sandbox.doubleSpend(business, tx_id);
      return ok({ tx_id: txid });
    },
    outage: async (business, body) => {
      const { crypto, down } = check(SANDBOX_SCHEMAS.outage, body);
      await sandbox.outage(business, crypto, down);
      return ok({});
    },
  };
}

export function sandboxRouter(app: App, withKey: WithKey, sandbox: SandboxControls | null): Router {
  const router = Router(EXACT_PATHS);
  if (!sandbox) return router;
  const repeatable = new Repeatable(app);
  // network before scope: for a live key these paths do not exist, whatever its scopes
  const sandboxOnly: RequestHandler = (request, response, next: NextFunction) => {
    if (callerOf(response).network === 'sandbox') next();
    else notFound(request, response, next);
  };
  for (const [path, control] of Object.entries(controlsOf(sandbox))) {
    const answer: RequestHandler = async (request, response) => {
      const business = callerOf(response);
      const asked = idempotent(business, request, `/sandbox/${path}`);
      const { status, body } = await repeatable.answer(asked, async (): Promise<Answer> => {
        const done = await control(business, request.body);
        return { status: done.status, body: JSON.stringify(done.answer) };
      });
      response.status(status).type('application/json').send(body);
    };
    router
      .route(`/${path}`)
      .post(withKey([]), sandboxOnly, withKey(['invoices']), jsonBody, answer)
      .all(onlyMethods('POST'));
  }
  return router;
}
