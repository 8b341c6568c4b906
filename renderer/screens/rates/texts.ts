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
    sourcesNote:
      'Choose others with rates.sources in countinghouse.toml, then start the service again. A coin needs at least two sources that agree.',
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
    sourcesNote:
      'Andere wählen Sie mit rates.sources in der countinghouse.toml; starten Sie danach den Dienst neu. Ein Coin braucht mindestens zwei Quellen, die sich einig sind.',
  },
);
