import { texts } from '../../i18n.ts';

export default texts(
  {
    guide: 'Step by step',
    back: 'Back',
    next: 'Next step',
    toServer: 'Open its console',
    off: 'Switch the server off',
    warn: 'Warn the customers',
    books: 'Get the books back',
    connect: 'Connect the new server',
    sign: 'Sign for it',
    confirm: 'Take payments again',
    offText:
      'Use the page of your host: stop the machine there. Do not sign in to the server itself, because somebody may read along. Do not delete it yet, so that it can be examined.',
    offStill: 'It still answers, since {time}.',
    offNow: 'It does not answer this computer any more.',
    warnText:
      'Send them this by another way than the server: by mail, or by telephone. Who has paid already should ask his wallet or exchange whether the payment can be stopped.',
    warnNone: 'The file that says what was seen is damaged. Warn everybody who has an open invoice.',
    warning:
      'Please do not pay invoice {invoice}. The payment page showed an address that is not ours: {address}. We send you a new invoice soon.',
    copyWarning: 'Copy the message',
    booksText:
      'Set up a new machine, with this program. Take the newest backup of the time before the foreign address: whoever controlled the server may have altered later ones. This computer opens it with your words, compares every account and every open invoice, and makes a pass. The words do not leave this computer.',
    chooseBackup: 'Choose the backup',
    passphrase: 'Passphrase of the wallet',
    makePass: 'Compare it, and make its pass',
    comparing: 'Being compared …',
    noPass: 'This backup gets no pass',
    noPassText: 'Take an older one.',
    passMade: 'This backup of {time} is yours',
    watchOnly: 'Accounts of other wallets, which your words do not prove. Compare them:',
    pass: 'Its pass',
    copyPass: 'Copy the pass',
    onServer: 'Copy the backup to the new machine, and run there',
    onServerText: 'It asks for the pass. Then start the service.',
    connectText: 'The new server takes the place of the old one here. Your words, limits and journal stay.',
    signOver: 'This computer signs for {server}.',
    signOld: 'This is still the server that showed the foreign address. Connect the new one first.',
    signNew: 'The new server shows a foreign address, too: its books were altered. Take an older backup.',
    signAway: 'The new server does not answer now. This page goes on by itself.',
    signWaits: 'This computer compares the addresses that the new server has given out …',
    signText:
      'This computer compares the addresses of the new server, and has found no foreign one among them ({time}).',
    confirmText:
      'The new server looks and shows, and gives out no address until you say that the old one is gone for ever. Run this there:',
    confirmThen: 'Then set policies and forwarding plans again, and look through the withdrawals.',
  },
  {
    guide: 'Schritt für Schritt',
    back: 'Zurück',
    next: 'Nächster Schritt',
    toServer: 'Seine Konsole öffnen',
    off: 'Den Server ausschalten',
    warn: 'Die Kunden warnen',
    books: 'Die Bücher zurückholen',
    connect: 'Den neuen Server verbinden',
    sign: 'Für ihn unterschreiben',
    confirm: 'Wieder Zahlungen annehmen',
    offText:
      'Nehmen Sie die Seite Ihres Anbieters: Halten Sie die Maschine dort an. Melden Sie sich nicht am Server selbst an, denn vielleicht liest jemand mit. Löschen Sie ihn noch nicht, damit man ihn untersuchen kann.',
    offStill: 'Er antwortet noch, seit {time}.',
    offNow: 'Er antwortet diesem Computer nicht mehr.',
    warnText:
      'Senden Sie ihnen dies auf einem anderen Weg als über den Server: per Mail oder am Telefon. Wer schon gezahlt hat, sollte seine Wallet oder Börse fragen, ob sich die Zahlung anhalten lässt.',
    warnNone:
      'Die Datei, die sagt, was gesehen wurde, ist beschädigt. Warnen Sie alle, die eine offene Rechnung haben.',
    warning:
      'Bitte bezahlen Sie die Rechnung {invoice} nicht. Die Zahlungsseite zeigte eine Adresse, die nicht unsere ist: {address}. Wir senden Ihnen bald eine neue Rechnung.',
    copyWarning: 'Nachricht kopieren',
    booksText:
      'Richten Sie eine neue Maschine ein, mit diesem Programm. Nehmen Sie die neueste Sicherung aus der Zeit vor der fremden Adresse: Wer den Server in der Hand hatte, kann spätere verändert haben. Dieser Computer öffnet sie mit Ihren Wörtern, vergleicht jedes Konto und jede offene Rechnung, und macht einen Pass. Die Wörter verlassen diesen Computer nicht.',
    chooseBackup: 'Sicherung wählen',
    passphrase: 'Passphrase der Wallet',
    makePass: 'Vergleichen und den Pass machen',
    comparing: 'Wird verglichen …',
    noPass: 'Diese Sicherung bekommt keinen Pass',
    noPassText: 'Nehmen Sie eine ältere.',
    passMade: 'Diese Sicherung von {time} ist Ihre',
    watchOnly: 'Konten anderer Wallets, die Ihre Wörter nicht beweisen. Vergleichen Sie sie:',
    pass: 'Ihr Pass',
    copyPass: 'Pass kopieren',
    onServer: 'Kopieren Sie die Sicherung auf die neue Maschine, und führen Sie dort aus',
    onServerText: 'Es fragt nach dem Pass. Starten Sie dann den Dienst.',
    connectText: 'Der neue Server tritt hier an die Stelle des alten. Ihre Wörter, Grenzen und das Journal bleiben.',
    signOver: 'Dieser Computer unterschreibt für {server}.',
    signOld: 'Das ist noch der Server, der die fremde Adresse zeigte. Verbinden Sie zuerst den neuen.',
    signNew:
      'Auch der neue Server zeigt eine fremde Adresse: Seine Bücher wurden verändert. Nehmen Sie eine ältere Sicherung.',
    signAway: 'Der neue Server antwortet gerade nicht. Diese Seite geht von selbst weiter.',
    signWaits: 'Dieser Computer vergleicht die Adressen, die der neue Server vergeben hat …',
    signText:
      'Dieser Computer vergleicht die Adressen des neuen Servers und hat keine fremde darunter gefunden ({time}).',
    confirmText:
      'Der neue Server liest und zeigt, und gibt keine Adresse heraus, bis Sie sagen, dass der alte für immer weg ist. Führen Sie dort aus:',
    confirmThen: 'Setzen Sie dann Regeln und Weiterleitungen neu, und sehen Sie die Auszahlungen durch.',
  },
);
