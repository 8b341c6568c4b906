/**
 * The file with which launchd runs the service on macOS, in the session of the user who installed it, where their
 * keychain is available. https://developer.apple.com/library/archive/documentation/MacOSX/Conceptual/BPSystemStartup/
 */
import type { Program } from './units.ts';

export const LABEL = 'com.countinghouse.daemon';
/** The minimum number of seconds between two starts. */
const THROTTLE_SECONDS = 10;
const STOP_SECONDS = 20;

const inXml = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? sign);

const string = (text: string): string => `<string>${inXml(text)}</string>`;

/** A property list: starts the service at login, and again after a failure. `log` is a file. */
export function launchAgent(program: Program, dataDir: string, log: string): string {
  const args = [program.node, program.script, 'start'].map((one) => `\n    ${string(one)}`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Made by \`countinghouse service install\`, release ${inXml(program.version)}. -->
<plist version="1.0">
<dict>
  <key>Label</key>${string(LABEL)}
  <key>ProgramArguments</key><array>${args}
  </array>
  <key>EnvironmentVariables</key><dict>
    <key>COUNTINGHOUSE_DATA_DIR</key>${string(dataDir)}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>${THROTTLE_SECONDS}</integer>
  <key>ExitTimeOut</key><integer>${STOP_SECONDS}</integer>
  <key>ProcessType</key><string>Standard</string>
  <key>Umask</key><integer>${0o077}</integer>
  <key>StandardOutPath</key>${string(log)}
  <key>StandardErrorPath</key>${string(log)}
</dict>
</plist>
`;
}
