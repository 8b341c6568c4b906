/** German for the refusals that a merchant meets in daily work, by their code. All others stay in the service's English. */
import type { RejectCode } from '../../daemon/domain/rejections.ts';

export const ERRORS_DE: { readonly [code in RejectCode]?: string } = {
  'account.private':
    'Das ist geheim: private Schlüssel oder die Wörter einer Wallet. Nichts davon wurde behalten, und dieser Computer darf es nicht kennen. Geben Sie den erweiterten öffentlichen Schlüssel',
  'account.checksum': 'Ein Zeichen des Schlüssels ist falsch: Die Prüfsumme stimmt nicht',
  'account.key':
    'Das ist kein erweiterter öffentlicher Schlüssel und kein Output-Descriptor mit einem solchen, oder dieser Coin hat keine',
  'account.depth':
    'Das ist nicht der Schlüssel eines Kontos, sondern der Hauptschlüssel, ein Zweig oder eine Adresse: Exportieren Sie den des Kontos selbst, etwa m/44h/60h/0h',
  'account.in_use': 'Ein anderes Geschäft hat diesen Schlüssel schon: Jedes braucht ein eigenes Konto',
  'account.integrated': 'Das ist eine integrierte Adresse: Geben Sie die Hauptadresse des Kontos',
  'account.network': 'Der Schlüssel gehört zu einem anderen Netz oder einem anderen Coin',
  'account.script':
    'Der Schlüssel sagt nicht, welche Adressen seine Wallet macht, oder nennt zwei Arten: Geben Sie ihren Output-Descriptor',
  'account.subaddress': 'Das ist eine Unteradresse: Geben Sie die Hauptadresse des Kontos',
  'account.view_key': 'Der private View Key gehört nicht zu dieser Adresse',
  'account.watch_only':
    'Die Schlüssel dieses Kontos sind in einer anderen Wallet: Senden Sie es von dort. Die Bücher folgen',
  'psbt.abandoned':
    'Diese Auszahlung wurde ohne Unterschrift aufgegeben und wird nicht gesendet. Die unterschriebene Kopie kann sie noch bezahlen, bis eine spätere Zahlung von diesem Konto bestätigt ist: Geben Sie sie niemandem',
  'spend.abandoned':
    'Eine Zahlung, die ohne Unterschrift aufgegeben wurde, kann noch unterschrieben werden, und eine andere Zahlung gibt ihre Coins gerade aus: Diese wartet, bis die andere bestätigt ist',
  'psbt.amount':
    'Ein Betrag ist anders als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.coin':
    'Ein Coin ist nicht so, wie der Plan sagt: Seine Transaktion zeigt einen anderen. Es wurde nichts ausgehändigt',
  'psbt.input':
    'Sie gibt andere Coins aus als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.locktime':
    'Ihre Sperrzeit (lock time) ist anders als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.malformed': 'Diese Datei ist weder eine lesbare PSBT noch eine Transaktion in Hex',
  'psbt.none': 'Für diese Auszahlung wird keine PSBT erwartet',
  'psbt.other': 'Sie gibt keinen der geplanten Coins aus: Es ist die Datei einer anderen Zahlung',
  'psbt.output':
    'Sie zahlt an andere Empfänger als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.replaced':
    'Das ist eine frühere PSBT dieser Auszahlung: Unterschreiben Sie die neueste. Nur eine von beiden kann bestätigt werden',
  'psbt.sequence':
    'Eine Sequenznummer ist anders als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.sighash':
    'Eine Unterschrift lässt anderen Raum, die Transaktion zu ändern. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'psbt.signature': 'Eine Unterschrift ist falsch: Sie gehört nicht zu dieser Transaktion, oder sie wurde beschädigt',
  'psbt.unsigned':
    'Ein Coin ist nicht mit seinem Schlüssel unterschrieben: Unterschreiben Sie in der Wallet, die die Schlüssel hat',
  'psbt.version':
    'Die Version der Transaktion ist anders als geplant. Eine unterschriebene Kopie davon kann es geben: Stornieren Sie diese Auszahlung jetzt, und unterschreiben Sie zuerst die Stornierung',
  'address_book.address': 'An diese Adresse kann auf dieser Blockchain nicht gezahlt werden',
  'address_book.known': 'Diese Adresse steht schon im Adressbuch',
  'address_book.too_many': 'Das Adressbuch ist voll: Entfernen Sie zuerst Adressen',
  'backup.damaged': 'Diese Sicherung ist beschädigt',
  'backup.exists': 'Diese Datei gibt es schon: Wählen Sie einen anderen Namen',
  'backup.folder': 'In diesen Ordner kann nicht geschrieben werden',
  'backup.missing': 'Diese Datei gibt es nicht',
  'backup.no_wallet': 'Ohne Wallet gibt es nichts, womit die Sicherung verschlüsselt würde',
  'backup.unsound': 'Die Datenbank ist beschädigt: Von ihr wird keine Sicherung behalten, und keine frühere gelöscht',
  'brand.currency': 'In dieser Währung gibt es keine Rechnungen',
  'brand.contact': 'Dieser Kontakt ist zu lang',
  'brand.logo': 'Das Logo muss ein Bild mit höchstens 32 kB sein: PNG, JPEG oder WebP',
  'brand.name': 'Dieser Name ist zu lang',
  'business.name': 'Ein Name hat 1 bis 100 Zeichen und ist nicht nur eine Zahl',
  'business.time_zone': 'Diese Zeitzone gibt es nicht: etwa Europe/Berlin',
  'refund.link_open':
    'Ein Erstattungslink hält dieses Geld: Warten Sie auf den Kunden, oder ziehen Sie den Link zurück',
  'refund.too_small': 'Der Betrag ist zu klein für das Netzwerk',
  'refund_link.over': 'Dieser Erstattungslink ist beendet oder schon benutzt',
  'link.ended': 'Dieser Link ist beendet',
  'link.field':
    'Eine Angabe zum Link geht so nicht: Preise über 0 mit höchstens den Nachkommastellen der Währung, bis zu 100 Artikel, keine unsichtbaren Zeichen',
  'link.not_found': 'Diesen Zahlungslink gibt es nicht',
  'link.slug': 'Diese Adresse ist vergeben oder enthält anderes als a–z, 0–9 und -',
  'link.too_many': 'Es gibt schon zu viele Zahlungslinks',
  'client.origin': 'Eine Seite wird so geschrieben: https://shop.example',
  'closing.mail_off': 'Für Abschlüsse ist keine E-Mail-Adresse eingestellt: [closing] mail',
  'closing.mail_waits': 'Die E-Mail über diesen Abschluss ist schon unterwegs',
  'closing.not_found': 'Diesen Abschluss gibt es nicht',
  'closing.number': 'Die Kasse wurde inzwischen woanders abgeschlossen',
  'client.too_many': 'Es gibt schon zu viele Client-IDs: Widerrufen Sie zuerst welche',
  'endpoint.too_many': 'Es gibt schon zu viele Adressen für Ereignisse',
  'forward.amount': 'Dieser Betrag geht jetzt nicht: Er hat zu viele Nachkommastellen, oder nichts ist frei zum Senden',
  'forward.destination':
    'An dieses Ziel kann der Plan nicht senden: Es gehört nicht zu dieser Blockchain, oder es steht nicht im Adressbuch',
  'forward.fee':
    'Die Gebühr geht so nicht: Der Plan braucht eine höchste Gebühr einer Zahlung und von 24 Stunden, und das Netz darf nicht teurer sein',
  'forward.grant': 'Die Erlaubnis der Wallet fehlt oder gehört nicht zu diesem Plan',
  'forward.not_found': 'Diesen Plan gibt es nicht',
  'forward.schedule': 'Diese Zeit geht für den Plan nicht',
  'inbox.decided': 'Darüber wurde schon entschieden',
  'inbox.gone': 'Diese Zahlung ist nicht mehr in der Blockchain',
  'inbox.locked': 'Dieses Geld kann nicht ausgegeben werden',
  'inbox.no_invoice': 'Diese Zahlung gehört zu keiner Rechnung, für die sie zählen könnte',
  'inbox.spent': 'Dieses Geld wurde schon ausgegeben',
  'invoice.not_found': 'Diese Rechnung gibt es nicht',
  'invoice.not_unpaid': 'Diese Rechnung ist nicht mehr offen',
  'invoice.paid': 'Diese Rechnung ist schon bezahlt',
  'invoice.pending': 'Zu dieser Rechnung ist eine Zahlung unterwegs',
  'key.too_many': 'Es gibt schon zu viele Schlüssel: Widerrufen Sie zuerst welche',
  'mnemonic.checksum': 'Diese Wörter passen nicht zusammen: Eines ist falsch, oder die Reihenfolge',
  'mnemonic.length': 'Das sind nicht so viele Wörter, wie eine Wallet hat',
  'mnemonic.word': 'Eines dieser Wörter steht nicht in der Liste',
  'payment.too_small': 'Dieser Coin kann so wenig nicht übertragen: Wählen Sie einen anderen',
  'policy.rate': 'Es ist kein Kurs bekannt, mit dem das Limit gerechnet werden kann',
  'refund.not_paid': 'Nur eine bezahlte Rechnung kann erstattet werden',
  'refund.nothing': 'Von dieser Rechnung ist nichts Bestätigtes mehr zu erstatten',
  'refund.too_much': 'Das ist mehr, als von dieser Rechnung noch zu erstatten ist',
  'signer.foreign_address': 'Eine fremde Adresse wurde gesehen: Für diesen Server wird nichts unterschrieben',
  'signer.locked': 'Die Wallet ist gesperrt',
  'spend.dust': 'Dieser Betrag ist zu klein für das Netz',
  'spend.gone': 'Dieses Geld ist nicht mehr in der Blockchain',
  'spend.insufficient': 'Das Guthaben reicht dafür und für die Netzgebühr nicht aus',
  'spend.one_payment': 'Auf dieser Blockchain ist jede Zahlung eine eigene Transaktion',
  'spend.spent': 'Die Einzahlung hat eine andere Auszahlung ausgegeben: Lehnen Sie diese ab',
  'spend.unconfirmed': 'Die Einzahlung hat ihre Bestätigungen noch nicht',
  'spend.uncovered':
    'Die Einzahlungen dafür sind nicht mehr alle bestätigt: Sie wartet auf sie, oder Sie lehnen sie ab',
  'spend.unknown':
    'Eine Transaktion dieser Adresse wartet, die nicht von diesem Gerät ist: Ein anderes hat oder hatte dieselben Wörter. Bezahlt wird von dort erst, wenn ein Block sie hat oder das Netz sie vergessen hat. Fehlt den Büchern eine, die ein Block hat, so bietet ihr Beweis an, sie zu übernehmen',
  'spend.unsettled': 'Geld dafür kam erst vor wenigen Blöcken und hat seine Bestätigungen noch nicht',
  'store.disk': 'Die Festplatte ist voll: Es kann nichts gespeichert werden',
  'vault.exists': 'Es gibt schon eine solche Wallet',
  'vault.passphrase': 'Diese Passphrase öffnet die Wallet nicht',
  'vault.weak_passphrase': 'Diese Passphrase ist zu kurz',
  'withdrawal.address': 'Diese Adresse ist für diesen Coin nicht gültig',
  'withdrawal.amount': 'Das ist kein Betrag, der ausgezahlt werden kann',
  'withdrawal.canceled': 'Diese Auszahlung wird schon abgebrochen',
  'withdrawal.crypto': 'Dieser Coin kann hier nicht ausgezahlt werden',
  'withdrawal.gas': 'Für die Netzgebühr fehlt der Coin dieses Netzes im Tank',
  'withdrawal.insufficient': 'Das Guthaben reicht dafür und für die Netzgebühr nicht aus',
  'withdrawal.minimum': 'Dieser Betrag ist zu klein',
  'withdrawal.not_found': 'Diese Auszahlung gibt es nicht',
  'withdrawal.overtaken': 'Die Blockchain ist inzwischen weiter: Versuchen Sie es noch einmal',
  'withdrawal.too_many': 'Es warten schon zu viele Auszahlungen',
  'withdrawal.unconnected': 'Dieser Coin ist gerade nicht mit seinem Netz verbunden',
  'till.listen': 'Der Port für Kassen ist belegt: Setzen Sie [till] port',
  'till.no_network': 'Dieser Computer hat keine Adresse in einem lokalen Netz',
};
