/** German for the refusals of a server that this computer cannot join. Not in the table of all screens, which every browser loads. */
import type { RejectCode } from '../../../daemon/domain/rejections.ts';

export const JOIN_ERRORS_DE: { readonly [code in RejectCode]?: string } = {
  'signer.code_expired':
    'Dieser Code gilt nicht mehr: Ein Code gilt zehn Minuten, und ein neuer beendet ihn. Für einen neuen führen Sie auf dem Server aus: countinghouse signer invite',
  'signer.code_foreign':
    'Diesen Code hat ein anderer Server gemacht. Für einen neuen führen Sie auf diesem Server aus: countinghouse signer invite',
  'signer.code_used':
    'Dieser Code wurde schon benutzt, und er gilt einmal. Waren Sie das nicht, beenden Sie den anderen Computer auf dem Server: countinghouse signer machines zeigt ihn, countinghouse signer remove beendet ihn',
  'signer.code_wrong':
    'Dieser Code ist falsch: Ein Zeichen fehlt oder ist ein anderes, oder der Server kennt ihn nicht mehr. Vergleichen Sie ihn mit dem Terminal des Servers',
  'signer.machine':
    'Auf diesem Server unterschreibt schon ein Computer, und für eine Wallet unterschreibt nur einer. Auf dem Server beendet ihn countinghouse signer remove',
  'signer.other_server':
    'Die Wörter, die auf diesem Computer für diesen Namen liegen, haben für einen anderen Server unterschrieben, oder für einen, der hier entfernt wurde. Dieser Server träte an dessen Stelle: Er könnte Unterschriften innerhalb der Limits verlangen, die Sie erteilt haben',
  'signer.proxy':
    'Dieser Server braucht einen anderen Proxy. Einen Onion-Dienst erreicht nur der SOCKS5-Proxy von Tor: Starten Sie Tor, und geben Sie socks5h://127.0.0.1:9050 ein (Tor Browser: 9150). Einer mit Anmeldung geht nicht',
};
