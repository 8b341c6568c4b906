import { texts } from '../../i18n.ts';

export default texts(
  {
    title: 'First steps',
    step: 'Step {n} of {all}',
    done: 'All {n} steps are done',
    business: 'Your business',
    coins: 'Coins and sources',
    connect: 'Connect your shop',
    payment: 'A first payment',
    live: 'Take real money',
    businessTitle: 'What do your customers see?',
    businessNote:
      'The name and colour of the payment page, and the coins that you take. All of it can be changed later.',
    coinsTitle: 'Where payments are seen',
    coinsNote:
      'Each chain is followed here, live. In the sandbox the chains are simulated, and nothing leaves this computer.',
    connectTitle: 'Connect your shop',
    connectNote:
      'A key is for your shop’s server, a client ID for its pages. You can skip this: the counter needs neither.',
    makeKey: 'Make a key',
    keyOnce: 'Copy it now: it is shown this once.',
    clientId: 'Client ID of the sandbox',
    paste: 'Paste this into a terminal for an invoice of 25 dollars',
    paymentTitle: 'Watch a payment arrive',
    paymentNote:
      'Make an invoice, pay it as a customer would, and see what happens. With real coins it looks the same.',
    make: 'Make an invoice of €25.00',
    payNow: 'Pay as the customer',
    again: 'Play it again',
    saw: 'Your customer sees this',
    arrived: 'Your first payment has arrived',
    arrivedNote: '{amount} is in your sandbox wallet.',
    liveTitle: 'When you are ready for real money',
    liveNote:
      'Real money needs a wallet of your own: 24 words on paper, and a passphrase. It takes a quarter of an hour, a pen and two sheets of paper. The sandbox stays beside it.',
    goLive: 'Set up real money',
    liveOr:
      'For large sums, let the command line make the wallet: countinghouse business add. Then no browser sees its words.',
    noSources: 'No chain of {network} is connected: name a node in the configuration and restart.',
    next: 'Next',
    back: 'Back',
    stay: 'Stay in the sandbox',
    skip: 'Skip the first steps',
    upToDate: 'Up to date',
    notYet: 'Not yet',
  },
  {
    title: 'Erste Schritte',
    step: 'Schritt {n} von {all}',
    done: 'Alle {n} Schritte sind getan',
    business: 'Ihr Geschäft',
    coins: 'Coins und Quellen',
    connect: 'Shop verbinden',
    payment: 'Eine erste Zahlung',
    live: 'Echtes Geld annehmen',
    businessTitle: 'Was sehen Ihre Kunden?',
    businessNote: 'Name und Farbe der Zahlungsseite und die Coins, die Sie annehmen. Alles lässt sich später ändern.',
    coinsTitle: 'Wo Zahlungen gesehen werden',
    coinsNote:
      'Jede Blockchain wird hier live verfolgt. In der Sandbox sind sie simuliert, und nichts verlässt diesen Computer.',
    connectTitle: 'Shop verbinden',
    connectNote:
      'Ein Schlüssel ist für den Server Ihres Shops, eine Client-ID für seine Seiten. Sie können das überspringen: Die Kasse braucht beides nicht.',
    makeKey: 'Schlüssel anlegen',
    keyOnce: 'Kopieren Sie ihn jetzt: Er wird nur dieses eine Mal gezeigt.',
    clientId: 'Client-ID der Sandbox',
    paste: 'Fügen Sie dies für eine Rechnung über 25 Dollar in ein Terminal ein',
    paymentTitle: 'Sehen Sie zu, wie eine Zahlung ankommt',
    paymentNote:
      'Legen Sie eine Rechnung an, bezahlen Sie sie wie ein Kunde und sehen Sie, was geschieht. Mit echten Coins sieht es genauso aus.',
    make: 'Rechnung über 25,00 € anlegen',
    payNow: 'Als Kunde bezahlen',
    again: 'Noch einmal abspielen',
    saw: 'Was Ihr Kunde sieht',
    arrived: 'Ihre erste Zahlung ist angekommen',
    arrivedNote: '{amount} liegen in Ihrer Sandbox-Wallet.',
    liveTitle: 'Wenn Sie für echtes Geld bereit sind',
    liveNote:
      'Echtes Geld braucht eine eigene Wallet: 24 Wörter auf Papier und eine Passphrase. Nehmen Sie sich eine Viertelstunde, einen Stift und zwei Blatt Papier. Die Sandbox bleibt daneben bestehen.',
    goLive: 'Echtes Geld einrichten',
    liveOr:
      'Für große Beträge legen Sie die Wallet auf der Kommandozeile an: countinghouse business add. Dann sieht kein Browser ihre Wörter.',
    noSources:
      'Keine Blockchain von {network} ist verbunden: Nennen Sie einen Knoten in der Konfiguration und starten Sie neu.',
    next: 'Weiter',
    back: 'Zurück',
    stay: 'In der Sandbox bleiben',
    skip: 'Erste Schritte überspringen',
    upToDate: 'Aktuell',
    notYet: 'Noch nicht',
  },
);
