/**
 * What each method of the operator API may be used for, written down a second time by hand: a new method, or one whose rules changed,
 * has to be judged here too.
 */
import { expect, it } from 'vitest';
import { isMethod, OPERATOR, rulesOf } from '../../../daemon/contract/operator.ts';

/**
 * Whether it reads or changes; who may call it: every page, only pages in a browser, or only programs on the machine; what a session
 * that is locked to a counter has of it; and whether money could leave by it.
 */
const TABLE = `
address.given           reads    page     -         -
address.list            reads    page     -         -
address.open            reads    page     -         -
addressBook.add         changes  page     -         spends
addressBook.grants      reads    page     -         -
addressBook.list        reads    page     -         -
addressBook.remove      changes  page     -         spends
alert.list              reads    page     -         -
alert.seen              changes  page     -         -
alert.test              changes  page     -         -
api.ignored             reads    page     -         -
api.show                reads    page     -         -
api.try                 changes  page     -         -
backup.drill            changes  browser  -         -
backup.drillOpen        changes  browser  -         spends
backup.drillStatus      reads    page     -         -
backup.drilled          changes  page     -         -
backup.make             changes  browser  -         -
books.statement         reads    page     -         -
business.add            changes  page     -         spends
business.brand          changes  page     -         -
business.change         changes  page     -         -
business.keyImages      changes  page     -         -
business.leftovers      reads    page     -         -
business.list           reads    page     -         -
business.nextAccount    reads    page     -         -
client.add              changes  page     -         -
client.change           changes  page     -         -
client.list             reads    page     -         -
client.revoke           changes  page     -         -
closing.list            reads    page     -         -
closing.mail            changes  page     -         -
closing.make            changes  page     -         -
closing.next            reads    page     -         -
console.end             changes  page     -         -
console.list            reads    page     -         -
console.open            changes  machine  -         -
counter.cancel          changes  page     invoice   -
counter.choose          changes  page     invoice   -
counter.refund          changes  page     invoice   -
counter.sale            reads    page     invoice   -
counter.sell            changes  page     business  -
counter.show            reads    page     business  -
delivery.list           reads    page     -         -
delivery.resend         changes  page     -         -
doctor                  reads    page     -         -
endpoint.add            changes  page     -         -
endpoint.enable         changes  page     -         -
endpoint.list           reads    page     -         -
endpoint.pause          changes  page     -         -
endpoint.remove         changes  page     -         -
endpoint.rotate         changes  page     -         -
endpoint.test           changes  page     -         -
endpoint.types          changes  page     -         -
events.next             reads    page     events    -
export.page             reads    page     -         -
forwarding.end          changes  page     -         -
forwarding.list         reads    page     -         -
forwarding.preview      reads    page     -         -
forwarding.send         changes  page     -         spends
forwarding.set          changes  page     -         spends
forwarding.skip         changes  page     -         -
gas.collect             changes  page     -         spends
gas.forecast            reads    page     -         -
gas.resume              changes  page     -         spends
gas.status              reads    page     -         -
gas.stop                changes  page     -         -
gas.tank                changes  page     -         spends
inbox.accept            changes  page     -         -
inbox.keep              changes  page     -         -
inbox.list              reads    page     -         -
inbox.refund            changes  page     -         -
inbox.unknownTokens     reads    page     -         -
invoice.cancel          changes  page     -         -
invoice.counts          reads    page     -         -
invoice.create          changes  page     -         -
invoice.explain         reads    page     -         -
invoice.find            reads    page     -         -
invoice.list            reads    page     -         -
invoice.markPaid        changes  page     -         -
invoice.refund          changes  page     -         -
invoice.show            reads    page     -         -
invoice.sums            reads    page     -         -
item.add                changes  page     -         -
item.change             changes  page     -         -
item.list               reads    page     business  -
item.remove             changes  page     -         -
key.add                 changes  page     -         spends
key.list                reads    page     -         -
key.revoke              changes  page     -         -
ledger.adopt            changes  page     -         -
ledger.prove            changes  page     -         -
link.add                changes  page     -         -
link.change             changes  page     -         -
link.end                changes  page     -         -
link.list               reads    page     -         -
link.show               reads    page     -         -
maintenance.free        changes  page     -         -
policy.grants           reads    page     -         -
policy.set              changes  page     -         spends
policy.show             reads    page     -         -
rates.list              reads    page     -         -
reach.show              reads    page     -         -
reach.test              changes  page     -         -
refundLink.end          changes  page     -         -
refundLink.list         reads    page     -         -
refundLink.make         changes  page     -         -
refundLink.prepare      changes  page     -         -
releases.choose         changes  page     -         -
releases.show           reads    page     -         -
restore.confirm         changes  page     -         spends
restore.status          reads    page     -         -
sandbox.play            changes  page     -         -
settings.show           reads    page     -         -
signer.invite           changes  machine  -         -
signer.machines         reads    page     -         -
signer.remove           changes  machine  -         -
source.list             reads    page     -         -
source.rescan           changes  page     -         -
status                  reads    page     -         -
takings.list            reads    page     -         -
till.pair               changes  page     -         -
wallet.authorize        changes  browser  -         spends
wallet.custody          changes  browser  -         spends
wallet.discover         changes  page     -         -
wallet.discovery        reads    page     -         -
wallet.keychain         changes  machine  -         -
wallet.lock             changes  page     -         -
wallet.passphrase       changes  browser  -         spends
wallet.revoke           changes  browser  -         spends
wallet.sealKey          reads    browser  -         -
wallet.status           reads    page     -         -
wallet.unlock           changes  browser  -         spends
webhook.list            reads    page     -         -
webhook.resend          changes  page     -         -
withdrawal.add          changes  page     -         spends
withdrawal.approve      changes  page     -         spends
withdrawal.giveUpBump   changes  page     -         -
withdrawal.list         reads    page     -         -
withdrawal.propose      reads    page     -         -
withdrawal.psbt         changes  page     -         spends
withdrawal.recipient    reads    page     -         -
withdrawal.reject       changes  page     -         -
withdrawal.show         reads    page     -         -
withdrawal.signed       changes  page     -         spends
`;

it('each method has the rights of the table, and no other', () => {
  const rows = Object.keys(OPERATOR)
    .filter(isMethod)
    .map((method) => {
      const { does, scope = 'page', counter = '-', approves } = rulesOf(method);
      return [method, does, scope, counter, approves ? 'spends' : '-'].join(' ');
    });
  const judged = TABLE.trim()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '));
  expect(rows.sort()).toEqual(judged.sort());
});
