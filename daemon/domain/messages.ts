/**
 * The messages of the service to its operator: alerts, findings of the doctor, and why a withdrawal waits or ended. A message
 * is a code and values, and nothing is decided by words. Its English sentence is here alone, and is made where it is shown.
 */
import { Rejected } from './errors.ts';

export const MESSAGES = {
  'alert.undelivered': 'Alerts do not get out by {channel}: {reason}. `countinghouse alert test` tries it',
  'backup.broken':
    '{count} files in {folder} are named like backups and are none that is whole ({file}): look where they come from, and remove them by hand',
  'backup.failed': 'The scheduled backup into {folder} failed: {reason}',
  'backup.future':
    '{count} backups in {folder} say that they were made later than now ({file}): the clock of this machine is or was wrong. They are kept beside the newest ones: remove them by hand',
  'backup.late': 'The scheduled backup was not made after {done}, and is late since {due}. The log says why',
  'browser.full':
    '{business}: {client} has as many open invoices as it may (browser.open_invoices_max = {limit}), all within their quote: browsers cannot pay',
  'chain.alert': '{reason}',
  'chain.away':
    '{chain} has been away for {minutes} minutes, and payers are not offered it: {reason}. See `countinghouse source list`',
  'chain.behind': 'its source is behind',
  'chain.finality':
    'No block of {chain} becomes final: the newest final one is {finalized}, and the newest one {height}. Payments that count only in a final block wait, without an end, and count by themselves once it goes on. Compare with a block explorer: an endpoint that stands still has the same effect',
  'chain.unchecked':
    'For {minutes} minutes servers of one operator alone have told of {chain}, though those of {named} are named: nobody could contradict them if they left a payment out. Payments are seen, deadlines and large payments wait for a second operator. See `countinghouse source list`',
  'chain.unvouched':
    '{count} unpaid invoices of {chain} have stayed open for {hours} hours after their deadline, because no two servers of different operators show whether they were paid. Look at the servers of {chain}, and add one of another operator if too few answer',
  'chain.halted': '{chain} was halted by a bug: {reason}',
  'chain.past': "A wallet's past cannot be read: {reason}",
  'clock.ahead':
    'The clock of this machine is {minutes} minutes ahead: quotes and due dates go by it. Set it: timedatectl set-ntp true',
  'clock.behind':
    'The clock of this machine is {minutes} minutes behind: quotes and due dates go by it. Set it: timedatectl set-ntp true',
  'clock.behind_blocks':
    'The clock of this machine is behind: the newest blocks are of {known}. Quotes and due dates go by it, and new invoices wait while it is more than 12 hours behind. Set it: timedatectl set-ntp true',
  'clock.behind_books':
    'The clock of this machine is behind: this service stored something at {known} already. Quotes and due dates go by it, and new invoices wait while it is more than 12 hours behind. Set it: timedatectl set-ntp true. If it is right now and was ahead before, mark this alert as seen: then they no longer wait',
  'clock.behind_program':
    'The clock of this machine shows a time at which this program did not exist. Quotes and due dates go by it, and new invoices wait. Set it: timedatectl set-ntp true',
  'closing.unsent': '{business}: the e-mail about closing {number} was not sent to {recipients}: {reason}',
  'data.moved':
    'This data was copied or moved to {folder}. If the service that it was copied from still runs, stop one of the two: two services with one wallet give out the same addresses',
  'data.older':
    '{reason}. So this data is older than what happened, or another machine has the same wallet. Nothing is signed and no address is given out until you confirm. Stop every other copy, look through the withdrawals, and then: countinghouse restore confirm',
  'endpoint.disabled':
    '{business}: event endpoint {id} ({url}) was disabled: {reason}. Once it works: countinghouse endpoint enable {id}',
  'endpoint.gone': 'it answered 410 Gone',
  'endpoint.silent': 'nothing arrived for three days',
  'forward.waits': '{business}: the takings in {asset} are not forwarded: {reason}',
  'forward.dear': 'the network fee of {fee_now} {coin} is above the {fee_allowed} {coin} that the plan allows now',
  'forward.cheap': 'it waits for an hour in which gas is cheap, until {until} at the latest',
  'forward.gas':
    'its addresses would have got {given} {coin} of gas in 24 hours, above the {allowed} {coin} that the plan allows',
  'forward.gas_sent': 'Gas is on its way to its addresses, which send on after that',
  'forward.address': '{address} is not in the address book any more',
  'gas.cost_reached': 'Its highest cost was reached',
  'gas.dear': 'Gas is dearer than the plan allows',
  'gas.halted':
    'A payment between our own addresses failed on the chain: {address}, in transaction {tx}. It moved nothing, and its fee is paid. So that no more fees are lost, the plan for {chain} begins nothing until you let it go on: `countinghouse gas resume {business} {chain}`',
  'gas.no_price': 'No endpoint tells the price of gas',
  'gas.refused': '{asset} at {address} cannot be collected: {reason}',
  'gas.restored': 'A restore ends every grant of gas: approve another plan',
  'gas.stopped': 'One of its transactions failed on the chain: let it go on when you know why',
  'gas.tank_short': 'The tank needs {amount} {asset} more for gas: send it to {address}',
  'inbox.deposit':
    '{business}: a deposit of {amount} {asset} counts for no invoice and waits for you. Accept, refund or keep it: in the console under Inbox, or with `countinghouse inbox list`',
  'inbox.deposits':
    '{business}: {count} deposits, {amount} {asset} together, count for no invoice and wait for you. Accept, refund or keep each: in the console under Inbox, or with `countinghouse inbox list`',
  'inbox.deposits_many':
    '{business}: more than {count} deposits ({assets}) count for no invoice and wait for you. Accept, refund or keep each: in the console under Inbox, or with `countinghouse inbox list`',
  'inbox.deposits_mixed':
    '{business}: {count} deposits ({assets}) count for no invoice and wait for you. Accept, refund or keep each: in the console under Inbox, or with `countinghouse inbox list`',
  'invoice.undone': 'A chain reorganisation undid the payment of invoice {invoice}, which was already paid',
  'links.full':
    '{business}: the payment links have as many open invoices as they may (browser.open_invoices_max = {limit}), all within their quote: nobody else can pay by a link',
  'ledger.corrected':
    '{chain}: {count} entries that no operator of an endpoint has on the chain were changed or taken out of the books, such as {entry} ({amount} {asset}). An endpoint invented them. `countinghouse ledger` lists them',
  'ledger.differs': '{chain} at block {height}: {reason}',
  'ledger.differs_adopt':
    '{found}. Two operators agree on {count} of these balances. Find out why the books differ; then this takes the balances over: {command}',
  'ledger.differs_more': '{chain} at block {height}: {reason} and {count} more, which `countinghouse ledger` shows',
  'ledger.differs_missed': '{found}. If another program with the same words received it, this finds it: {command}',
  'ledger.late': 'The nightly proof of the books was not made after {done}, and is late since {due}. The log says why',
  'ledger.unproved': 'The books of {chain} could not be proved: {reason}',
  'ledger.unreviewed':
    'For a day no server of {chain} has answered what the nightly review asks about older entries of the books: {reason}. It goes on once one does. If none will, add an endpoint of another operator to `rpc`',
  'mail.ended': 'The service ended while the message was sent, so it may have arrived',
  'mail.failed': '{server} failed ({reason})',
  'mail.host': '{server} has no address',
  'mail.late': '{server} did not answer in time',
  'mail.login': '{server} refused the login',
  'mail.maybe': '{server} did not say whether it took the message, so it may have arrived',
  'mail.message': '{server} refused the message',
  'mail.off': 'No server for e-mail is set any more: [alerts] smtp',
  'mail.old': 'The service did not run for a day',
  'mail.people': '{server} refused the sender or a recipient',
  'mail.restored': 'The data was restored from a backup while the message waited, so it may have arrived before',
  'mail.tls': '{server} offers no TLS that holds',
  'mail.unreached': '{server} could not be reached',
  'older.address': 'Address {address} ({chain}) was paid, and the database never gave it out',
  'older.backup': 'A backup was made at {made}, and the database ends at {end}',
  'older.database': 'The database is an earlier one than that of the last run',
  'older.journal': 'The signer made {count} signatures that the database does not know',
  'older.spend': 'Transaction {tx} ({chain}) spends money of this wallet, and this service did not make it',
  'release.security':
    '{version} is a security release, and this is {own}. {reason} Upgrade: nothing is installed by itself',
  'restore.far':
    'Restores have moved this wallet {jumps} times. Write this number beside its words: without any payment in between, restore words finds the money only with --restores {jumps}',
  'restore.gap':
    '{business}: {count} addresses of {chain} in a row were given out and not paid. Write the number {gap} beside the words of this wallet: from the words alone, restore words finds later money only with --gap {gap}. If strangers ask for addresses without paying, lower browser.open_invoices_max',
  'restore.hidden_recipient':
    'Transaction {tx}, which was made after the backup, paid exactly the amount of withdrawal {ids}, and counts as it. The chain does not show to whom: ask its recipient, and pay it again by a new withdrawal if nothing came',
  'restore.foreign_kind':
    'Transaction {tx} took money of ours, is of a kind that this program does not make, and the backup knows nothing of it. Another program has this wallet, or somebody else has the keys',
  'restore.unknown_spend':
    'Transaction {tx} spends money of ours, and the backup knows nothing of it. Either it was made after the backup, or another copy of this wallet is running, or somebody else has the keys',
  'restore.unknown_spend_and':
    'Transaction {tx} spends money of ours, and the backup knows nothing of it. {also} Either it was made after the backup, or another copy of this wallet is running, or somebody else has the keys',
  'restore.paid_elsewhere':
    'Transaction {tx}, which another machine with this wallet made, paid exactly the amount of withdrawal {ids} to its recipient, and counts as it. The payment that was signed here can never confirm, because that machine used its coin or nonce for something else. Compare with that machine before you pay it again, and let only one of the two run',
  'restore.paid_twice':
    'Transactions {tx} and {other} both paid withdrawal {id}: this machine and another one with this wallet made them. Ask the recipient to give one back, and let only one of the two machines run',
  'restore.also_failed':
    'It pays as much as the failed withdrawal {ids}, to its recipient: compare before you pay that one again.',
  'restore.also_others': 'It pays withdrawal {ids}, and somebody else.',
  'restore.also_unclear':
    'It paid some of the withdrawals {ids}, and the chain does not show which: ask their recipients before you approve one, and reject what was paid.',
  'source.dropped': '{server}: {reason}',
  'source.left_out': 'Payments to {address} are not seen, and do not count: {reason}',
  'storage.damaged':
    '{reason}. Look at the disk and at the log of the system, keep this data directory, and restore the newest backup into a new one',
  'source.unreadable':
    'Transaction {tx} in block {height} of {chain} cannot be read by this program ({reason}). If it pays you, nothing here shows that. Install a newer version, then have the blocks read again: `countinghouse source rescan {chain} --network {network}`',
  'storage.trouble': 'Nothing can be stored: {reason}. Payments are not seen and withdrawals not made. {advice}',
  'storage.low': 'The disk of the data directory has {megabytes} MB left: free some room before it is full',
  'storage.log': 'The write-ahead log {state}. {advice}',
  'webhook.failed':
    '{business}: the notification of invoice {invoice} to {host} failed: {reason}. It is not sent again by itself: countinghouse webhook resend {id}',
  'webhook.failed_more':
    '{business}: {times} notifications to {host} failed since the first one did: {reason}. None is sent again by itself: `countinghouse webhook list` shows them',
  'webhook.status': 'it answered {status}',
  'withdrawal.coin_missing': 'Withdrawal {id}. {reason}',
  'withdrawal.conflict':
    'Transaction {tx}, which this wallet did not make, uses a coin or nonce of {payment}: somebody else has the keys, or another copy of this wallet is running',
  'withdrawal.lost':
    'Withdrawal {id} was completed, and another transaction took its place for good: its recipient was not paid',
  'withdrawal.not_sent': "The network's node does not take {transaction}: {reason}. It is offered again. {advice}",
  'withdrawal.refused': 'The signer refused withdrawal {ids}: {reason}',
  'withdrawal.reopened':
    'A deep chain reorganisation undid the failure of withdrawal {id}: it may still be paid. Do not pay it another way before it is canceled or has failed again',
  'withdrawal.revived':
    'Withdrawal {id} was given up as failed, and has been paid after all: do not pay it another way',
  'withdrawal.short':
    'Withdrawal {id}: the token kept {amount} {asset} of it as its own fee. The recipient got that much less',
  'withdrawal.unconfirmed':
    '{business}: withdrawal {id} was sent a day ago, and no block has it. Is its fee too low? `countinghouse withdrawal speed-up {id}`',
  'withdrawal.unconfirmed_final':
    '{business}: withdrawal {id} was sent a day ago, and no block has it. On {chain} none with a higher fee can take its place, and it goes on being sent. Do the servers know it? `countinghouse source list`',
  'withdrawal.undone': 'A chain reorganisation undid the payment of withdrawal {id}: it is being sent again',
  'withdrawal.unsigned':
    '{business}: withdrawal {id} is approved and not signed. Is the wallet locked? `countinghouse wallet status`',
  'withdrawal.unsigned_more':
    '{business}: withdrawals from {id} to {newest} are approved and not signed. Is the wallet locked? `countinghouse wallet status`',
  'withdrawal.unsigned_why': '{business}: withdrawal {id} is approved, and its transaction cannot be made: {reason}',
  'withdrawal.unsigned_more_why':
    '{business}: withdrawals from {id} to {newest} are approved and not signed. The transaction of {id} cannot be made: {reason}',
  'withdrawal.waiting': '{business}: withdrawal {id} waits for you. `countinghouse withdrawal list` shows it',
  'withdrawal.waiting_more':
    '{business}: withdrawals wait for you, from {id} to {newest}. `countinghouse withdrawal list` shows them',
  'withdrawal.waits': 'Withdrawal {id} waits. {reason}',
  'withdrawals.halted': 'Withdrawals of {chain} were halted by a bug: {reason}',

  'log.grown': 'has grown to {megabytes} MB',
  'log.grown_stuck': 'has grown to {megabytes} MB, and could not begin anew for {hours} hours',
  'log.unfolded': '{grown}: it cannot be folded into the database ({reason})',
  'log.read': '{grown}: a program reads the database without an end',
  'transaction.bump': 'the transaction that pays for the deposit {deposit}',
  'transaction.cancel': 'the cancellation of withdrawal {ids}',
  'transaction.collect': 'the transaction that collects the money of {address}',
  'transaction.fund': 'the transaction that sends gas to {address}',
  'transaction.replacement': 'the replacement for withdrawal {ids}',
  'transaction.withdrawal': 'the transaction of withdrawal {ids}',
  'payment.own': 'the payment to ourselves for {address}',
  'payment.withdrawal': 'withdrawal {ids}',

  'ask.address': 'its address is not in the address book',
  'ask.by_hand': 'every withdrawal is approved by hand',
  'ask.day': 'it is above what is left of the limit per 24 hours',
  'ask.each': 'it is above the limit per withdrawal',
  'ask.lookalike': 'its address begins and ends like another one that is known, and is approved by hand',
  'ask.no_rate': 'no rate is known that tells what it is worth',
  'ask.not_plain':
    'the policy approves only payments of a fixed amount: all that there is, and refunds, are approved by hand',
  'ask.refund': 'a refund of invoice {invoice}: every refund is approved by hand',
  'ask.typed': 'The payer typed the address of this refund, so it needs your approval',
  'ask.restored': 'this service was restored from a backup and waits for its operator',
  'coin.left': '{coin}, which its transaction spends, left the chain',
  'coin.spent': '{coin}, which its transaction spends, was spent by {tx}',
  'ended.canceled': 'canceled',
  'ended.conflict': 'conflict',
  'ended.elsewhere':
    'conflict: transaction {tx}, which another machine with this wallet made, used its coin or nonce. That machine may have paid this by a further transaction: compare before it is paid again',
  'ended.expired': 'expired',
  'ended.forward': 'the plan that forwarded it ended or was changed',
  'ended.rejected': 'rejected',
  'ended.rejected_why': 'rejected: {reason}',
  'ended.reverted': 'reverted',
  'ended.unsigned':
    'given up unsigned. A signed copy of it can still be sent, until a later payment from this account is confirmed, which spends a coin of it',
  'ended.unsigned_why':
    'given up unsigned: {reason}. A signed copy of it can still be sent, until a later payment from this account is confirmed, which spends a coin of it',
  'left.not_worth': 'it is worth less than its gas, lacks confirmations, or has no known price',
  'left.one_place': 'this empties one address. Collect the deposit addresses into the tank first, then take everything',
  'note.first_approved': 'You first approved a payment to the address of withdrawal {id} on {day}',
  'note.refund': 'Withdrawal {id} is a refund of invoice {invoice}',
  'note.refund_order': 'Withdrawal {id} is a refund of invoice {invoice}, order {order}',
  'note.refund_typed': 'The payer typed the address of withdrawal {id} on the refund link, at {time}',
  'wait.block': 'It waits for a confirmation: the coins for it are in transactions that are not in a block yet',
  'wait.coin_away': 'A coin is missing: {coin}. Speed it up to pay it with other coins, or cancel it',
  'wait.coin_lost':
    'A coin is missing: {coin}. It can never be paid by what was signed: it fails once that is {buried} blocks deep (now {depth}), unless it is replaced before',
  'wait.coin_stuck':
    'A coin is missing: {coin}. It is sent again when the coin is back, and fails once that is impossible. Nothing is reserved for it',
  'wait.collect': '{reason}. Collect the deposit addresses into the tank first, then take everything',
  'wait.collected': 'Its money is collected into the tank first',
  'wait.collected_but': 'Its money is collected into the tank first. {reason}',
  'wait.confirmations':
    'It waits for confirmations: money for it was moved to the address that pays it a few blocks ago, or came there',
  'wait.first_view': 'Nothing is signed before its chain was looked at since the start',
  'wait.locked': 'the wallet is locked',
  'wait.outside': 'its PSBT waits for the wallet that has the keys: download it, sign it there, and upload it',
  'wait.gone':
    'The wallet that has the keys sent it, and no node shows it any more. Send it from there once more, or upload its signed PSBT. Or make another PSBT, which takes its place: `countinghouse withdrawal speed-up NUMBER` or `countinghouse withdrawal cancel NUMBER`. At most one of all its transactions confirms',
  'wait.gone_newer':
    'The wallet that has the keys sent an earlier transaction of it, which no node shows any more. Its newest PSBT takes the place of that one: download it, sign it there, and upload it. At most one of all its transactions confirms',
  'wait.lost':
    'Only the machine that was lost had its signed transaction, and no node shows it any more. Pay it anew: `countinghouse withdrawal speed-up NUMBER --anew`. Or take its coins back: `countinghouse withdrawal cancel NUMBER --anew`. At most one of all its transactions confirms',
  'wait.machine_away':
    'the signing machine {machine} is not connected; it was last seen at {seen}. Once it is back, this goes on by itself',
  'wait.machine_never':
    'the signing machine {machine} is not connected, and has not been yet. Once it is, this goes on by itself',
  'wait.may_be_paid': 'it may have been paid after the backup: make sure that it was not before you approve it',
  'wait.needless': 'there was no reason for it any more',
  'wait.reserved':
    'Other withdrawals have reserved a part of the balance, and no coins are left that can be taken without it. It goes on once these are paid or rejected',
  'wait.reverted':
    'Its transaction failed: {tx} is in a block and paid its fee, and moved nothing. The withdrawal fails once that is {buried} blocks deep (now {depth})',
  'wait.unread':
    'A transaction that was made after the backup cannot be read, and may have paid a withdrawal: {reason}',
  'wait.unsynced': 'Payments after the backup are not known until the chain was looked at again',
  'warning.also_ends': 'Its coins pay more than this withdrawal. These end with it, unpaid: {ids}',
  'warning.dear_fee': 'The network fee of {amount} {asset} is worth more than 5 % of the amount',
  'warning.fee_lowered':
    'A fee of {held} was held for withdrawal {id}, more than may be approved: it is {most} at the most from now on',
  'warning.high_fee': 'The network fee is more than 5 % of the amount',
  'warning.left_behind': '{amount} {asset} stay on {count} other addresses, because {reason}',
  'warning.left_behind_one': '{amount} {asset} stay on 1 other address, because {reason}',
  'warning.link_restored':
    'The refund link of withdrawal {id} is older than the restore of this service: its payer may have got the refund after the backup already. See what the alerts say of unknown payments',
  'warning.lookalike': 'The address of withdrawal {id} begins and ends like {addresses}, and is another one',
  'warning.one_end':
    'The address of withdrawal {id} begins or ends like {addresses}, which may be chance: compare all of it',
  'warning.may_be_paid':
    'Withdrawal {id} may have been paid after the backup that this service was restored from, and not be on the chain yet',
  'warning.new_address': 'You have never approved a payment to the address of withdrawal {id} that was completed',
  'warning.over_refund': 'The refunds of invoice {invoice} are more than what it has received and is confirmed',
  'warning.own_address': 'The recipient is an address of this wallet: the money stays here, and costs its fee',
  'warning.refund_restored':
    'Withdrawal {id} refunds an invoice or a deposit of before the restore of this service: it may have been refunded after the backup already. See what the alerts say of unknown payments',
  'warning.unasked_address':
    'You have never approved a payment to the address of withdrawal {id} that was completed. {count} went out without asking you',
  'warning.uncovered':
    'The overpayment of invoice {invoice} is not all on the chain and confirmed: withdrawal {id} waits for it once it is approved',

  'advice.alert_list': 'countinghouse alert list',
  'advice.alert_list_why': '`countinghouse alert list`, and the log, say why',
  'advice.backup_folder': 'set [backup] folder: resources/docs/back-up.md',
  'advice.before_full': 'free some room before it is full',
  'advice.cancel': 'To give it up, cancel it',
  'advice.certificate_chain': 'renew it, or serve its whole chain',
  'advice.certificate_late': 'renew it, and see why that does not happen by itself',
  'advice.channel': 'set a way in [alerts], and try it: countinghouse alert test',
  'advice.disk_fails': 'Look at the log of the system for faults of the disk.',
  'advice.disk_full': 'Free some room on the disk of the data directory: the service then goes on by itself.',
  'advice.disk_log': 'free some room, or see the log of the system',
  'advice.disk_locked': 'Find the program that has the database open (`lsof` names it) and end it.',
  'advice.drill': 'open the newest: countinghouse backup verify FILE',
  'advice.earlier_under_way': 'The transaction that was sent before is still under way',
  'advice.give_up_bump': 'To have the deposit back, give it up: countinghouse withdrawal bump --give-up',
  'advice.journal':
    'plan a move: a second service with new words, to which you withdraw the money of this one before its record is full',
  'advice.later_wait': 'Later transactions of its sender wait for it',
  'advice.ledger': 'countinghouse ledger',
  'advice.listen': 'listen on 127.0.0.1, and put a web server before it',
  'advice.look': "see the other findings and the service's log",
  'advice.maintenance': 'free some room; `countinghouse maintenance` says what is stored',
  'advice.mounted': 'is its disk mounted?',
  'advice.nonce_used':
    'A block has another transaction with its nonce, so that nothing can replace or cancel it. It ends by itself once that transaction is found. If that takes long, add an endpoint of another operator that keeps the states of old blocks (an archive node) to `rpc`',
  'advice.pay_anew':
    'To pay it anew: countinghouse withdrawal speed-up {id} --anew. To take its coins back: countinghouse withdrawal cancel {id} --anew',
  'advice.proxies': 'see resources/docs/run-a-server.md',
  'advice.public_url': 'set public_url',
  'advice.restart_service': 'see that memory is free, and start the service again',
  'advice.rates': '`countinghouse rates`, and the log, say which sources answer',
  'advice.reclaim': 'To have its coins taken back by another transaction: countinghouse withdrawal cancel {id} --anew',
  'advice.releases': '`countinghouse releases`, and the log, say why',
  'advice.releases_by_hand': 'look yourself where you got this release whether there is a newer one',
  'advice.restore': 'countinghouse restore confirm, once the old machine is gone for ever',
  'advice.run': '{command}',
  'advice.set_clock': 'set it, and let it be kept: timedatectl set-ntp true',
  'advice.sign_anew':
    'To have it signed anew: countinghouse withdrawal speed-up {id}. To give it up: countinghouse withdrawal cancel {id}',
  'advice.signer': '`systemctl start countinghouse-signer`; its log says why it ended',
  'advice.sources': '`countinghouse source list` shows each server',
  'advice.blocks_only': 'start the node without -blocksonly',
  'advice.old_litecoin': 'bring the node up to the newest Litecoin Core',
  'advice.cost_limit':
    'if it is your own: COST_SOFT_LIMIT=0 and COST_HARD_LIMIT=0 in its settings, or a search of 100,000 addresses takes hours',
  'advice.tls': 'set up TLS: resources/proxies',
  'advice.unlock': 'countinghouse wallet unlock',
  'advice.upgrade': 'upgrade as resources/docs/run-a-server.md says',
  'advice.web_server': 'look at the web server before this service',
  'advice.withdrawals': 'countinghouse withdrawal list',

  'doctor.alerts_none': 'none is open',
  'doctor.alerts_open': 'open: {count}',
  'doctor.alerts_unheard': 'they reach nobody by themselves',
  'doctor.backup_last': 'the last one is of {at}',
  'doctor.backup_made': 'made on {at}, in {folder}',
  'doctor.backup_missing': 'there is none in {folder}',
  'doctor.backup_off': 'none is made by itself',
  'doctor.backup_unneeded': 'no real money is taken yet',
  'doctor.backup_unreadable': '{folder} cannot be read',
  'doctor.books_differ': 'the books of {chain} differ from the chain in {count} places, the first: {reason}',
  'doctor.address_thread':
    'since {at} addresses are derived in the event loop, where payers wait for them: their thread fails ({reason})',
  'doctor.books_never': 'last proved on no day',
  'doctor.books_old': 'last proved on {at}',
  'doctor.books_proved': 'proved on {at}, or since the start',
  'doctor.certificate': '{host}: {days} days left',
  'doctor.certificate_ends': 'the certificate of {host} ends in {days} days',
  'doctor.certificate_refused': 'browsers refuse the certificate of {host}: {reason}',
  'doctor.certificate_unreached': '{host} cannot be reached from here: {reason}',
  'doctor.clock_ahead': '{minutes} minutes ahead of those of the rate sources',
  'doctor.clock_alone': 'not compared: fewer than three rate sources have answered',
  'doctor.clock_behind': '{minutes} minutes behind those of the rate sources',
  'doctor.clock_right': 'agrees with those of the rate sources',
  'doctor.disk': '{megabytes} MB free',
  'doctor.disk_days': '{megabytes} MB free; at the growth of the last weeks it is full in {days} days',
  'doctor.disk_low': 'only {megabytes} MB free',
  'doctor.disk_years': '{megabytes} MB free, enough for more than five years at the growth of the last weeks',
  'doctor.disk_refuses': 'nothing can be stored: {reason}',
  'doctor.drill_at': 'the last was on {at}',
  'doctor.drill_never': 'no backup was ever opened',
  'doctor.failed': 'could not be looked at: {reason}',
  'doctor.journal':
    'the record of signatures has {megabytes} MB; from {most} MB on it takes none that needs no approval of yours: policies, forwarding and gas then wait for you',
  'doctor.journal_full':
    'the record of signatures has {megabytes} MB and takes none that needs no approval of yours; at {most} MB it takes none at all',
  'doctor.log': 'the write-ahead log {state}',
  'doctor.permissions': '{folder} is for its owner alone',
  'doctor.permissions_foreign': 'the service cannot read files of another user: {files}',
  'doctor.permissions_open': 'others may enter or read {files}',
  'doctor.port': 'the service listens on {host}, without TLS',
  'doctor.proxies':
    'public_url is {url} and no proxy is trusted: if a proxy stands before this service, all payers share one limit. Name it: trusted_proxies = ["127.0.0.1"]',
  'doctor.quarantine': 'the service is quarantined',
  'doctor.rates': 'there is no rate of {coins}',
  'doctor.release_future': 'the maker signed the notices of releases at {at}, which is yet to come by this clock',
  'doctor.release_newer': '{version} is out; this is {own}',
  'doctor.release_newest': '{own}; the notices of {at} name none that is newer',
  'doctor.release_no_key': '{own}; this package has no key of its maker, so notices of newer ones cannot be asked for',
  'doctor.release_old':
    'the newest notices of releases were signed at {at}: the maker is silent, or somebody keeps newer ones back',
  'doctor.release_soon': '{own}; notices of newer ones were not there yet',
  'doctor.release_unasked': '{own}; newer ones are not asked for (`countinghouse releases on` does, once a day)',
  'doctor.release_unreached': 'no notices of releases: {reason}',
  'doctor.signer_away': 'the separate signer does not answer, or is of another release',
  'doctor.sources': 'followed chains: {count}',
  'doctor.sources_sandbox': 'only the sandbox is connected',
  'doctor.source_bad': '{network} {chain}: {reason}',
  'doctor.source_unchecked':
    '{network} {chain}: servers of one operator alone answer, and nobody could contradict them if they left a payment out',
  'doctor.source_slowed': '{network} {chain}: {server} slows its answers down',
  'doctor.source_blocks_only':
    '{network} {chain}: the node runs with -blocksonly, so a payment is seen only once it is in a block',
  'doctor.source_old_litecoin':
    '{network} {chain}: the node is older than Litecoin Core 0.21.5.4 and may accept coins that a block invents, or be stopped by such a block',
  'doctor.url': '{url}',
  'doctor.url_open': '{url} has no TLS: anybody on the way can put in an address of their own',
  'doctor.url_unset': 'public_url is not set: payers elsewhere cannot reach the pages',
  'doctor.machine_away': 'on {machine}, which is not connected now; {count} approved withdrawals wait for it',
  'doctor.wallet_locked': 'locked',
  'doctor.wallet_needed': 'locked while {count} approved withdrawals wait',
  'doctor.wallet_none': 'there is none yet',
  'doctor.wallet_unlocked': 'unlocked',
  'doctor.withdrawals': '{count} wait for your approval',
} as const;

export const ALERT_KINDS = [
  'alert.undelivered',
  'backup.broken',
  'backup.failed',
  'backup.future',
  'backup.late',
  'browser.full',
  'chain.alert',
  'chain.away',
  'chain.finality',
  'chain.halted',
  'chain.past',
  'chain.unchecked',
  'chain.unvouched',
  'clock.wrong',
  'closing.unsent',
  'data.moved',
  'data.older',
  'endpoint.disabled',
  'forward.waits',
  'gas.halted',
  'gas.refused',
  'inbox.deposit',
  'invoice.undone',
  'ledger.corrected',
  'ledger.differs',
  'ledger.late',
  'ledger.unproved',
  'release.security',
  'restore.far',
  'restore.gap',
  'restore.hidden_recipient',
  'restore.unknown_spend',
  'source.dropped',
  'source.left_out',
  'storage.damaged',
  'storage.failing',
  'storage.full',
  'storage.locked',
  'storage.log',
  'storage.low',
  'webhook.failed',
  'source.unreadable',
  'withdrawal.coin_missing',
  'withdrawal.conflict',
  'withdrawal.lost',
  'withdrawal.not_sent',
  'withdrawal.refused',
  'withdrawal.reopened',
  'withdrawal.revived',
  'withdrawal.short',
  'withdrawal.unconfirmed',
  'withdrawal.undone',
  'withdrawal.unsigned',
  'withdrawal.waiting',
  'withdrawals.halted',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** The subjects of the doctor's findings. */
export const SUBJECTS = [
  'clock',
  'disk',
  'permissions',
  'proxies',
  'port',
  'addresses',
  'certificate',
  'sources',
  'rates',
  'backup',
  'drill',
  'books',
  'restore',
  'wallet',
  'withdrawals',
  'alerts',
  'release',
] as const;

export type MessageCode = keyof typeof MESSAGES;

/** A text that has no code, such as an error of another program, stands for itself. */
export type Value = string | number | Message;
type Values = { readonly [name: string]: Value };
/** A message of the service: a code, and the values that its sentence has. The sentence is made where it is shown (`textOf`). */
export type Message = {
  /** A `MessageCode`; of a rejection, its `RejectCode`; `words` of a text without a code. */
  readonly code: string;
  readonly values: Values;
};

/** The names of the values in a text. */
type Slot<T extends string> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Slot<Rest> : never;
type ValuesOf<C extends MessageCode> = { readonly [name in Slot<(typeof MESSAGES)[C]>]: Value };

/** Of a code without a sentence here: its English words, as whoever made them wrote them. */
const WORDS = 'text';

export function textOf(value: Value): string {
  if (typeof value !== 'object') return `${value}`;
  const { code, values } = value;
  const words = values[WORDS];
  if (words !== undefined) return textOf(words);
  const sentence = Object.hasOwn(MESSAGES, code) ? MESSAGES[code as MessageCode] : code;
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => textOf(values[name] ?? ''));
}

/**
 * An answer as scripts read it: each message is its English words, and beside them its code, in a field of the same name with `_code`
 * at its end. Of a list of messages the words alone.
 */
export function inEnglish(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((one) => (isMessage(one) ? textOf(one) : inEnglish(one)));
  if (typeof answer !== 'object' || answer === null) return answer;
  const fields = Object.entries(answer).flatMap(([name, value]) =>
    isMessage(value)
      ? [
          [name, textOf(value)],
          [`${name}_code`, value.code],
        ]
      : [[name, inEnglish(value)]],
  );
  return Object.fromEntries(fields);
}

const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && Object.keys(value).sort().join() === 'code,values';

export const textIn = (value: Value | null): string | null => (value === null ? null : textOf(value));

/** A text without a code as a message. */
const wordsOf = (text: string): Message => ({ code: 'words', values: { [WORDS]: text } });

/** Any value as a message, which is how it is stored. */
export const messageOf = (value: Value): Message => (typeof value === 'object' ? value : wordsOf(`${value}`));

/** Values that grow and shrink while the cause of a message stays the same. */
const MEASURES: ReadonlySet<string> = new Set([
  'days',
  'depth',
  'done',
  'due',
  'fee_allowed',
  'fee_now',
  'finalized',
  'height',
  'hours',
  'known',
  'megabytes',
  'minutes',
  WORDS,
  'times',
]);

/** The same for two texts about the same cause: the code, and the values that are no measures. */
export const causeOf = ({ code, values }: Message): string =>
  JSON.stringify([code, Object.entries(values).flatMap(([name, value]) => causeIn(name, value))]);

function causeIn(name: string, value: Value): string[] {
  if (MEASURES.has(name)) return [];
  return [name, typeof value === 'object' ? causeOf(value) : `${value}`];
}

export type ValuesFor<C extends MessageCode> = Slot<(typeof MESSAGES)[C]> extends never ? [] : [ValuesOf<C>];

export function message<C extends MessageCode>(code: C, ...[values]: ValuesFor<C>): Message {
  return { code, values: values ?? {} };
}

/** An error as the value of a message: a rejection keeps its code. */
export function reasonOf(error: unknown): Value {
  if (error instanceof Rejected) return { code: error.code, values: { [WORDS]: error.message } };
  return error instanceof Error ? error.message : String(error);
}
