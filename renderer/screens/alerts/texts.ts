import { texts } from '../../i18n.ts';

export default texts(
  {
    alerts: 'Alerts',
    empty: 'No open alerts',
    emptyNote: 'Anything that may cost money or payments is told here, and over the channels that you set.',
    seen: 'Mark as seen',
    all: 'Mark all as seen',
    test: 'Send a test',
    sent: 'Sent: {channels}',
    failed: 'Not sent: {channels}',
    noChannel: 'No channel is set. Alerts are shown only here: see [alerts] in the configuration.',
    kind: 'Kind',
    more: 'There are more: mark these as seen first.',
  },
  {
    alerts: 'Meldungen',
    empty: 'Keine offenen Meldungen',
    emptyNote: 'Was Geld oder Zahlungen kosten kann, steht hier und kommt über die Kanäle, die Sie einstellen.',
    seen: 'Als gesehen abhaken',
    all: 'Alle abhaken',
    test: 'Test senden',
    sent: 'Gesendet: {channels}',
    failed: 'Nicht gesendet: {channels}',
    noChannel: 'Kein Kanal ist eingestellt. Meldungen stehen nur hier: siehe [alerts] in der Konfiguration.',
    kind: 'Art',
    more: 'Es gibt mehr: Haken Sie erst diese ab.',
  },
);
