import { texts } from '../i18n.ts';

export default texts(
  {
    picture: 'Picture of the camera',
    asks: 'The browser asks whether this page may use the camera.',
    aim: 'Hold the code in front of the camera.',
    part: '{have} of {of} pictures are read. Hold the camera still.',
    ur: 'This is a code of the kind UR, which is not read here. Choose BBQr on your device, or bring a file.',
    broken: 'The pictures do not fit together. Show them from the first one again.',
    close: 'Close the camera',
    denied: 'This page may not use the camera. Allow it in the browser’s settings, or bring a file.',
    missing: 'No camera was found. Bring a file, or type the text.',
    failed: 'The camera could not be used. Another program may have it.',
    insecure: 'A browser gives its camera only to pages under https or on its own computer.',
  },
  {
    picture: 'Bild der Kamera',
    asks: 'Der Browser fragt, ob diese Seite die Kamera benutzen darf.',
    aim: 'Halten Sie den Code vor die Kamera.',
    part: '{have} von {of} Bildern sind gelesen. Halten Sie die Kamera ruhig.',
    ur: 'Das ist ein Code der Art UR, der hier nicht gelesen wird. Wählen Sie auf Ihrem Gerät BBQr, oder bringen Sie eine Datei.',
    broken: 'Die Bilder passen nicht zusammen. Zeigen Sie sie noch einmal vom ersten an.',
    close: 'Kamera schließen',
    denied:
      'Diese Seite darf die Kamera nicht benutzen. Erlauben Sie es in den Einstellungen des Browsers, oder bringen Sie eine Datei.',
    missing: 'Es wurde keine Kamera gefunden. Bringen Sie eine Datei, oder tippen Sie den Text.',
    failed: 'Die Kamera ließ sich nicht benutzen. Vielleicht hat sie ein anderes Programm.',
    insecure: 'Ein Browser gibt seine Kamera nur Seiten unter https oder auf seinem eigenen Computer.',
  },
);
