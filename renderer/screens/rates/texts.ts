import { texts } from '../../i18n.ts';

export default texts(
  {
    rates: 'Rates',
    about: 'The worth of one coin now',
    coin: 'Coin',
    found: 'Found',
    none: 'no rate',
    note: 'The median of several sources. An invoice keeps the rate of the moment when its coin was chosen.',
    empty: 'No rates are needed yet',
    emptyNote: 'They are asked for once a business takes a coin.',
    sources: 'Price sources',
    ofCoins: 'Prices of coins',
    ofCurrencies: 'Rates of currencies',
    sourcesNote:
      'These are asked. A price counts once two of them agree. Choose others to get the lines that change it.',
    sourcesLines:
      'Put these lines into countinghouse.toml in the data folder and start the service again. Of a kind without a choice all are asked; with an empty list none is.',
    alone: 'One source has no other to agree with. Choose two of its kind, or none.',
  },
  {
    rates: 'Kurse',
    about: 'Was ein Coin jetzt wert ist',
    coin: 'Coin',
    found: 'Gefunden',
    none: 'kein Kurs',
    note: 'Der Median mehrerer Quellen. Eine Rechnung behält den Kurs des Augenblicks, in dem ihr Coin gewählt wurde.',
    empty: 'Es werden noch keine Kurse gebraucht',
    emptyNote: 'Sie werden erfragt, sobald ein Geschäft einen Coin annimmt.',
    sources: 'Kursquellen',
    ofCoins: 'Preise der Coins',
    ofCurrencies: 'Kurse der Währungen',
    sourcesNote:
      'Diese werden gefragt. Ein Preis zählt, sobald sich zwei einig sind. Wählen Sie andere, dann erscheinen die Zeilen dafür.',
    sourcesLines:
      'Schreiben Sie diese Zeilen in die countinghouse.toml im Datenordner, und starten Sie den Dienst neu. Von einer Art ohne Auswahl werden alle gefragt, bei leerer Liste keine.',
    alone: 'Eine Quelle allein kann sich mit keiner einig sein. Wählen Sie zwei ihrer Art oder keine.',
  },
);
