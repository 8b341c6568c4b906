/** The service's messages in German, by their code. The English ones are the service's own: `daemon/domain/messages.ts`. */
import type { MessageCode } from '../../daemon/domain/messages.ts';

export const MESSAGES_DE: { readonly [code in MessageCode]: string } = {
  'alert.undelivered': 'Meldungen kommen über {channel} nicht an: {reason}. `countinghouse alert test` probiert es aus',
  'backup.broken':
    'In {folder} gibt es Dateien mit Namen von Sicherungen, die unvollständig oder keine sind: {count} (etwa {file}). Sehen Sie nach, woher sie kommen, und entfernen Sie sie von Hand',
  'backup.failed': 'Die geplante Sicherung nach {folder} ist fehlgeschlagen: {reason}',
  'backup.future':
    'In {folder} gibt es Sicherungen, die später als jetzt gemacht sein wollen: {count} (etwa {file}). Die Uhr dieses Computers geht oder ging falsch. Sie bleiben neben den neuesten liegen: Entfernen Sie sie von Hand',
  'backup.late':
    'Seit {done} wurde keine geplante Sicherung mehr gemacht; die nächste war am {due} fällig. Das Protokoll sagt, warum',
  'browser.full':
    '{business}: {client} hat so viele offene Rechnungen wie erlaubt (browser.open_invoices_max = {limit}), und alle Kurse gelten noch: Browser können nicht zahlen',
  'chain.alert': '{reason}',
  'chain.away':
    '{chain} ist seit {minutes} Minuten nicht erreichbar und wird Kunden nicht angeboten: {reason}. Siehe `countinghouse source list`',
  'chain.behind': 'Die Quelle ist im Rückstand',
  'chain.finality':
    'Kein Block von {chain} wird endgültig: Der neueste endgültige ist {finalized}, der neueste {height}. Zahlungen, die nur in einem endgültigen Block zählen, warten ohne Ende und zählen von selbst, sobald es weitergeht. Vergleichen Sie mit einem Block-Explorer: Ein Endpunkt, der stillsteht, hat dieselbe Wirkung',
  'chain.unchecked':
    'Seit {minutes} Minuten melden nur Server eines einzigen Betreibers etwas über {chain}, obwohl die von {named} Betreibern eingetragen sind: Niemand könnte ihnen widersprechen, wenn sie eine Zahlung verschwiegen. Zahlungen werden gesehen; Fristen und große Zahlungen warten auf einen zweiten Betreiber. Siehe `countinghouse source list`',
  'chain.unvouched':
    '{count} unbezahlte Rechnungen in {chain} sind {hours} Stunden nach ihrer Frist noch offen, weil keine zwei Server verschiedener Betreiber zeigen, ob sie bezahlt wurden. Sehen Sie nach den Servern von {chain}, und fügen Sie einen eines anderen Betreibers hinzu, wenn zu wenige antworten',
  'chain.halted': '{chain} wurde durch einen Programmfehler angehalten: {reason}',
  'chain.past': 'Die Vergangenheit einer Wallet kann nicht gelesen werden: {reason}',
  'clock.ahead':
    'Die Uhr dieses Computers geht {minutes} Minuten vor: Kurse und Fristen richten sich nach ihr. Stellen Sie sie: timedatectl set-ntp true',
  'clock.behind':
    'Die Uhr dieses Computers geht {minutes} Minuten nach: Kurse und Fristen richten sich nach ihr. Stellen Sie sie: timedatectl set-ntp true',
  'clock.behind_blocks':
    'Die Uhr dieses Computers geht nach: Die neuesten Blöcke sind von {known}. Kurse und Fristen richten sich nach ihr, und neue Rechnungen warten, solange sie mehr als 12 Stunden nachgeht. Stellen Sie sie: timedatectl set-ntp true',
  'clock.behind_books':
    'Die Uhr dieses Computers geht nach: Dieser Dienst hat schon am {known} etwas gespeichert. Kurse und Fristen richten sich nach ihr, und neue Rechnungen warten, solange sie mehr als 12 Stunden nachgeht. Stellen Sie sie: timedatectl set-ntp true. Geht sie jetzt richtig und ging sie vorher vor, markieren Sie diese Meldung als gesehen: Dann warten sie nicht mehr',
  'clock.behind_program':
    'Die Uhr dieses Computers zeigt eine Zeit, zu der es dieses Programm noch nicht gab. Kurse und Fristen richten sich nach ihr, und neue Rechnungen warten. Stellen Sie sie: timedatectl set-ntp true',
  'closing.unsent':
    '{business}: Die E-Mail über den Tagesabschluss {number} an {recipients} wurde nicht gesendet: {reason}',
  'data.moved':
    'Diese Daten wurden nach {folder} kopiert oder verschoben. Läuft der Dienst noch, von dem sie stammen, beenden Sie einen der beiden: Zwei Dienste mit einer Wallet geben dieselben Adressen aus',
  'data.older':
    '{reason}. Diese Daten sind also älter als das, was geschehen ist, oder ein anderer Rechner hat dieselbe Wallet. Nichts wird signiert und keine Adresse ausgegeben, bis Sie bestätigen. Beenden Sie jede andere Kopie, sehen Sie die Auszahlungen durch, und dann: countinghouse restore confirm',
  'endpoint.disabled':
    '{business}: Die Adresse für Ereignisse {id} ({url}) wurde abgeschaltet: {reason}. Sobald sie wieder geht: countinghouse endpoint enable {id}',
  'endpoint.gone': 'Sie antwortete 410 Gone',
  'endpoint.silent': 'Drei Tage lang kam nichts an',
  'forward.waits': '{business}: Die Einnahmen in {asset} werden nicht weitergeleitet: {reason}',
  'forward.dear':
    'Die Netzwerkgebühr von {fee_now} {coin} liegt über den {fee_allowed} {coin}, die der Plan jetzt zulässt',
  'forward.cheap': 'Er wartet auf eine Stunde, in der Gas günstig ist, längstens bis {until}',
  'forward.gas':
    'Seine Adressen hätten in 24 Stunden {given} {coin} an Gas bekommen, mehr als die {allowed} {coin}, die der Plan erlaubt',
  'forward.gas_sent': 'Gas ist zu seinen Adressen unterwegs, die danach weiterleiten',
  'forward.address': '{address} steht nicht mehr im Adressbuch',
  'gas.cost_reached': 'Seine höchsten Kosten sind erreicht',
  'gas.dear': 'Gas ist teurer, als der Plan erlaubt',
  'gas.halted':
    'Eine Zahlung zwischen eigenen Adressen ist in der Blockchain fehlgeschlagen: {address}, in Transaktion {tx}. Sie hat nichts bewegt, und ihre Gebühr ist bezahlt. Damit nicht noch mehr Gebühren verloren gehen, beginnt der Plan für {chain} nichts mehr, bis Sie ihn weiterlaufen lassen: `countinghouse gas resume {business} {chain}`',
  'gas.no_price': 'Kein Endpunkt nennt den Gaspreis',
  'gas.refused': '{asset} auf {address} kann nicht eingesammelt werden: {reason}',
  'gas.restored': 'Eine Wiederherstellung beendet jede Erlaubnis für Gas: Genehmigen Sie einen neuen Plan',
  'gas.stopped':
    'Eine seiner Transaktionen ist auf der Blockchain gescheitert: Lassen Sie ihn weiterlaufen, wenn Sie wissen, warum',
  'gas.tank_short': 'Dem Tank fehlen {amount} {asset} für Gas: Senden Sie sie an {address}',
  'inbox.deposit':
    '{business}: Eine Zahlung von {amount} {asset} zählt für keine Rechnung und wartet auf Sie. Zählen, erstatten oder behalten Sie sie: in der Konsole unter Eingang, oder mit `countinghouse inbox list`',
  'inbox.deposits':
    '{business}: Zahlungen, die für keine Rechnung zählen und auf Sie warten: {count}, zusammen {amount} {asset}. Zählen, erstatten oder behalten Sie jede: in der Konsole unter Eingang, oder mit `countinghouse inbox list`',
  'inbox.deposits_many':
    '{business}: Zahlungen, die für keine Rechnung zählen und auf Sie warten: mehr als {count} ({assets}). Zählen, erstatten oder behalten Sie jede: in der Konsole unter Eingang, oder mit `countinghouse inbox list`',
  'inbox.deposits_mixed':
    '{business}: Zahlungen, die für keine Rechnung zählen und auf Sie warten: {count} ({assets}). Zählen, erstatten oder behalten Sie jede: in der Konsole unter Eingang, oder mit `countinghouse inbox list`',
  'invoice.undone':
    'Eine Reorganisation der Blockchain hat die Zahlung der Rechnung {invoice} aufgehoben, die schon bezahlt war',
  'links.full':
    '{business}: Die Zahlungslinks haben so viele offene Rechnungen wie erlaubt (browser.open_invoices_max = {limit}), und alle Kurse gelten noch: Über einen Link kann sonst niemand zahlen',
  'ledger.corrected':
    '{chain}: {count} Einträge, die kein Betreiber eines Endpunkts auf der Blockchain hat, wurden geändert oder aus den Büchern genommen, etwa {entry} ({amount} {asset}). Ein Endpunkt hat sie erfunden. `countinghouse ledger` führt sie auf',
  'ledger.differs': '{chain} bei Block {height}: {reason}',
  'ledger.differs_adopt':
    '{found}. Zwei Betreiber sind sich über {count} dieser Bestände einig. Finden Sie heraus, warum die Bücher abweichen; danach übernimmt dies die Bestände: {command}',
  'ledger.differs_more': '{chain} bei Block {height}: {reason} und {count} weitere, die `countinghouse ledger` zeigt',
  'ledger.differs_missed':
    '{found}. Hat ein anderes Programm mit denselben Wörtern es empfangen, findet es dieser Befehl: {command}',
  'ledger.late':
    'Seit {done} wurden die Bücher nicht mehr geprüft; die nächste nächtliche Prüfung war am {due} fällig. Das Protokoll sagt, warum',
  'ledger.unproved': 'Die Bücher von {chain} konnten nicht geprüft werden: {reason}',
  'ledger.unreviewed':
    'Seit einem Tag hat kein Server von {chain} beantwortet, was die nächtliche Durchsicht zu älteren Einträgen der Bücher fragt: {reason}. Sie geht weiter, sobald einer es tut. Wenn es keiner tun wird, fügen Sie `rpc` einen Endpunkt eines anderen Betreibers hinzu',
  'mail.ended': 'Der Dienst endete beim Senden. Die Nachricht kann angekommen sein',
  'mail.failed': '{server} meldet einen Fehler ({reason})',
  'mail.host': '{server} hat keine Adresse',
  'mail.late': '{server} hat nicht rechtzeitig geantwortet',
  'mail.login': '{server} hat die Anmeldung abgelehnt',
  'mail.maybe': '{server} hat nicht gesagt, ob die Nachricht angenommen ist. Sie kann angekommen sein',
  'mail.message': '{server} hat die Nachricht abgelehnt',
  'mail.off': 'Es ist kein Server für E-Mail mehr eingestellt: [alerts] smtp',
  'mail.old': 'Der Dienst lief einen Tag lang nicht',
  'mail.people': '{server} hat den Absender oder einen Empfänger abgelehnt',
  'mail.restored':
    'Die Daten kamen aus einer Sicherung, während die Nachricht wartete. Sie kann vorher angekommen sein',
  'mail.tls': '{server} bietet kein gültiges TLS',
  'mail.unreached': '{server} ist nicht erreichbar',
  'older.address': 'An die Adresse {address} ({chain}) wurde gezahlt, und die Datenbank hat sie nie ausgegeben',
  'older.backup': 'Eine Sicherung stammt von {made}, und die Datenbank endet bei {end}',
  'older.database': 'Die Datenbank ist eine frühere als die des letzten Laufs',
  'older.journal': 'Der Signierer hat {count} Signaturen gemacht, von denen die Datenbank nichts weiß',
  'older.spend': 'Die Transaktion {tx} ({chain}) gibt Geld dieser Wallet aus, und dieser Dienst hat sie nicht gemacht',
  'release.security':
    '{version} ist eine Sicherheitsversion, und diese ist {own}. {reason} Steigen Sie um: Von selbst wird nichts installiert',
  'restore.far':
    'Wiederherstellungen haben diese Wallet {jumps}-mal weitergerückt. Schreiben Sie diese Zahl neben ihre Wörter: Ohne eine Zahlung dazwischen findet restore words das Geld nur mit --restores {jumps}',
  'restore.gap':
    '{business}: {count} Adressen von {chain} in Folge wurden vergeben und nicht bezahlt. Schreiben Sie die Zahl {gap} neben die Wörter dieser Wallet: Aus den Wörtern allein findet restore words späteres Geld nur mit --gap {gap}. Fragen Fremde nach Adressen, ohne zu bezahlen, senken Sie browser.open_invoices_max',
  'restore.hidden_recipient':
    'Die Transaktion {tx} wurde nach der Sicherung gemacht. Sie zahlte genau den Betrag der Auszahlung {ids} und gilt als diese. Die Blockchain zeigt nicht, an wen: Fragen Sie den Empfänger, und zahlen Sie mit einer neuen Auszahlung, wenn nichts ankam',
  'restore.foreign_kind':
    'Die Transaktion {tx} hat Geld von uns genommen, ist von einer Art, die dieses Programm nicht macht, und die Sicherung kennt sie nicht. Ein anderes Programm hat diese Wallet, oder jemand anderes hat die Schlüssel',
  'restore.unknown_spend':
    'Die Transaktion {tx} gibt Geld von uns aus, und die Sicherung kennt sie nicht. Sie wurde nach der Sicherung gemacht, oder eine andere Kopie dieser Wallet läuft, oder jemand anderes hat die Schlüssel',
  'restore.unknown_spend_and':
    'Die Transaktion {tx} gibt Geld von uns aus, und die Sicherung kennt sie nicht. {also} Sie wurde nach der Sicherung gemacht, oder eine andere Kopie dieser Wallet läuft, oder jemand anderes hat die Schlüssel',
  'restore.paid_elsewhere':
    'Die Transaktion {tx}, die eine andere Maschine mit dieser Wallet gemacht hat, zahlte genau den Betrag der Auszahlung {ids} an ihren Empfänger und gilt als diese. Die hier signierte Zahlung kann nie mehr bestätigt werden, weil jene Maschine die Münze oder Nonce für etwas anderes verbraucht hat. Vergleichen Sie mit jener Maschine, bevor Sie noch einmal zahlen, und lassen Sie nur eine der beiden laufen',
  'restore.paid_twice':
    'Die Transaktionen {tx} und {other} zahlten beide die Auszahlung {id}: Diese Maschine und eine andere mit dieser Wallet haben sie gemacht. Bitten Sie den Empfänger, eine zurückzugeben, und lassen Sie nur eine der beiden Maschinen laufen',
  'restore.also_failed':
    'Sie zahlt so viel wie die fehlgeschlagene Auszahlung {ids}, und an deren Empfänger: Vergleichen Sie, bevor Sie diese noch einmal zahlen.',
  'restore.also_others': 'Sie zahlt die Auszahlung {ids} und an jemand anderen.',
  'restore.also_unclear':
    'Sie hat einige der Auszahlungen {ids} gezahlt, und die Blockchain zeigt nicht, welche: Fragen Sie die Empfänger, bevor Sie eine genehmigen, und lehnen Sie ab, was gezahlt ist.',
  'source.dropped': '{server}: {reason}',
  'source.left_out': 'Zahlungen an {address} werden nicht gesehen und zählen nicht: {reason}',
  'storage.damaged':
    '{reason}. Sehen Sie den Datenträger und das Protokoll des Systems an, behalten Sie dieses Datenverzeichnis, und stellen Sie die neueste Sicherung in einem neuen wieder her',
  'source.unreadable':
    'Die Transaktion {tx} in Block {height} von {chain} kann dieses Programm nicht lesen ({reason}). Falls sie an Sie zahlt, zeigt das hier nichts. Installieren Sie eine neuere Version und lassen Sie dann die Blöcke neu lesen: `countinghouse source rescan {chain} --network {network}`',
  'storage.trouble':
    'Nichts kann gespeichert werden: {reason}. Zahlungen werden nicht gesehen und Auszahlungen nicht gemacht. {advice}',
  'storage.low': 'Auf dem Datenträger der Daten sind noch {megabytes} MB frei: Schaffen Sie Platz, bevor er voll ist',
  'storage.log': 'Das Protokoll der Datenbank {state}. {advice}',
  'webhook.failed':
    '{business}: Die Nachricht über die Rechnung {invoice} an {host} ist fehlgeschlagen: {reason}. Sie wird nicht von selbst wiederholt: countinghouse webhook resend {id}',
  'webhook.failed_more':
    '{business}: Seit der ersten sind {times} Benachrichtigungen an {host} fehlgeschlagen: {reason}. Keine wird von selbst noch einmal gesendet: `countinghouse webhook list` zeigt sie',
  'webhook.status': 'Er antwortete {status}',
  'withdrawal.coin_missing': 'Auszahlung {id}. {reason}',
  'withdrawal.conflict':
    'Die Transaktion {tx}, die diese Wallet nicht gemacht hat, benutzt einen Coin oder eine Nonce für {payment}: Jemand anderes hat die Schlüssel, oder eine andere Kopie dieser Wallet läuft',
  'withdrawal.lost':
    'Die Auszahlung {id} war abgeschlossen, und eine andere Transaktion hat sie endgültig verdrängt: Der Empfänger hat nichts bekommen',
  'withdrawal.not_sent':
    'Der Knoten des Netzes nimmt {transaction} nicht an: {reason}. Sie wird wieder angeboten. {advice}',
  'withdrawal.refused': 'Der Signierer hat die Auszahlung {ids} abgelehnt: {reason}',
  'withdrawal.reopened':
    'Eine tiefe Reorganisation der Blockchain hat das Scheitern der Auszahlung {id} aufgehoben: Sie kann noch gezahlt werden. Zahlen Sie nicht auf anderem Weg, bevor sie abgebrochen oder wieder gescheitert ist',
  'withdrawal.revived':
    'Die Auszahlung {id} galt als gescheitert und wurde doch noch gezahlt: Zahlen Sie sie nicht auf anderem Weg',
  'withdrawal.short':
    'Auszahlung {id}: Der Token hat {amount} {asset} davon als eigene Gebühr behalten. Der Empfänger hat um so viel weniger bekommen',
  'withdrawal.unconfirmed':
    '{business}: Die Auszahlung {id} wurde vor einem Tag gesendet und ist in keinem Block. Ist ihre Gebühr zu niedrig? `countinghouse withdrawal speed-up {id}`',
  'withdrawal.unconfirmed_final':
    '{business}: Die Auszahlung {id} wurde vor einem Tag gesendet und ist in keinem Block. Auf {chain} kann keine mit höherer Gebühr an ihre Stelle treten, und sie wird weiter gesendet. Kennen die Server sie? `countinghouse source list`',
  'withdrawal.undone':
    'Eine Reorganisation der Blockchain hat die Zahlung der Auszahlung {id} aufgehoben: Sie wird erneut gesendet',
  'withdrawal.unsigned':
    '{business}: Die Auszahlung {id} ist genehmigt und nicht signiert. Ist die Wallet gesperrt? `countinghouse wallet status`',
  'withdrawal.unsigned_more':
    '{business}: Auszahlungen von {id} bis {newest} sind freigegeben und nicht unterschrieben. Ist die Wallet gesperrt? `countinghouse wallet status`',
  'withdrawal.unsigned_why':
    '{business}: Die Auszahlung {id} ist freigegeben, und ihre Transaktion kann nicht gemacht werden: {reason}',
  'withdrawal.unsigned_more_why':
    '{business}: Auszahlungen von {id} bis {newest} sind freigegeben und nicht unterschrieben. Die Transaktion von {id} kann nicht gemacht werden: {reason}',
  'withdrawal.waiting': '{business}: Die Auszahlung {id} wartet auf Sie. `countinghouse withdrawal list` zeigt sie',
  'withdrawal.waiting_more':
    '{business}: Auszahlungen warten auf Sie, von {id} bis {newest}. `countinghouse withdrawal list` zeigt sie',
  'withdrawal.waits': 'Die Auszahlung {id} wartet. {reason}',
  'withdrawals.halted': 'Die Auszahlungen von {chain} wurden durch einen Programmfehler angehalten: {reason}',

  'log.grown': 'ist auf {megabytes} MB gewachsen',
  'log.grown_stuck': 'ist auf {megabytes} MB gewachsen und konnte {hours} Stunden lang nicht neu begonnen werden',
  'log.unfolded': '{grown}: Es kann nicht in die Datenbank übernommen werden ({reason})',
  'log.read': '{grown}: Ein Programm liest die Datenbank ohne Ende',
  'transaction.bump': 'die Transaktion, die für die Einzahlung {deposit} zahlt,',
  'transaction.cancel': 'den Abbruch der Auszahlung {ids}',
  'transaction.collect': 'die Transaktion, die das Geld von {address} einsammelt,',
  'transaction.fund': 'die Transaktion, die Gas an {address} schickt,',
  'transaction.replacement': 'den Ersatz für die Auszahlung {ids}',
  'transaction.withdrawal': 'die Transaktion der Auszahlung {ids}',
  'payment.own': 'die Zahlung an uns selbst für {address}',
  'payment.withdrawal': 'die Auszahlung {ids}',

  'ask.address': 'Ihre Adresse steht nicht im Adressbuch',
  'ask.by_hand': 'Jede Auszahlung wird von Hand genehmigt',
  'ask.day': 'Sie übersteigt, was von der Grenze für 24 Stunden übrig ist',
  'ask.each': 'Sie übersteigt die Grenze für eine Auszahlung',
  'ask.lookalike': 'Ihre Adresse beginnt und endet wie eine andere bekannte und wird von Hand genehmigt',
  'ask.no_rate': 'Kein Kurs ist bekannt, der ihren Wert nennt',
  'ask.not_plain':
    'Die Regel genehmigt nur Zahlungen mit festem Betrag: Was alles auszahlt oder erstattet, wird von Hand genehmigt',
  'ask.refund': 'Eine Erstattung der Rechnung {invoice}: Jede Erstattung wird von Hand genehmigt',
  'ask.typed': 'Der Zahler hat die Adresse dieser Erstattung eingegeben, darum braucht sie Ihre Genehmigung',
  'ask.restored': 'Dieser Dienst wurde aus einer Sicherung wiederhergestellt und wartet auf seinen Betreiber',
  'coin.left': '{coin}, den ihre Transaktion ausgibt, ist nicht mehr in der Blockchain',
  'coin.spent': '{coin}, den ihre Transaktion ausgibt, hat {tx} ausgegeben',
  'ended.canceled': 'Sie wurde abgebrochen.',
  'ended.conflict': 'Eine andere Transaktion hat ihr Geld ausgegeben, oder es ist nicht mehr in der Blockchain.',
  'ended.elsewhere':
    'Die Transaktion {tx}, die eine andere Maschine mit dieser Wallet gemacht hat, hat ihre Münze oder Nonce verbraucht. Vielleicht hat jene Maschine sie mit einer weiteren gezahlt: Vergleichen Sie, bevor sie noch einmal gezahlt wird.',
  'ended.expired': 'Ihre Frist ist abgelaufen.',
  'ended.forward': 'Der Plan, der sie weiterleitete, wurde beendet oder geändert.',
  'ended.rejected': 'Sie wurde abgelehnt.',
  'ended.rejected_why': 'Sie wurde abgelehnt: {reason}.',
  'ended.reverted': 'Ihre Transaktion ist fehlgeschlagen.',
  'ended.unsigned':
    'Sie wurde ohne Unterschrift aufgegeben. Eine unterschriebene Kopie kann noch gesendet werden, bis eine spätere Zahlung von diesem Konto bestätigt ist, die einen Coin davon ausgibt.',
  'ended.unsigned_why':
    'Sie wurde ohne Unterschrift aufgegeben: {reason}. Eine unterschriebene Kopie kann noch gesendet werden, bis eine spätere Zahlung von diesem Konto bestätigt ist, die einen Coin davon ausgibt.',
  'left.not_worth': 'es weniger wert ist als sein Gas, noch nicht bestätigt ist oder keinen bekannten Preis hat',
  'left.one_place':
    'dies eine Adresse leert. Sammeln Sie zuerst die Adressen in den Tank ein, und zahlen Sie dann alles aus',
  'note.first_approved': 'Eine Zahlung an die Adresse der Auszahlung {id} haben Sie zuerst am {day} genehmigt',
  'note.refund': 'Auszahlung {id} erstattet die Rechnung {invoice}',
  'note.refund_order': 'Auszahlung {id} erstattet die Rechnung {invoice}, Bestellung {order}',
  'note.refund_typed': 'Der Zahler hat die Adresse der Auszahlung {id} über den Erstattungslink eingegeben, am {time}',
  'wait.block': 'Sie wartet auf eine Bestätigung: Die Coins dafür sind in Transaktionen, die noch in keinem Block sind',
  'wait.coin_away':
    'Ein Coin fehlt: {coin}. Beschleunigen Sie die Auszahlung, damit andere Coins sie bezahlen, oder brechen Sie sie ab',
  'wait.coin_lost':
    'Ein Coin fehlt: {coin}. Mit dem, was signiert ist, kann sie nie gezahlt werden: Sie scheitert, sobald das {buried} Blöcke tief ist (jetzt {depth}), wenn sie vorher nicht ersetzt wird',
  'wait.coin_stuck':
    'Ein Coin fehlt: {coin}. Sie wird wieder gesendet, wenn der Coin zurück ist, und scheitert, sobald das unmöglich ist. Für sie ist nichts zurückgelegt',
  'wait.collect': '{reason}. Sammeln Sie zuerst die Adressen in den Tank ein, und zahlen Sie dann alles aus',
  'wait.collected': 'Ihr Geld wird zuerst in den Tank eingesammelt',
  'wait.collected_but': 'Ihr Geld wird zuerst in den Tank eingesammelt. {reason}',
  'wait.confirmations':
    'Sie wartet auf Bestätigungen: Geld dafür kam erst vor wenigen Blöcken an die Adresse, die sie zahlt',
  'wait.first_view': 'Nichts wird signiert, bevor seine Blockchain seit dem Start gelesen wurde',
  'wait.locked': 'Die Wallet ist gesperrt',
  'wait.outside':
    'Ihre PSBT wartet auf die Wallet, die die Schlüssel hat: Laden Sie sie herunter, unterschreiben Sie sie dort, und laden Sie sie hoch',
  'wait.gone':
    'Die Wallet, die die Schlüssel hat, hat sie gesendet, und kein Knoten zeigt sie mehr. Senden Sie sie dort noch einmal, oder laden Sie ihre unterschriebene PSBT hoch. Oder machen Sie eine andere PSBT, die an ihre Stelle tritt: `countinghouse withdrawal speed-up NUMMER` oder `countinghouse withdrawal cancel NUMMER`. Von all ihren Transaktionen wird höchstens eine bestätigt',
  'wait.gone_newer':
    'Die Wallet, die die Schlüssel hat, hat eine frühere Transaktion dafür gesendet, die kein Knoten mehr zeigt. Die neueste PSBT tritt an deren Stelle: Laden Sie sie herunter, unterschreiben Sie sie dort, und laden Sie sie hoch. Von all ihren Transaktionen wird höchstens eine bestätigt',
  'wait.lost':
    'Nur der verlorene Rechner hatte ihre signierte Transaktion, und kein Knoten zeigt sie mehr. Um sie neu zu zahlen: `countinghouse withdrawal speed-up NUMMER --anew`. Um ihre Coins zurückzuholen: `countinghouse withdrawal cancel NUMMER --anew`. Von all ihren Transaktionen wird höchstens eine bestätigt',
  'wait.machine_away':
    'Der Rechner {machine}, der unterschreibt, ist nicht verbunden; zuletzt gesehen am {seen}. Ist er zurück, geht es von selbst weiter',
  'wait.machine_never':
    'Der Rechner {machine}, der unterschreibt, ist nicht verbunden und war es noch nie. Ist er es, geht es von selbst weiter',
  'wait.may_be_paid':
    'Sie kann nach der Sicherung bezahlt worden sein: Vergewissern Sie sich, dass das nicht so ist, bevor Sie sie genehmigen',
  'wait.needless': 'Es gab keinen Grund mehr dafür',
  'wait.reserved':
    'Andere Auszahlungen haben einen Teil des Guthabens reserviert, und ohne ihn bleiben keine Coins übrig. Es geht weiter, sobald diese bezahlt oder abgelehnt sind',
  'wait.reverted':
    'Ihre Transaktion ist fehlgeschlagen: {tx} ist in einem Block, hat ihre Gebühr gezahlt und nichts bewegt. Die Auszahlung scheitert, sobald das {buried} Blöcke tief ist (jetzt {depth})',
  'wait.unread':
    'Eine Transaktion, die nach der Sicherung gemacht wurde, ist nicht lesbar und kann eine Auszahlung bezahlt haben: {reason}',
  'wait.unsynced': 'Zahlungen nach der Sicherung sind erst bekannt, wenn die Blockchain wieder gelesen wurde',
  'warning.also_ends': 'Ihre Coins bezahlen mehr als diese Auszahlung. Mit ihr enden unbezahlt: {ids}',
  'warning.dear_fee': 'Die Netzgebühr von {amount} {asset} ist mehr wert als 5 % des Betrags',
  'warning.fee_lowered':
    'Für Auszahlung {id} war eine Gebühr von {held} zurückgelegt, mehr als genehmigt werden darf: Von jetzt an sind es höchstens {most}',
  'warning.high_fee': 'Die Netzgebühr ist mehr als 5 % des Betrags',
  'warning.left_behind': '{amount} {asset} bleiben auf {count} anderen Adressen, weil {reason}',
  'warning.left_behind_one': '{amount} {asset} bleiben auf 1 anderen Adresse, weil {reason}',
  'warning.link_restored':
    'Der Erstattungslink der Auszahlung {id} ist älter als die Wiederherstellung dieses Dienstes: Der Zahler kann die Erstattung nach der Sicherung schon bekommen haben. Sehen Sie nach, was die Meldungen über unbekannte Zahlungen sagen',
  'warning.lookalike': 'Die Adresse der Auszahlung {id} beginnt und endet wie {addresses} und ist eine andere',
  'warning.one_end':
    'Die Adresse der Auszahlung {id} beginnt oder endet wie {addresses}, was Zufall sein kann: Vergleichen Sie sie ganz',
  'warning.may_be_paid':
    'Auszahlung {id} kann nach der Sicherung, aus der dieser Dienst wiederhergestellt wurde, bezahlt worden sein, ohne schon in der Blockchain zu stehen',
  'warning.new_address': 'Sie haben noch keine abgeschlossene Zahlung an die Adresse der Auszahlung {id} genehmigt',
  'warning.over_refund':
    'Die Erstattungen der Rechnung {invoice} sind höher als das, was sie bekommen hat und bestätigt ist',
  'warning.own_address': 'Der Empfänger ist eine Adresse dieser Wallet: Das Geld bleibt hier und kostet seine Gebühr',
  'warning.refund_restored':
    'Auszahlung {id} erstattet eine Rechnung oder Einzahlung aus der Zeit vor der Wiederherstellung dieses Dienstes: Sie kann nach der Sicherung schon erstattet worden sein. Sehen Sie nach, was die Meldungen über unbekannte Zahlungen sagen',
  'warning.unasked_address':
    'Sie haben noch keine abgeschlossene Zahlung an die Adresse der Auszahlung {id} genehmigt. {count} gingen ohne Rückfrage hinaus',
  'warning.uncovered':
    'Die Überzahlung der Rechnung {invoice} ist nicht ganz in der Blockchain und bestätigt: Auszahlung {id} wartet nach der Genehmigung darauf',
  'advice.alert_list': 'countinghouse alert list',
  'advice.alert_list_why': '`countinghouse alert list` und das Protokoll sagen, warum',
  'advice.backup_folder': 'Setzen Sie [backup] folder: resources/docs/back-up.md',
  'advice.before_full': 'Schaffen Sie Platz, bevor er voll ist',
  'advice.cancel': 'Wenn Sie sie aufgeben wollen, brechen Sie sie ab',
  'advice.certificate_chain': 'Erneuern Sie es, oder liefern Sie die ganze Kette aus',
  'advice.certificate_late': 'Erneuern Sie es, und sehen Sie nach, warum das nicht von selbst geschieht',
  'advice.channel': 'Stellen Sie in [alerts] einen Weg ein, und probieren Sie ihn aus: countinghouse alert test',
  'advice.disk_fails': 'Sehen Sie im Protokoll des Systems nach Fehlern des Datenträgers.',
  'advice.disk_full': 'Schaffen Sie Platz auf dem Datenträger der Daten: Danach geht es von selbst weiter.',
  'advice.disk_log': 'Schaffen Sie Platz, oder sehen Sie in das Protokoll des Systems',
  'advice.disk_locked':
    'Suchen Sie das Programm, das die Datenbank geöffnet hat (`lsof` nennt es), und beenden Sie es.',
  'advice.drill': 'Öffnen Sie die neueste: countinghouse backup verify DATEI',
  'advice.earlier_under_way': 'Die Transaktion, die vorher gesendet wurde, ist noch unterwegs',
  'advice.give_up_bump': 'Um die Einzahlung zurückzuhaben, geben Sie es auf: countinghouse withdrawal bump --give-up',
  'advice.journal':
    'Planen Sie einen Umzug: ein zweiter Dienst mit neuen Wörtern, an den Sie das Geld von hier auszahlen, ehe das Verzeichnis voll ist',
  'advice.later_wait': 'Spätere Transaktionen des Absenders warten auf sie',
  'advice.ledger': 'countinghouse ledger',
  'advice.listen': 'Hören Sie auf 127.0.0.1, und stellen Sie einen Webserver davor',
  'advice.look': 'Sehen Sie die anderen Befunde und das Protokoll des Dienstes an',
  'advice.maintenance': 'Schaffen Sie Platz; `countinghouse maintenance` sagt, was gespeichert ist',
  'advice.mounted': 'Ist der Datenträger eingehängt?',
  'advice.nonce_used':
    'Ein Block hat eine andere Transaktion mit ihrer Nonce, sodass nichts sie ersetzen oder abbrechen kann. Sie endet von selbst, sobald jene Transaktion gefunden ist. Wenn das lange dauert, fügen Sie `rpc` einen Endpunkt eines anderen Betreibers hinzu, der die Zustände alter Blöcke behält (einen Archivknoten)',
  'advice.pay_anew':
    'Um sie neu zu zahlen: countinghouse withdrawal speed-up {id} --anew. Um ihre Coins zurückzuholen: countinghouse withdrawal cancel {id} --anew',
  'advice.proxies': 'Siehe resources/docs/run-a-server.md',
  'advice.public_url': 'Setzen Sie public_url',
  'advice.restart_service': 'Prüfen, ob Speicher frei ist, und den Dienst neu starten',
  'advice.rates': '`countinghouse rates` und das Protokoll sagen, welche Kursquellen antworten',
  'advice.reclaim':
    'Um ihre Coins durch eine andere Transaktion zurückzuholen: countinghouse withdrawal cancel {id} --anew',
  'advice.releases': '`countinghouse releases` und das Protokoll sagen, warum',
  'advice.releases_by_hand': 'Sehen Sie selbst nach, wo Sie diese Version herhaben, ob es eine neuere gibt',
  'advice.restore': 'countinghouse restore confirm, sobald der alte Computer endgültig weg ist',
  'advice.run': '{command}',
  'advice.set_clock': 'Stellen Sie sie, und lassen Sie sie nachstellen: timedatectl set-ntp true',
  'advice.sign_anew':
    'Um sie neu signieren zu lassen: countinghouse withdrawal speed-up {id}. Um sie aufzugeben: countinghouse withdrawal cancel {id}',
  'advice.signer': '`systemctl start countinghouse-signer`; sein Protokoll sagt, warum er endete',
  'advice.sources': '`countinghouse source list` zeigt jeden Server',
  'advice.blocks_only': 'Starten Sie den Node ohne -blocksonly',
  'advice.old_litecoin': 'Bringen Sie den Node auf das neueste Litecoin Core',
  'advice.cost_limit':
    'wenn es Ihr eigener ist: COST_SOFT_LIMIT=0 und COST_HARD_LIMIT=0 in seinen Einstellungen, sonst dauert eine Suche in 100.000 Adressen Stunden',
  'advice.tls': 'Richten Sie TLS ein: resources/proxies',
  'advice.unlock': 'countinghouse wallet unlock',
  'advice.upgrade': 'Steigen Sie um, wie es in resources/docs/run-a-server.md steht',
  'advice.web_server': 'Sehen Sie nach dem Webserver vor diesem Dienst',
  'advice.withdrawals': 'countinghouse withdrawal list',

  'doctor.alerts_none': 'Keine ist offen',
  'doctor.alerts_open': 'Offen: {count}',
  'doctor.alerts_unheard': 'Sie erreichen von selbst niemanden',
  'doctor.backup_last': 'Die letzte ist vom {at}',
  'doctor.backup_made': 'Gemacht am {at}, in {folder}',
  'doctor.backup_missing': 'In {folder} ist keine',
  'doctor.backup_off': 'Von selbst wird keine gemacht',
  'doctor.backup_unneeded': 'Noch wird kein echtes Geld angenommen',
  'doctor.backup_unreadable': '{folder} kann nicht gelesen werden',
  'doctor.books_differ': 'Die Bücher von {chain} weichen an {count} Stellen von der Blockchain ab, zuerst: {reason}',
  'doctor.address_thread':
    'Seit {at} werden Adressen in der Ereignisschleife abgeleitet, wo Kunden auf sie warten: ihr Thread scheitert ({reason})',
  'doctor.books_never': 'Noch nie geprüft',
  'doctor.books_old': 'Zuletzt geprüft am {at}',
  'doctor.books_proved': 'Geprüft am {at} oder seit dem Start',
  'doctor.certificate': '{host}: noch {days} Tage gültig',
  'doctor.certificate_ends': 'Das Zertifikat von {host} läuft in {days} Tagen ab',
  'doctor.certificate_refused': 'Browser lehnen das Zertifikat von {host} ab: {reason}',
  'doctor.certificate_unreached': '{host} ist von hier aus nicht erreichbar: {reason}',
  'doctor.clock_ahead': 'Sie geht {minutes} Minuten gegen die der Kursquellen vor',
  'doctor.clock_alone': 'Nicht verglichen: Weniger als drei Kursquellen haben geantwortet',
  'doctor.clock_behind': 'Sie geht {minutes} Minuten gegen die der Kursquellen nach',
  'doctor.clock_right': 'Stimmt mit denen der Kursquellen überein',
  'doctor.disk': '{megabytes} MB frei',
  'doctor.disk_days': '{megabytes} MB frei; beim Wachstum der letzten Wochen ist er in {days} Tagen voll',
  'doctor.disk_low': 'Nur {megabytes} MB frei',
  'doctor.disk_years': '{megabytes} MB frei, beim Wachstum der letzten Wochen genug für mehr als fünf Jahre',
  'doctor.disk_refuses': 'Nichts kann gespeichert werden: {reason}',
  'doctor.drill_at': 'Die letzte war am {at}',
  'doctor.drill_never': 'Noch nie wurde eine Sicherung geöffnet',
  'doctor.failed': 'Konnte nicht angesehen werden: {reason}',
  'doctor.journal':
    'Das Verzeichnis der Unterschriften hat {megabytes} MB; ab {most} MB nimmt es keine mehr auf, die ohne Ihre Freigabe auskommt: Regeln, Weiterleitung und Gas warten dann auf Sie',
  'doctor.journal_full':
    'Das Verzeichnis der Unterschriften hat {megabytes} MB und nimmt keine mehr auf, die ohne Ihre Freigabe auskommt; bei {most} MB nimmt es gar keine mehr auf',
  'doctor.log': 'Das Protokoll der Datenbank {state}',
  'doctor.permissions': '{folder} ist nur dem Besitzer zugänglich',
  'doctor.permissions_foreign': 'Der Dienst kann Dateien eines anderen Benutzers nicht lesen: {files}',
  'doctor.permissions_open': 'Andere dürfen {files} öffnen oder lesen',
  'doctor.port': 'Der Dienst hört auf {host}, ohne TLS',
  'doctor.proxies':
    'public_url ist {url}, und keinem Proxy wird vertraut: Steht einer vor diesem Dienst, teilen sich alle Kunden ein Limit. Nennen Sie ihn: trusted_proxies = ["127.0.0.1"]',
  'doctor.quarantine': 'Der Dienst ist in Quarantäne',
  'doctor.rates': 'Es gibt keinen Kurs für {coins}',
  'doctor.release_future':
    'Der Hersteller hat die Nachrichten über Versionen am {at} signiert; nach dieser Uhr kommt das erst',
  'doctor.release_newer': '{version} ist erschienen; diese ist {own}',
  'doctor.release_newest': '{own}; die Nachrichten vom {at} nennen keine neuere',
  'doctor.release_no_key':
    '{own}; dieses Paket hat keinen Schlüssel seines Herstellers, daher kann nach Nachrichten über neuere nicht gefragt werden',
  'doctor.release_old':
    'Die neuesten Nachrichten über Versionen wurden am {at} signiert: Der Hersteller schweigt, oder jemand hält neuere zurück',
  'doctor.release_soon': '{own}; Nachrichten über neuere waren noch nicht da',
  'doctor.release_unasked': '{own}; nach neueren wird nicht gefragt (`countinghouse releases on` tut es einmal am Tag)',
  'doctor.release_unreached': 'Keine Nachrichten über Versionen: {reason}',
  'doctor.signer_away': 'Der getrennte Signierer antwortet nicht oder ist aus einer anderen Version',
  'doctor.sources': 'Verfolgte Blockchains: {count}',
  'doctor.sources_sandbox': 'Nur die Sandbox ist verbunden',
  'doctor.source_bad': '{network} {chain}: {reason}',
  'doctor.source_unchecked':
    '{network} {chain}: Nur Server eines einzigen Betreibers antworten, und niemand könnte ihnen widersprechen, wenn sie eine Zahlung verschwiegen',
  'doctor.source_slowed': '{network} {chain}: {server} bremst seine Antworten',
  'doctor.source_blocks_only':
    '{network} {chain}: Der Node läuft mit -blocksonly, darum wird eine Zahlung erst gesehen, wenn sie in einem Block steht',
  'doctor.source_old_litecoin':
    '{network} {chain}: Der Node ist älter als Litecoin Core 0.21.5.4 und nimmt vielleicht Münzen an, die ein Block erfindet, oder bleibt an einem solchen Block stehen',
  'doctor.url': '{url}',
  'doctor.url_open': '{url} hat kein TLS: Wer dazwischensitzt, kann eine eigene Adresse einsetzen',
  'doctor.url_unset': 'public_url ist nicht gesetzt: Kunden anderswo erreichen die Zahlungsseiten nicht',
  'doctor.machine_away': 'Auf {machine}, gerade nicht verbunden; genehmigte Auszahlungen, die darauf warten: {count}',
  'doctor.wallet_locked': 'Gesperrt',
  'doctor.wallet_needed': 'Gesperrt, während genehmigte Auszahlungen warten: {count}',
  'doctor.wallet_none': 'Es gibt noch keine',
  'doctor.wallet_unlocked': 'Entsperrt',
  'doctor.withdrawals': 'Auf Ihre Genehmigung warten: {count}',
};
