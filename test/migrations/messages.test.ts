/** Messages of databases that had an English text beside their code and values. */
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type Message, textOf } from '../../daemon/domain/messages.ts';
import { MIGRATIONS, migrate } from '../../daemon/store/migrations.ts';

const before = (migration: string) => {
  const at = MIGRATIONS.findIndex(([name]) => name === migration);
  return MIGRATIONS.slice(0, at);
};
const AWAY = 'the signing machine was never here';
const [COIN, GONE] = ['ab:0', 'The coin ab:0 left the chain'];

/** What stands in two columns before, and the message that it is after. */
const STORED: readonly [what: string, text: string, template: object | null, after: Message][] = [
  [
    'a text of a release before the codes',
    'insufficient fee {reason}',
    null,
    { code: 'words', values: { text: 'insufficient fee {reason}' } },
  ],
  [
    'a code with values',
    'Withdrawal 7. It is gone',
    { code: 'withdrawal.coin_missing', values: { id: 7, reason: 'It is gone' } },
    { code: 'withdrawal.coin_missing', values: { id: 7, reason: 'It is gone' } },
  ],
  [
    'a message within a message',
    `${GONE}. More`,
    { code: 'wait.coin_away', values: { coin: { code: 'coin.left', values: { coin: COIN }, text: GONE } } },
    { code: 'wait.coin_away', values: { coin: { code: 'coin.left', values: { coin: COIN } } } },
  ],
  [
    'a refusal, whose words were nowhere else',
    'The wallet is locked',
    { code: 'signer.locked', values: {} },
    { code: 'signer.locked', values: { text: 'The wallet is locked' } },
  ],
  [
    'a refusal within a message',
    `Withdrawal 7. ${AWAY}`,
    { code: 'withdrawal.coin_missing', values: { id: 7, reason: { code: 'signer.away', values: {}, text: AWAY } } },
    { code: 'withdrawal.coin_missing', values: { id: 7, reason: { code: 'signer.away', values: { text: AWAY } } } },
  ],
];

type Column = { name: string; type: string; notnull: number; dflt_value: unknown; pk: number };

/** A row that has these values, and something in every other column that needs it. */
function insert(db: Database.Database, table: string, row: Record<string, unknown>): void {
  const { id = row.account_id } = row;
  const columns = db.pragma(`table_info(${table})`) as Column[];
  const whole: Record<string, unknown> = { ...row };
  for (const { name, type, notnull, dflt_value, pk } of columns)
    if (notnull && dflt_value === null && !pk && !(name in row)) whole[name] = type === 'TEXT' ? `${id}` : id;
  const names = Object.keys(whole);
  db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `:${name}`)})`).run(whole);
}

it.each(STORED)('%s', (_, text, template, after) => {
  const db = new Database(':memory:');
  migrate(db, before('0062-messages'));
  db.pragma('foreign_keys = OFF');
  db.pragma('ignore_check_constraints = ON');
  const json = template && JSON.stringify(template);
  insert(db, 'withdrawal', { id: 1, problem: text, problem_template: json, reason: null });
  insert(db, 'withdrawal', { id: 2, problem: null, reason: text, reason_template: json });
  insert(db, 'spend_version', { id: 1, problem: text, problem_template: json });
  insert(db, 'alert', { id: 1, message: text, template: json });
  migrate(db);
  const read = (sql: string) =>
    db
      .prepare(sql)
      .pluck()
      .all()
      .map((stored) => stored && JSON.parse(`${stored}`));
  expect(read('SELECT problem FROM withdrawal ORDER BY id')).toEqual([after, null]);
  expect(read('SELECT reason FROM withdrawal ORDER BY id')).toEqual([null, after]);
  expect(read('SELECT problem FROM spend_version')).toEqual([after]);
  expect(read('SELECT message FROM alert')).toEqual([after]);
  db.close();
});

it('why a plan and a refund link wait keeps its words, whatever is in them', () => {
  const db = new Database(':memory:');
  migrate(db, before('0063-plan-messages'));
  db.pragma('foreign_keys = OFF');
  db.pragma('ignore_check_constraints = ON');
  const words = 'The tank needs 0.5 "ETH" more {reason}';
  for (const [id, problem] of [words, null].entries()) {
    insert(db, 'gas_plan', { account_id: id, problem });
    insert(db, 'refund_link', { id, problem });
  }
  migrate(db);
  for (const table of ['gas_plan', 'refund_link']) {
    const stored = db.prepare(`SELECT problem FROM ${table} ORDER BY problem IS NULL`).pluck().all() as string[];
    expect(stored[1]).toBeNull();
    const message: Message = JSON.parse(stored[0]!);
    expect(message).toEqual({ code: 'words', values: { text: words } });
    expect(textOf(message)).toBe(words);
  }
  db.close();
});

it('a message without a code, and one of another program, keep their words', () => {
  for (const [, text, template, after] of STORED)
    if (template === null || Object.keys(after.values).includes('text')) expect(textOf(after)).toBe(text);
});
