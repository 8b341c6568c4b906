/** `countinghouse webhook`: notifications of paid invoices. */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { STATUS_FAILED_MIN } from '../domain/merchant.ts';
import { action, itemCommand } from './commands.ts';
import { EXIT, Failure, type Io } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

type Webhook = Result<'webhook.list'>['webhooks'][number];

export function webhookCommands(root: Command, io: Io): void {
  const webhook = root
    .command('webhook')
    .description('webhooks: notifications of paid invoices, and the attempts to send them');
  paged(webhook.command('list').alias('log'))
    .description('list the notifications with their last attempt, newest first')
    .action(action(io, listWebhooks));
  itemCommand(webhook, 'resend', 'send a notification again, now').action(action(io, resend));
}

async function listWebhooks(session: Session, options: PageOptions) {
  const found = await session.call('webhook.list', pageOf(options));
  printPage(session, found, () =>
    table(
      ['>NO', 'INVOICE', 'URL', '>TRIES', 'LAST', 'ANSWER'],
      found.webhooks.map((webhook) => [
        `${webhook.id}`,
        webhook.invoice,
        webhook.url,
        `${webhook.attempts.length}`,
        when(webhook.attempts.at(-1)?.started_at ?? null),
        outcome(webhook),
      ]),
      'There are no notifications.',
    ),
  );
}

/** The result of the last attempt at a notification. */
export function outcome({ state, attempts }: Webhook): string {
  const last = attempts.at(-1);
  if (!last) return state;
  return answerText(last) ?? (last.finished_at === null ? 'under way or cut off' : 'no answer');
}

const answerText = ({ status, error }: { status: number | null; error: string | null }): string | null =>
  status === null ? error : `HTTP ${status}`;

async function resend(session: Session, _: object, id?: string) {
  const done = await session.call('webhook.resend', { id: Number(id) });
  const { status } = done;
  const answer = answerText(done) ?? 'no answer';
  if (status === null || status >= STATUS_FAILED_MIN) {
    throw new Failure(`${done.webhook.url} did not take the notification: ${answer}`, EXIT.failed, 'webhook.failed');
  }
  session.print(done, () => `Sent to ${done.webhook.url}: ${answer}\n`);
}
