/** What a run's appliance asks. `liars`: several Electrum servers, one of which may lie; `accounts`, `monero`: endpoints and nodes likewise. */
export const KINDS = ['any', 'core', 'electrum', 'liars', 'accounts', 'monero'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * Runs that every test run repeats. A seed that found a fault comes here, as `npm run simulate` prints it, when the fault is
 * mended. `without`: actions that are left out; `also`: actions that are added, with their weight.
 */
export type Row = { seed: number; steps: number; without?: string; also?: string; kind?: Kind };

/** Printed after each of several rows that one process runs. */
export const ROW_OVER = 'the row is over\n';

/** Without what was added to the usual actions later: each is the run in which the fault was. */
const EARLIER: readonly Row[] = [
  ...[601, 602, 603, 604].map((seed) => ({ seed, steps: 160 })),
  // payers change the coin
  { seed: 12, steps: 200, also: 'change coin:8' },
  { seed: 7, steps: 400, also: 'change coin:8' },
  // another version of a refund than the newest is mined
  { seed: 303, steps: 200 },
  // the signer refuses the only version of a payment
  { seed: 721, steps: 160 },
  // a deposit that was spent vanishes: asked of a node, and of a server that tells no bytes
  { seed: 766, steps: 200 },
  { seed: 6012, steps: 200 },
  // the clock is 40 days behind, and ahead
  { seed: 717, steps: 160 },
  { seed: 767, steps: 160 },
  // a policy has approved a sweep, which the signer refuses
  { seed: 7016, steps: 200 },
  // twice, another machine begins from the words alone
  { seed: 18, steps: 300, kind: 'core', also: 'policy:6,withdraw:25' },
  // somebody pays addresses that are not given out yet, while the node has troubles
  { seed: 9, steps: 160, kind: 'core', also: 'trouble:14,pay:10' },
  // many deposits are refunded while other payments are open, which may spend the same coins
  { seed: 9001, steps: 200, kind: 'core', also: 'inbox:20,withdraw:20,approve:25,mine:8,pay:30' },
  // invoices are read at every depth of their payments
  { seed: 9003, steps: 100, also: 'read:40,pay:30,mine:20' },
  // one of several servers lies: a payment in a block waits for a second server's word past the invoice's end; the first
  // server that is asked for that word refuses
  { seed: 2, steps: 200, kind: 'liars' },
  { seed: 14, steps: 200, kind: 'liars' },
  // endpoints of an account chain that tell the truth
  { seed: 1, steps: 100, kind: 'accounts', without: 'lie' },
  { seed: 2, steps: 100, kind: 'accounts', without: 'lie' },
  // one endpoint invents coins in the oldest block, whose state the others do not have, before the same amount comes
  { seed: 10, steps: 30, kind: 'accounts' },
  // three nodes of Monero that tell the truth, and of which one may lie
  { seed: 1, steps: 60, kind: 'monero', without: 'lie' },
  { seed: 2, steps: 100, kind: 'monero' },
];

const WITHOUT_NODES = 'crumbs,servers,older,fill,send again';
const ADDED_LATER = 'snapshot,roll back,heed,twin,combine lies,take over';
/** The same of account chains, whose data came back older and ran twice last of all. */
const WITHOUT_OLDER = 'snapshot,roll back,heed,twin';
const WITHOUT_THIEF = `take over,${WITHOUT_OLDER}`;

/** Without what servers and nodes do at times that tell the truth. */
const WITHOUT_AWKWARD: Readonly<Partial<Record<Kind, string>>> = {
  accounts: 'front',
  monero: 'odd node,reorganise deep',
};

const LATER: readonly Row[] = [
  ...EARLIER.map((row) => ({ ...row, without: [row.without, ADDED_LATER].filter(Boolean).join() })),
  // a second machine runs with the same wallet, and each must notice what the other one paid
  { seed: 4, steps: 80, kind: 'core', also: 'twin:8,withdraw:20,approve:20' },
  // a server hides a payment and announces another status each second
  { seed: 16, steps: 300, kind: 'liars', without: 'twin,combine lies' },
  // the data directory comes back older: blocks were read again before the skipped addresses were watched
  { seed: 1, steps: 200, without: 'twin', also: 'snapshot:4,roll back:2,heed:6' },
  // an overpayment is to be refunded before it is confirmed itself
  { seed: 50182, steps: 150 },
  { seed: 50221, steps: 150 },
  { seed: 50033, steps: 150, kind: 'liars', without: 'combine lies' },
  // the same data comes back twice, and jumps as far as before
  { seed: 16, steps: 200, without: 'twin', also: 'snapshot:4,roll back:2,heed:6' },
  { seed: 26, steps: 200, without: 'twin', also: 'snapshot:4,roll back:2,heed:6' },
  // an endpoint of an account chain invents fees, and later another one invents the same
  { seed: 50113, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  { seed: 50129, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  // what came from inside a contract is confirmed with another amount than an endpoint told before
  { seed: 50031, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  { seed: 50137, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  // the accounts of three endpoints, of which one may lie
  { seed: 50023, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  { seed: 50067, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  // a copy pays in coins from a deposit address, of which no event tells the first machine
  { seed: 84005, steps: 230, kind: 'accounts' },
  // a token is paid on money that came a few blocks ago, before the same blocks come in another order
  { seed: 50060, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  { seed: 50083, steps: 150, kind: 'accounts', without: WITHOUT_THIEF },
  // a thief with a grant of gas asks the signer for the most, to strangers, and far away
  {
    seed: 9103,
    steps: 60,
    kind: 'accounts',
    without: `lie,trouble,crash,lock,reorganise,sweep,${WITHOUT_OLDER}`,
    also: 'request:10,mine:30,fill:3,collect:10,take over:6',
  },
  // small payments that count by what their block proves
  { seed: 51008, steps: 60, kind: 'accounts', without: WITHOUT_THIEF },
  // what came and left while an older disk was away, by two operators of which one is down at first
  { seed: 80010, steps: 300, kind: 'accounts' },
  // over Electrum, a quarantine lasts until the end: a payer paid the next addresses, or the signer knows a signature more
  { seed: 50111, steps: 150 },
  { seed: 50270, steps: 150 },
  { seed: 50029, steps: 150, kind: 'electrum' },
  { seed: 50043, steps: 150, kind: 'electrum' },
  // a server proves a transaction of strangers, which an honest one keeps back rightly
  { seed: 71003, steps: 130, kind: 'liars', without: 'combine lies' },
  // the connection to a signer at home ends within its answers
  { seed: 4001, steps: 150, also: 'cut:10,withdraw:10,approve:12' },
  // the same data comes back three times, and each run before it has jumped farther
  { seed: 71019, steps: 300 },
  // three beginnings from the words alone; of what the first one gave out, the change is left and the payment vanished
  { seed: 80034, steps: 300 },
  // the words begin twice, and nothing tells the second time what was given out in between
  { seed: 22, steps: 40, kind: 'core', without: 'roll back,twin', also: 'words:60,request:40' },
  // after a restore, a second machine pays what was requested since, with money of before
  { seed: 76004, steps: 100, kind: 'core' },
  // another machine pays with a coin that is found only when blocks are read again
  { seed: 92023, steps: 130, kind: 'core' },
  // an account chain's wallet is on a second machine, too, which pays what the first one was asked for
  {
    seed: 9302,
    steps: 30,
    kind: 'accounts',
    without:
      'reorganise,lie,trouble,fees,sweep,reject,speed up,cancel,collect,lock,crash,take over,snapshot,roll back,heed',
    also: 'fill:12,request:3,pay:6,wait:4,mine:14,withdraw:14,approve:6,twin:8',
  },
];

const withoutNew = (row: Row): Row => {
  return { ...row, without: [row.without, WITHOUT_AWKWARD[row.kind ?? 'any'] ?? WITHOUT_NODES].filter(Boolean).join() };
};

export const SEEDS: readonly Row[] = LATER.map(withoutNew);

/** Short runs in which honest servers and nodes are awkward: every run of the tests has all of them. */
export const AWKWARD: readonly Row[] = [
  { seed: 5, steps: 40, kind: 'core', also: 'crumbs:8,servers:8,older:8,fill:8,send again:8' },
  { seed: 5, steps: 33, kind: 'electrum', also: 'crumbs:8,servers:12,older:4,fill:8,send again:8' },
  { seed: 5, steps: 21, kind: 'accounts', also: 'front:12' },
  { seed: 5, steps: 30, kind: 'monero', also: 'odd node:12,reorganise deep:5' },
];
