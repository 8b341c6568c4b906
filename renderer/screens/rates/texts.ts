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
  },
);
